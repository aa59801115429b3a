"""The gain of splitting one feature of a log-linear model with all other weights fixed.

If the new features for the states k of a column get the weights d_k, the partition function is multiplied by
1 + sum p_k (exp(d_k) - 1), where p_k is the model's probability of the feature together with state k. The
gain in log-likelihood over `total` rows, less the cost of the priors, is a concave function of the d_k.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import inner, kernel

ROUNDS = 50  # of coordinate ascent over the states of a column, at most
STEPS = 60  # of Newton's method for one weight, at most
FARTHEST = 30.0  # bound of a starting weight, for states that the model takes to be impossible
CLOSE = 1e-4  # error of a weight that is accepted; the error of the gain is about its square


class Priors(NamedTuple):
    """The costs of weights: an L1 penalty and a Gaussian prior."""

    l1: float  # nats for each unit of a weight's absolute value
    variance: float  # of the Gaussian prior

    def cost(self, weight: Floats) -> float:
        """The cost of weights in nats, given their distances from the prior means."""
        return float(self.l1 * np.abs(weight).sum() + (weight @ weight) / (2 * self.variance))


@kernel
def split_gains(
    total: float, model: Floats, data: Floats, states: Ints, priors: Priors, least: Floats, gain: Floats,
    weight: Floats,
) -> None:  # fmt: skip
    """Fill in the gain of a feature's split on each column, (columns,), and the best weights, (states,).

    `model` and `data` are the probabilities of the feature together with each state of each column under the
    model and in the rows, (states of all columns,). A column that cannot gain more than `least` is skipped,
    and its gain is zero.
    """
    first = 0
    for column in range(states.size):
        last = first + states[column]
        p, q, d = model[first:last], data[first:last], weight[first:last]
        for k in range(d.size):
            d[k] = 0.0
        gain[column] = 0.0
        if total * _chi_square(p, q) > least[column] and total * _divergence(p, q) > least[column]:
            gain[column] = _best_weights(total, p, q, priors, d)
        first = last


@inner
def _chi_square(p: Floats, q: Floats) -> float:
    """The chi-square divergence of rows from model: a bound of `_divergence` without logarithms."""
    rest_p, rest_q, apart = 1.0, 1.0, 0.0
    for k in range(p.size):
        rest_p -= p[k]
        rest_q -= q[k]
        apart += (q[k] - p[k]) ** 2 / max(p[k], 1e-300)
    return float(apart + (rest_q - rest_p) ** 2 / max(rest_p, 1e-12))


@inner
def _divergence(p: Floats, q: Floats) -> float:
    """The Kullback-Leibler divergence of rows from model: the most that a row gains, without priors."""
    rest_p, rest_q, apart = 1.0, 1.0, 0.0
    for k in range(p.size):
        rest_p -= p[k]
        rest_q -= q[k]
        if q[k] > 0:
            apart += q[k] * np.log(q[k] / max(p[k], 1e-300))
    if rest_q > 1e-12:
        apart += rest_q * np.log(rest_q / max(rest_p, 1e-12))
    return float(apart)


@inner
def _best_weights(total: float, p: Floats, q: Floats, priors: Priors, d: Floats) -> float:
    """Fill in the best weights by coordinate ascent; returns the gain."""
    scale = 1.0
    for _ in range(ROUNDS):
        moved = 0.0
        for k in range(p.size):
            old = d[k]
            scale -= p[k] * np.exp(old)
            d[k] = _best_weight(total, p[k], q[k], max(scale, 1e-300), priors, old)
            scale += p[k] * np.exp(d[k])
            moved = max(moved, abs(d[k] - old))
        if moved < CLOSE:
            break
    gained, size, square = 0.0, 0.0, 0.0
    for k in range(p.size):
        gained += q[k] * d[k]
        size += abs(d[k])
        square += d[k] * d[k]
    return float(total * (gained - np.log(scale)) - priors.l1 * size - square / (2 * priors.variance))


@inner
def _best_weight(total: float, p: float, q: float, rest: float, priors: Priors, d: float) -> float:
    """The d with the largest total (q d - log(rest + p exp(d))) less priors, by bounded Newton steps."""
    slope = total * (q - p / (rest + p))
    if abs(slope) <= priors.l1:
        return 0.0
    sign = 1.0 if slope > 0 else -1.0
    low, high = (0.0, FARTHEST) if sign > 0 else (-FARTHEST, 0.0)
    if d * sign <= 0:
        d = sign * 1e-3
    for _ in range(STEPS):
        grown = p * np.exp(d)
        share = grown / (rest + grown)
        slope = total * (q - share) - priors.l1 * sign - d / priors.variance
        if slope > 0:
            low = d
        else:
            high = d
        step = slope / (total * share * (1 - share) + 1 / priors.variance)
        if abs(step) < 0.1 * CLOSE:
            break
        d += min(max(step, -2.0), 2.0)
        if not low < d < high:
            d = 0.5 * (low + high)
    return d
