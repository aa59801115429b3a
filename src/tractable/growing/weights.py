"""The weights of all features are fitted together by a quasi-Newton method that can handle absolute values.

This is OWL-QN (Andrew and Gao, «Scalable Training of L1-Regularized Log-Linear Models», ICML 2007). Its
initial matrix is the diagonal of second derivatives, which costs nothing here: it is the variance of each
feature.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from tractable.arrays import Floats
from tractable.growing.evaluator import FeatureExpectations
from tractable.growing.gains import Priors
from tractable.progress import State, Watch

MEMORY = 8  # steps that are remembered
SHRINK = 0.5  # the factor by which a step that went too far is shortened
ENOUGH = 1e-4  # the part of the decrease promised by the gradient that a step must achieve
MOST_TRIES = 12  # of one step
LEAST_PROMISE = 1e-9  # a step that promises a smaller decrease is not made
LEAST_CURVATURE = 1e-10  # a step along which the gradient turns less is not remembered


class FitEffort(NamedTuple):
    """How thoroughly weights are fitted."""

    steps: int  # at most
    tolerance: float  # the fit ends with a step that lowers the loss by less than this part of it


class FitTarget(NamedTuple):
    """What the weights are fitted to."""

    frequency: Floats  # (features,) how often each feature holds in the rows
    prior_mean: Floats  # (features,) the weights under which the priors cost nothing


class WeightState(NamedTuple):
    """Weights, and what the model makes of them."""

    weight: Floats  # (features,)
    expectations: FeatureExpectations
    loss: float  # the negative log-likelihood of all rows, and the cost of the priors: this is minimised


class WeightFitter:
    """Fits weights step by step, and remembers the curvature of the loss while features are added."""

    def __init__(
        self, expectations: Callable[[Floats], FeatureExpectations], total: float, priors: Priors
    ) -> None:
        self._expectations = expectations
        self._total = total
        self._priors = priors
        self._steps: list[Floats] = []
        self._turns: list[Floats] = []  # the change of the gradient in each step

    def evaluate(self, weight: Floats, target: FitTarget) -> WeightState:
        """The state of the model under weights."""
        expectations = self._expectations(weight)
        fit = self._total * (expectations.log_partition - float(weight @ target.frequency))
        return WeightState(weight, expectations, fit + self._priors.cost(weight - target.prior_mean))

    def memory(self) -> State:
        """The curvature that is remembered."""
        return [self._steps, self._turns]

    def restore(self, memory: State) -> None:
        """Remember the curvature that a fitter remembered when this was its memory."""
        self._steps, self._turns = memory

    def fit(
        self, state: WeightState, target: FitTarget, effort: FitEffort, watch: Watch | None = None
    ) -> WeightState:
        """The state that the fit reaches from another one, or until the watch must stop.

        Each step of a fit with a watch may be a checkpoint.
        """
        watch = watch or Watch()
        saved = watch.checkpoint()
        if saved is not None:
            self.restore(saved["memory"])
            state = self.evaluate(saved["weight"], target)
        for step in range(0 if saved is None else saved["step"], effort.steps):
            if watch.must_stop():
                break
            after = self._step(state, target)
            if after is None:
                break
            gained, state = state.loss - after.loss, after
            if gained < effort.tolerance * abs(state.loss):
                break
            watch.save_checkpoint(partial(self._state, step + 1, state.weight))
        return state

    def _state(self, step: int, weight: Floats) -> State:
        return {"step": step, "weight": weight, "memory": self.memory()}

    def _gradient(self, state: WeightState, target: FitTarget) -> Floats:
        """The gradient of the smooth part of the loss."""
        away = state.weight - target.prior_mean
        expected = state.expectations.expected
        return self._total * (expected - target.frequency) + away / self._priors.variance

    def _step(self, state: WeightState, target: FitTarget) -> WeightState | None:
        """The state after one step; None if no step lowers the loss enough."""
        away, smooth = state.weight - target.prior_mean, self._gradient(state, target)
        slope = _pseudo_gradient(away, smooth, self._priors.l1)
        expected = state.expectations.expected
        curvature = self._total * expected * (1 - expected) + 1 / self._priors.variance
        direction = self._direction(-slope, curvature)
        direction[direction * slope >= 0] = 0.0
        promised = float(direction @ slope)
        if promised > -LEAST_PROMISE:
            return None
        orthant = np.where(away != 0, np.sign(away), -np.sign(slope))
        length = 1.0
        for _ in range(MOST_TRIES):
            moved = away + length * direction
            if self._priors.l1 > 0:
                moved[moved * orthant < 0] = 0.0
            after = self.evaluate(target.prior_mean + moved, target)
            if after.loss <= state.loss + ENOUGH * float((moved - away) @ slope):
                self._remember(moved - away, self._gradient(after, target) - smooth)
                return after
            length *= SHRINK
        self._steps.clear()
        self._turns.clear()
        return None

    def _direction(self, downhill: Floats, curvature: Floats) -> Floats:
        """The two-loop recursion of L-BFGS; features that were added after a step did not move in it."""
        steps = [_pad_with_zeros(step, downhill.size) for step in self._steps]
        turns = [_pad_with_zeros(turn, downhill.size) for turn in self._turns]
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
            self._steps = [*self._steps, step][-MEMORY:]
            self._turns = [*self._turns, turn][-MEMORY:]


def _pad_with_zeros(vector: Floats, size: int) -> Floats:
    return vector if vector.size == size else np.concatenate([vector, np.zeros(size - vector.size)])


def _pseudo_gradient(away: Floats, smooth: Floats, l1: float) -> Floats:
    """The gradient with absolute values; where these are not smooth, the slope that leads down, or zero."""
    if l1 == 0:
        return smooth
    corner = np.sign(smooth) * np.maximum(np.abs(smooth) - l1, 0.0)
    return np.where(away != 0, smooth + l1 * np.sign(away), corner)
