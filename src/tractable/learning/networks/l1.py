"""Compiled coordinate descent for L1-regularised logistic regressions.

Friedman, Hastie and Tibshirani, «Regularization Paths for Generalized Linear Models via Coordinate Descent»,
2010.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s
from tractable.base.compiled import njit
from tractable.base.progress import Key, Stopped, Watch
from tractable.base.settings import setting
from tractable.data import Table
from tractable.engine.sweep import map_threads, threads_or_default
from tractable.learning.networks.indicators import Occurrences, choose_penalty, penalty_path, state_indicators
from tractable.learning.networks.learner import NetworkLearner
from tractable.learning.networks.pseudo_likelihood.objective import PseudoLikelihood
from tractable.learning.networks.pseudo_likelihood.weights import log_weights
from tractable.networks import FeatureFactor, Network

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


# ---- an L1-regularised logistic regression by coordinate descent ----------------------------------------


ROUNDS = 30  # of the quadratic approximation, at most


def regress(
    states: Occurrences,
    usable: Bools,
    target: Int32s,
    penalty: float,
    tolerance: float,
    coefficient: Floats,
    between: Callable[[], None] | None = None,
) -> None:
    """Fit `coefficient` (classes, 1 + states), with the constant first, starting from its current values.

    `target` is the class of each row, -1 if it is missing. It ends when no coefficient changes the objective
    by more than `tolerance` nats. `between` is called between rounds, and may raise an exception to stop.
    """
    score = row_scores(states, coefficient, target.size)
    for _ in range(ROUNDS):
        if between is not None:
            between()
        if regress_once(states, usable, target, penalty, tolerance, coefficient, score) <= tolerance:
            break


# ---- Ravikumar, Wainwright and Lafferty, «High-Dimensional Ising Model Selection Using l1-Regularized
#      Logistic Regression», 2010: each column regressed on all others gives the pairs of a Markov
#      network.


FINISHED = Key(__name__, "finished", list[Floats | None])


@final
@dataclass(frozen=True, kw_only=True)
class L1MarkovLearner(NetworkLearner):
    """A pairwise Markov network, learned by one L1-regularised logistic regression per column.

    Two columns are connected if either regression has a non-zero coefficient for the other; the weight of a
    pair of states is the mean of the two coefficients.
    """

    name: ClassVar[str] = "l1-markov"
    title: ClassVar[str] = "pairwise Markov network by L1-regularised regressions"

    penalty: tuple[float, ...] = setting(
        (10.0, 2.0, 5.0, 20.0, 50.0),
        "Strengths of the L1 penalty of the regressions, in nats over all rows per unit of a coefficient."
        " With validation rows, all values are tried and the network with the highest pseudo-likelihood on"
        " them is kept; otherwise the first is used. Larger penalties give fewer features.",
        at_least=0,
    )
    tolerance: float = setting(
        1e-2,
        "Stopping tolerance of each regression. Coordinate descent ends when no step changes the objective"
        " by more than this many nats over all rows.",
        at_least=0,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Network:
        regressions = _Regressions(table)

        def fit(penalty: float, start: list[Floats], part: Watch) -> list[Floats]:
            return regressions.fit(penalty, self.tolerance, start, part)

        def score(coefficients: list[Floats]) -> float:
            assert valid is not None
            features = regressions.features(coefficients)
            return PseudoLikelihood(features, valid).mean(log_weights(features))

        path = penalty_path(self.penalty, valid)
        best = choose_penalty(path, regressions.zeros(), fit, None if valid is None else score, watch)
        return Network(table.schema, tuple(regressions.features(best)), "markov")


class _Regressions:
    """One regression for each column, on the states of all others; a column of two states has one class."""

    def __init__(self, table: Table) -> None:
        self.indicators = state_indicators(table, without_most_frequent=False)
        self.owned = np.bincount(self.indicators.column, minlength=len(table.schema))  # of each column

    def zeros(self) -> list[Floats]:
        """Coefficients of zero for each regression, (classes, 1 + indicators)."""
        return [np.zeros((k, 1 + self.indicators.column.size)) for k in self.owned.tolist()]

    def fit(self, penalty: float, tolerance: float, start: list[Floats], watch: Watch) -> list[Floats]:
        """The coefficients of all of them, fitted from a start; some remain unfitted when time is over."""
        finished: list[Floats | None] = watch.checkpoint(FINISHED) or [None] * len(start)
        answer = [old.copy() if known is None else known for old, known in zip(start, finished, strict=True)]

        def run(column: int) -> None:
            target = np.ascontiguousarray(self.indicators.codes[:, column])
            usable: Bools = self.indicators.column != column
            states = self.indicators.occurrences
            with suppress(Stopped):
                regress(states, usable, target, penalty, tolerance, answer[column], watch.break_off)
                finished[column] = answer[column]
                watch.save_checkpoint(FINISHED, lambda: finished)

        waiting = [column for column in np.flatnonzero(self.owned).tolist() if finished[column] is None]
        map_threads(run, waiting, threads_or_default(None))
        return answer

    def features(self, coefficients: list[Floats]) -> list[FeatureFactor]:
        """A feature for each indicator alone, and for each pair with a weight in either of its regressions.

        The weight of a pair is the mean of the two.
        """
        lines = np.concatenate(coefficients)
        pairs: Floats = np.triu((lines[:, 1:] + lines[:, 1:].T) / 2, 1)
        one, other = np.nonzero(pairs)
        alone = [self.indicators.feature([i], w) for i, w in enumerate(lines[:, 0].tolist())]
        together = zip(one.tolist(), other.tolist(), pairs[one, other].tolist(), strict=True)
        return [*alone, *(self.indicators.feature([i, j], w) for i, j, w in together)]
