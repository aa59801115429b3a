"""The weights of all features together: a quasi-Newton method that minds the corners of absolute values.

Andrew and Gao, «Scalable Training of L1-Regularized Log-Linear Models», 2007 (OWL-QN), started from the
diagonal of the second derivatives, which features bring along: their variance.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tractable.arrays import Floats
from tractable.growing.circuit import Moments
from tractable.growing.gains import Priors

MEMORY = 8  # steps that are remembered
SHRINK = 0.5  # of a step that went too far
ENOUGH = 1e-4  # of the decrease that the slope promises
MOST_TRIES = 12


class Goal(NamedTuple):
    """Where weights are drawn to: by the rows, and by priors."""

    target: Floats  # how often features hold in the rows
    home: Floats  # the weights that cost nothing


class State(NamedTuple):
    """Weights and what the model makes of them."""

    weight: Floats
    moments: Moments
    loss: float  # what is minimised: the negative log-likelihood of all rows, with priors


class WeightFitter:
    """Fits weights step by step; remembers the shape of the loss while features are added."""

    def __init__(self, moments: Callable[[Floats], Moments], total: float, priors: Priors) -> None:
        self._moments = moments
        self._total = total
        self._priors = priors
        self._steps: list[Floats] = []
        self._turns: list[Floats] = []

    def evaluate(self, weight: Floats, goal: Goal) -> State:
        """What the model makes of weights."""
        moments = self._moments(weight)
        fit = self._total * (moments.log_value - float(weight @ goal.target))
        return State(weight, moments, fit + self._priors.cost(weight - goal.home))

    def fit(self, state: State, goal: Goal, steps: int, tolerance: float) -> State:
        """Go on from a state until a step lowers the loss by less than `tolerance` of it."""
        for _ in range(steps):
            after = self._step(state, goal)
            if after is None:
                break
            gained, state = state.loss - after.loss, after
            if gained < tolerance * abs(state.loss):
                break
        return state

    def _slope(self, state: State, goal: Goal) -> Floats:
        """Of the smooth part."""
        away = state.weight - goal.home
        return self._total * (state.moments.expected - goal.target) + away / self._priors.variance

    def _step(self, state: State, goal: Goal) -> State | None:
        away, smooth = state.weight - goal.home, self._slope(state, goal)
        slope = _steepest(away, smooth, self._priors.l1)
        expected = state.moments.expected
        curve = self._total * expected * (1 - expected) + 1 / self._priors.variance
        direction = self._direction(-slope, curve)
        direction[direction * slope >= 0] = 0.0
        promised = float(direction @ slope)
        if promised > -1e-9:
            return None
        side = np.where(away != 0, np.sign(away), -np.sign(slope))
        length = 1.0
        for _ in range(MOST_TRIES):
            moved = away + length * direction
            if self._priors.l1 > 0:
                moved[moved * side < 0] = 0.0
            after = self.evaluate(goal.home + moved, goal)
            if after.loss <= state.loss + ENOUGH * float((moved - away) @ slope):
                self._remember(moved - away, self._slope(after, goal) - smooth)
                return after
            length *= SHRINK
        self._steps.clear()
        self._turns.clear()
        return None

    def _direction(self, downhill: Floats, curve: Floats) -> Floats:
        """The two-loop recursion; features that came since a step was taken did not move in it."""
        steps = [_filled(step, downhill.size) for step in self._steps]
        turns = [_filled(turn, downhill.size) for turn in self._turns]
        shares = []
        answer = downhill.copy()
        for step, turn in zip(reversed(steps), reversed(turns), strict=True):
            share = float(step @ answer) / float(step @ turn)
            answer -= share * turn
            shares.append(share)
        answer /= curve
        if steps:  # features overlap: as much less curved as they turned out to be together
            answer *= float(steps[-1] @ turns[-1]) / float(turns[-1] @ (turns[-1] / curve))
        for step, turn, share in zip(steps, turns, reversed(shares), strict=True):
            answer += (share - float(turn @ answer) / float(step @ turn)) * step
        return answer

    def _remember(self, step: Floats, turn: Floats) -> None:
        if step @ turn > 1e-10:
            self._steps = [*self._steps, step][-MEMORY:]
            self._turns = [*self._turns, turn][-MEMORY:]


def _filled(vector: Floats, size: int) -> Floats:
    return vector if vector.size == size else np.concatenate([vector, np.zeros(size - vector.size)])


def _steepest(away: Floats, smooth: Floats, l1: float) -> Floats:
    """The slope of the loss with absolute values; at a corner the one that leads down, or zero."""
    if l1 == 0:
        return smooth
    corner = np.sign(smooth) * np.maximum(np.abs(smooth) - l1, 0.0)
    return np.where(away != 0, smooth + l1 * np.sign(away), corner)
