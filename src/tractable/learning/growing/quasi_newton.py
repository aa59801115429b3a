"""A quasi-Newton method with L1 penalties.

This is OWL-QN (Andrew and Gao, «Scalable Training of L1-Regularized Log-Linear Models», ICML 2007). Its
initial matrix is the diagonal of second derivatives, which costs nothing for log-linear models: it is the
variance of each feature.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Key, Watch
from tractable.learning.growing.gains import Priors
from tractable.learning.growing.sweep import FeatureExpectations

MEMORY = 8  # steps that are remembered
SHRINK = 0.5  # the factor by which a step that went too far is shortened
ENOUGH = 1e-4  # the part of the decrease promised by the gradient that a step must achieve
MOST_TRIES = 12  # of one step
LEAST_PROMISE = 1e-9  # a step that promises a smaller decrease is not made
LEAST_CURVATURE = 1e-10  # a step along which the gradient turns less is not remembered


class FitEffort(NamedTuple):
    """The limits of a fit of weights."""

    steps: int  # at most
    tolerance: float  # the fit ends with a step that lowers the loss by less than this part of it


class Point(Protocol):
    """Weights and the loss at them."""

    @property
    def weight(self) -> Floats:
        """The weights. Shape (weights,)."""

    @property
    def loss(self) -> float:
        """What is minimised, with the cost of all priors."""

    @property
    def slope(self) -> Floats:
        """The gradient of the loss without absolute values. Shape (weights,)."""

    @property
    def curvature(self) -> Floats:
        """The second derivatives of the loss by single weights, or what stands for them. Shape (weights,)."""


P = TypeVar("P", bound=Point)


class L1Prior(NamedTuple):
    """What a unit of a weight's distance from its prior mean costs."""

    mean: Floats  # (weights,)
    price: float | Floats  # of all weights, or of each


Memory: TypeAlias = tuple[list[Floats], list[Floats]]  # steps, and the change of the gradient in each


class Reached(NamedTuple):
    """The progress of a fit."""

    step: int
    weight: Floats
    memory: Memory


REACHED = Key(__name__, "reached", Reached)


class QuasiNewton:
    """Takes quasi-Newton steps, and keeps the curvature of the loss while weights are added."""

    def __init__(self) -> None:
        self.memory: Memory = ([], [])

    def descend(
        self, point: P, evaluate: Callable[[Floats], P], prior: L1Prior, effort: FitEffort, watch: Watch
    ) -> P:
        """The point that is reached from another one, or until the watch must stop.

        Each step may be a checkpoint.
        """
        saved = watch.checkpoint(REACHED)
        if saved is not None:
            self.memory = saved.memory
            point = evaluate(saved.weight)
        for step in range(0 if saved is None else saved.step, effort.steps):
            if watch.must_stop():
                break
            after = self._step(point, evaluate, prior)
            if after is None:
                break
            gained, point = point.loss - after.loss, after
            if gained < effort.tolerance * abs(point.loss):
                break
            watch.save_checkpoint(REACHED, partial(Reached, step + 1, point.weight, self.memory))
        return point

    def _step(self, point: P, evaluate: Callable[[Floats], P], prior: L1Prior) -> P | None:
        """The point after one step; None if no step lowers the loss enough."""
        away, price = point.weight - prior.mean, np.broadcast_to(prior.price, point.weight.shape)
        slope = _pseudo_gradient(away, point.slope, price)
        direction = self._direction(-slope, point.curvature)
        direction[direction * slope >= 0] = 0.0
        if float(direction @ slope) > -LEAST_PROMISE:
            return None
        orthant = np.where(away != 0, np.sign(away), -np.sign(slope))
        length = 1.0
        for _ in range(MOST_TRIES):
            moved = away + length * direction
            moved[(moved * orthant < 0) & (price > 0)] = 0.0
            after = evaluate(prior.mean + moved)
            if after.loss <= point.loss + ENOUGH * float((moved - away) @ slope):
                self._remember(moved - away, after.slope - point.slope)
                return after
            length *= SHRINK
        self.memory = ([], [])
        return None

    def _direction(self, downhill: Floats, curvature: Floats) -> Floats:
        """The two-loop recursion of L-BFGS; weights that were added after a step did not move in it."""
        steps, turns = ([_pad_with_zeros(v, downhill.size) for v in vectors] for vectors in self.memory)
        shares = []
        answer = downhill.copy()
        for step, turn in zip(reversed(steps), reversed(turns), strict=True):
            share = float(step @ answer) / float(step @ turn)
            answer -= share * turn
            shares.append(share)
        answer /= curvature
        if steps:  # features overlap, so the last step tells how much less curved the loss is along them all
            answer *= float(steps[-1] @ turns[-1]) / float(turns[-1] @ (turns[-1] / curvature))
        for step, turn, share in zip(steps, turns, reversed(shares), strict=True):
            answer += (share - float(turn @ answer) / float(step @ turn)) * step
        return answer

    def _remember(self, step: Floats, turn: Floats) -> None:
        if step @ turn > LEAST_CURVATURE:
            steps, turns = self.memory
            self.memory = [*steps, step][-MEMORY:], [*turns, turn][-MEMORY:]


def _pad_with_zeros(vector: Floats, size: int) -> Floats:
    return vector if vector.size == size else np.concatenate([vector, np.zeros(size - vector.size)])


def _pseudo_gradient(away: Floats, smooth: Floats, price: Floats) -> Floats:
    """The gradient with absolute values; where these are not smooth, the slope that leads down, or zero."""
    corner = np.sign(smooth) * np.maximum(np.abs(smooth) - price, 0.0)
    return np.where(away != 0, smooth + price * np.sign(away), corner)


class FitTarget(NamedTuple):
    """What the weights are fitted to."""

    frequency: Floats  # (features,) how often each feature holds in the rows
    prior_mean: Floats  # (features,) the weights under which the priors cost nothing


class WeightState(NamedTuple):
    """Weights, and what the model makes of them."""

    weight: Floats  # (features,)
    expectations: FeatureExpectations
    loss: float  # the negative log-likelihood of all rows, and the cost of the priors: this is minimised
    slope: Floats  # (features,) the gradient of the smooth part of the loss
    curvature: Floats  # (features,) its second derivatives by single weights


class WeightFitter:
    """Fits weights, and keeps the curvature of the loss while features are added."""

    def __init__(
        self, expectations: Callable[[Floats], FeatureExpectations], total: float, priors: Priors
    ) -> None:
        self._expectations = expectations
        self._total = total
        self._priors = priors
        self.method = QuasiNewton()

    def evaluate(self, weight: Floats, target: FitTarget) -> WeightState:
        """The state of the model under weights."""
        expectations, priors, away = self._expectations(weight), self._priors, weight - target.prior_mean
        fit = self._total * (expectations.log_partition - float(weight @ target.frequency))
        slope = self._total * (expectations.expected - target.frequency) + away / priors.variance
        curvature = self._total * expectations.expected * (1 - expectations.expected) + 1 / priors.variance
        return WeightState(weight, expectations, fit + priors.cost(away), slope, curvature)

    def fit(
        self, state: WeightState, target: FitTarget, effort: FitEffort, watch: Watch | None = None
    ) -> WeightState:
        """The state that the fit reaches from another one, or until the watch must stop.

        Each step of a fit with a watch may be a checkpoint.
        """
        evaluate = partial(self.evaluate, target=target)
        prior = L1Prior(target.prior_mean, self._priors.l1)
        return self.method.descend(state, evaluate, prior, effort, watch or Watch())
