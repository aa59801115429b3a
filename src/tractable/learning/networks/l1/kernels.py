"""Compiled coordinate descent for L1-regularised logistic regressions.

Friedman, Hastie and Tibshirani, «Regularization Paths for Generalized Linear Models via Coordinate Descent»,
2010.
"""

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s
from tractable.base.compiled import njit
from tractable.learning.networks.indicators import Occurrences

LEAST_CURVE = 1e-5  # of a row's second derivative: certain rows must not divide by nothing
LONGEST = 3.0  # step of a coefficient, while the approximation is good
PASSES = 50  # over the coefficients within a round, at most


@njit(cache=True, nogil=True)
def regress_once(
    states: Occurrences,
    usable: Bools,
    target: Int32s,
    penalty: float,
    tolerance: float,
    coefficient: Floats,
    score: Floats,
) -> float:
    """Improve `coefficient` (classes, 1 + states), the constant first, by one round of approximation.

    `target` is the class of each row, -1 where it is missing. One class is the probability of 1 against 0;
    of several, each has a score of its own. `score` (rows, classes) follows the coefficients. Answers with
    the nats that the largest step of the round's first passes was worth.
    """
    slope, curve, change = np.empty(target.size), np.empty(target.size), np.empty(target.size)
    largest = 0.0
    for c in range(coefficient.shape[0]):
        _approximate(states.weight, target, score, c, slope, curve)
        change[:] = 0.0
        bend = _bends(states, usable, curve)
        first = _pass(states, usable, penalty, coefficient[c], bend, slope, curve, change)
        moved, passes = first, 0
        while moved > tolerance and passes < PASSES:
            alive = usable & (coefficient[c, 1:] != 0)
            moved = _pass(states, alive, penalty, coefficient[c], bend, slope, curve, change)
            passes += 1
        score[:, c] += change
        largest = max(largest, first)
    return largest


@njit(cache=True, nogil=True)
def row_scores(states: Occurrences, coefficient: Floats, rows: int) -> Floats:
    """The scores of all rows. Shape (rows, classes)."""
    score = np.zeros((rows, coefficient.shape[0]))
    for c in range(coefficient.shape[0]):
        score[:, c] = coefficient[c, 0]
        for j in range(coefficient.shape[1] - 1):
            if coefficient[c, j + 1] != 0:
                for i in range(states.start[j], states.start[j + 1]):
                    score[states.row[i], c] += coefficient[c, j + 1]
    return score


@njit(cache=True, nogil=True)
def _approximate(weight: Floats, target: Int32s, score: Floats, c: int, slope: Floats, curve: Floats) -> None:
    """First and second derivatives of each row's log-likelihood along the score of a class."""
    one = score.shape[1] == 1
    for r in range(target.size):
        if target[r] < 0:
            slope[r], curve[r] = 0.0, 0.0
            continue
        if one:
            p = 1.0 / (1.0 + np.exp(-score[r, 0]))
        else:
            top = score[r].max()
            p = np.exp(score[r, c] - top) / np.exp(score[r] - top).sum()
        hit = target[r] == (1 if one else c)
        slope[r] = weight[r] * ((1.0 if hit else 0.0) - p)
        curve[r] = weight[r] * max(p * (1.0 - p), LEAST_CURVE)


@njit(cache=True, nogil=True)
def _bends(states: Occurrences, usable: Bools, curve: Floats) -> Floats:
    """The second derivative along each coefficient."""
    bend = np.zeros(usable.size)
    for j in range(usable.size):
        if usable[j]:
            for i in range(states.start[j], states.start[j + 1]):
                bend[j] += curve[states.row[i]]
    return bend


@njit(cache=True, nogil=True)
def _pass(
    states: Occurrences,
    chosen: Bools,
    penalty: float,
    coefficient: Floats,
    bend: Floats,
    slope: Floats,
    curve: Floats,
    change: Floats,
) -> float:
    """Each chosen coefficient to where the approximation is best; the nats that the largest step is worth.

    `slope` is kept as it is after `change`, what scores have changed by since the approximation.
    """
    start, row = states.start, states.row
    step = _clip_step(slope.sum() / max(curve.sum(), LEAST_CURVE))
    coefficient[0] += step
    change += step
    slope -= step * curve
    largest = step * step * curve.sum()
    for j in range(chosen.size):
        if not chosen[j] or bend[j] <= 0:
            continue
        pull = 0.0
        for i in range(start[j], start[j + 1]):
            pull += slope[row[i]]
        old = coefficient[j + 1]
        aim = bend[j] * old + pull
        step = _clip_step(np.sign(aim) * max(abs(aim) - penalty, 0.0) / bend[j] - old)
        if step != 0:
            for i in range(start[j], start[j + 1]):
                change[row[i]] += step
                slope[row[i]] -= step * curve[row[i]]
            coefficient[j + 1] = old + step
            largest = max(largest, step * step * bend[j])
    return largest


@njit(cache=True, nogil=True)
def _clip_step(step: float) -> float:
    """A step of a length for which the quadratic approximation is good."""
    return min(max(step, -LONGEST), LONGEST)
