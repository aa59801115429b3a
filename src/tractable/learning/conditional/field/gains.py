"""The gain of splitting a feature of a conditional model with all other weights fixed.

If the new features for the states k of a column get the weights d_k, the partition function of a row is
multiplied by 1 + sum p_k (exp(d_k) - 1), where p_k is the model's probability of the feature together with
state k, given the row's inputs. The gain over all rows, less the cost of the priors, is a concave function of
the d_k (Rooshenas, «Learning Tractable Graphical Models», 2017, equations 4.6 to 4.8).
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.compiled import inner, kernel
from tractable.base.progress import Watch
from tractable.learning.growing import FitEffort, Priors, Snapshot

ROUNDS = 30  # of coordinate ascent over the states of a column, at most
STEPS = 30  # of Newton's method for one weight, at most
FARTHEST = 8.0  # bound of a starting weight
CLOSE = 1e-4  # error of a weight that is accepted


class SplitGain(NamedTuple):
    """The gain of one split, in nats over all rows, and the best weights of the new features."""

    gain: float
    weight: Floats  # (states,)


def exact_gain(model: Floats, weight: Floats, data: Floats, priors: Priors) -> SplitGain:
    """The gain of a split by coordinate ascent.

    `model` is the probability of the feature together with each state, (states, groups); `weight` is how many
    rows there are of each group, (groups,); `data` is the weight of the rows in which each new feature holds,
    (states,).
    """
    d = np.zeros(len(model))
    gain = best_weights(model, weight, data, priors, np.ones(weight.size), d)
    return SplitGain(gain - priors.cost(d), d)


@kernel
def best_weights(
    model: Floats, weight: Floats, data: Floats, priors: Priors, scale: Floats, d: Floats
) -> float:
    """Fill in the best weights `d`, (states,), by coordinate ascent; returns the gain without priors.

    Answers with the gain before the cost of priors. `scale`, ones at first, becomes what the partition
    function of each group is multiplied by.
    """
    for _ in range(ROUNDS):
        moved = 0.0
        for k in range(d.size):
            p, old = model[k], d[k]
            grown = np.exp(old)
            for g in range(scale.size):
                scale[g] = max(scale[g] - p[g] * grown, 0.0)
            d[k] = _best_weight(p, scale, weight, data[k], priors, old)
            grown = np.exp(d[k])
            for g in range(scale.size):
                scale[g] += p[g] * grown
            moved = max(moved, abs(d[k] - old))
        if moved < CLOSE:
            break
    gain = 0.0
    for k in range(d.size):
        gain += d[k] * data[k]
    for g in range(scale.size):
        gain -= weight[g] * np.log(max(scale[g], 1e-300))
    return gain


@inner
def _best_weight(p: Floats, rest: Floats, weight: Floats, data: float, priors: Priors, d: float) -> float:
    """The best weight of one feature with those of the others fixed, by bounded Newton steps."""
    slope = data - _expected(p, rest, weight, 1.0)[0]
    if abs(slope) <= priors.l1:
        return 0.0
    sign = 1.0 if slope > 0 else -1.0
    low, high = (0.0, FARTHEST) if sign > 0 else (-FARTHEST, 0.0)
    if d * sign <= 0:
        d = sign * 1e-3
    for _ in range(STEPS):
        expected, variance = _expected(p, rest, weight, np.exp(d))
        slope = data - expected - priors.l1 * sign - d / priors.variance
        if slope > 0:
            low = d
        else:
            high = d
        step = slope / (variance + 1 / priors.variance)
        if abs(step) < 0.1 * CLOSE:
            break
        d += min(max(step, -2.0), 2.0)
        if not low < d < high:
            d = 0.5 * (low + high)
    return d


@inner
def _expected(p: Floats, rest: Floats, weight: Floats, factor: float) -> tuple[float, float]:
    """The expected number of rows in which a reweighted feature holds, and its variance."""
    total, variance = 0.0, 0.0
    for g in range(p.size):
        grown = p[g] * factor
        share = grown / max(rest[g] + grown, 1e-300)
        total += weight[g] * share
        variance += weight[g] * share * (1 - share)
    return total, variance


def estimate_gains(slope: Floats, curvature: Floats, priors: Priors) -> Floats:
    """Estimated gains of single new features, from derivatives at weight zero."""
    beyond = np.maximum(np.abs(slope) - priors.l1, 0.0)
    return beyond**2 / (2 * (curvature + 1 / priors.variance))


class SplitsOnColumns(NamedTuple):
    """The splits of a feature on several columns.

    `state` is the probability of each state of the columns, given a row and that the feature holds: of an
    input it is zero or one. The product with `model` is the probability of a new feature.
    """

    state: Floats  # (states of the columns, groups)
    model: Floats  # (groups,) the probability of the feature
    weight: Floats  # (groups,) the weight of the rows in which its conditions on inputs hold
    data: Floats  # (states of the columns,) the weight of the rows in which each new feature holds

    def estimates(self, priors: Priors) -> Floats:
        """Estimates of what each new feature gains by itself. Shape (states,)."""
        mass = self.weight * self.model
        expected = self.state @ mass
        curvature = expected - (self.state * self.state) @ (mass * self.model)
        return estimate_gains(self.data - expected, curvature, priors)

    def exact(self, states: slice, priors: Priors) -> SplitGain:
        """The gain of the split on the column that has these states."""
        here = np.flatnonzero(self.weight * self.model)
        model = self.state[states][:, here] * self.model[here]
        return exact_gain(model, self.weight[here], self.data[states], priors)


# ---- priors are chosen by the validation rows: each strength is raised or lowered while that helps ------


FACTOR = 3.0  # by which the L1 penalty or the variance changes in a step


class WithPriors(Protocol):
    """Weights that can be fitted under other priors."""

    @property
    def priors(self) -> Priors:
        """The priors of the weights."""

    @property
    def has_validation_rows(self) -> bool:
        """Whether the score is that of validation rows."""

    @property
    def score(self) -> float:
        """How well the weights do."""

    def snapshot(self) -> Snapshot:
        """The weights to return to."""

    def change_priors(self, priors: Priors, weights: Floats) -> None:
        """Take other priors, and weights."""

    def fit(self, effort: FitEffort, watch: Watch) -> None:
        """Fit the weights."""


def choose_priors(objective: WithPriors, effort: FitEffort, most: int, watch: Watch) -> None:
    """Select priors on the validation rows, with a limited number of fits.

    Every fit starts from the best weights so far. The objective is left with the best weights and their
    priors.
    """
    best, priors = objective.snapshot(), objective.priors
    tried = {_key(priors)}
    fits = 0
    searching = objective.has_validation_rows
    while searching:
        searching = False
        for other in list(_neighbours(priors)):
            if _key(other) in tried or fits >= most or watch.should_stop():
                continue
            tried.add(_key(other))
            fits += 1
            objective.change_priors(other, best.weights)
            objective.fit(effort, watch.part(f"priors {fits}"))
            if objective.score > best.score:
                best, priors, searching = objective.snapshot(), other, True
                break
    objective.change_priors(priors, best.weights)


def _neighbours(priors: Priors) -> Iterator[Priors]:
    yield Priors(priors.l1 * FACTOR, priors.variance)
    yield Priors(priors.l1, priors.variance * FACTOR)
    yield Priors(priors.l1, priors.variance / FACTOR)
    yield Priors(priors.l1 / FACTOR, priors.variance)


def _key(priors: Priors) -> tuple[float, float]:
    return round(priors.l1, 9), round(priors.variance, 9)
