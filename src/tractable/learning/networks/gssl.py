"""Compiled loops that draw random conjunctions and count where they hold."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats, Int32s, Ints, Words
from tractable.base.compiled import njit
from tractable.base.progress import Key, Watch
from tractable.base.settings import setting
from tractable.data import Table
from tractable.engine.trace import uniform
from tractable.learning.networks.indicators import (
    Occurrences,
    StateIndicators,
    choose_penalty,
    penalty_path,
    state_indicators,
)
from tractable.learning.networks.learner import NetworkLearner
from tractable.learning.networks.pseudo_likelihood.objective import PseudoLikelihood
from tractable.learning.networks.pseudo_likelihood.weights import (
    l1_penalties,
    log_weights,
    maximise,
    reweight,
)
from tractable.networks import FeatureFactor, Network

TRIES = 50  # to find something with two literals


@njit(cache=True, nogil=True)
def generalise(start: Ints, literal: Int32s, made: Int32s, words: Words) -> None:
    """Fill each line of `made` with at least two literals of a row or of an earlier line, ascending.

    Row r's literals are literal[start[r]:start[r + 1]], ascending; lines end with -1. A line stays empty
    where no row with two literals was met in some tries.
    """
    rows, longest = start.size - 1, made.shape[1]
    size = np.zeros(len(made), dtype=np.int64)
    left = np.empty(max(longest, np.diff(start).max()), dtype=np.int32)
    made[:] = -1
    for i in range(len(made)):
        count = 0
        for _ in range(TRIES):
            count = _source(start, literal, made, size, int(uniform(words, 0) * (rows + i)), left)
            if count >= 2:
                break
        if count < 2:
            continue
        size[i] = 2 + int(uniform(words, 0) * (min(count, longest) - 1))
        for j in range(size[i]):  # a random part comes to the front
            other = j + int(uniform(words, 0) * (count - j))
            left[j], left[other] = left[other], left[j]
        made[i, : size[i]] = np.sort(left[: size[i]])


@njit(cache=True, nogil=True)
def _source(start: Ints, literal: Int32s, made: Int32s, size: Ints, which: int, left: Int32s) -> int:
    """Copy the literals of a row, or of a line that was made, into `left`; how many there are."""
    line = which - (start.size - 1)
    if line >= 0:
        left[: size[line]] = made[line, : size[line]]
        return size[line]
    count = start[which + 1] - start[which]
    left[:count] = literal[start[which] : start[which + 1]]
    return count


@njit(cache=True, nogil=True)
def supports(states: Occurrences, codes: Int32s, column: Ints, state: Ints, made: Int32s) -> Floats:
    """The weight of the rows in which all literals of each line hold; `states` has the rows of each state."""
    answer = np.zeros(len(made))
    for i in range(len(made)):
        size, rarest = 0, made[i, 0]
        while size < made.shape[1] and made[i, size] >= 0:
            j = made[i, size]
            if states.start[j + 1] - states.start[j] < states.start[rarest + 1] - states.start[rarest]:
                rarest = j
            size += 1
        for at in range(states.start[rarest], states.start[rarest + 1]):
            r, met = states.row[at], 0
            while met < size and codes[r, column[made[i, met]]] == state[made[i, met]]:
                met += 1
            if met == size:
                answer[i] += states.weight[r]
    return answer


# ---- Van Haaren and Davis, «Markov Network Structure Learning: A Randomized Feature Generation
#      Approach», 2012: conjunctions that rows suggest, weighted by pseudo-likelihood.


CONJUNCTIONS = Key(__name__, "conjunctions", Int32s)

LINES = 1000  # conjunctions whose support is counted at a time
LEAST_SUPPORT = 1e-300  # of a conjunction: it has been counted and met in some row


@final
@dataclass(frozen=True, kw_only=True)
class GSSLLearner(NetworkLearner):
    """A Markov network of conjunctions that are drawn from the rows and weighted by pseudo-likelihood.

    A conjunction is drawn by dropping random conditions of a row or of an earlier conjunction, and is kept if
    its support is large enough. An L1 penalty on the weights then selects among the conjunctions.
    """

    name: ClassVar[str] = "gssl"
    title: ClassVar[str] = "Markov network of random conjunctions (GSSL)"

    candidates: int = setting(
        100_000,
        "Number of conjunctions that are drawn at random from the rows. Larger values find rarer dependences"
        " and take more time.",
        at_least=0,
    )
    max_length: int = setting(16, "Maximum number of conditions in a conjunction.", at_least=2)
    min_support: float = setting(
        10.0,
        "Minimum support of a conjunction, which is the total weight of the rows that satisfy it.",
        at_least=0,
    )
    max_features: int = setting(
        5_000,
        "Maximum number of conjunctions whose weights are fitted. Those drawn most often are preferred.",
        at_least=0,
    )
    penalty: tuple[float, ...] = setting(
        (5.0, 2.0, 10.0, 20.0),
        "Strengths of the L1 penalty on the weights of the conjunctions, in nats over all rows per unit of a"
        " weight. With validation rows, all values are tried and the network with the highest"
        " pseudo-likelihood on them is kept; otherwise the first is used.",
        at_least=0,
    )
    l2: float = setting(
        1.0,
        "Strength of the L2 penalty on all weights, in nats over all rows per half the square of a weight.",
        at_least=0,
    )
    steps: int = setting(200, "Maximum number of L-BFGS iterations for each penalty.", at_least=1)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Network:
        features = self._features(table, rng, watch)
        watch.report("features", len(features))
        objective = PseudoLikelihood(features, table)
        held_out = None if valid is None else PseudoLikelihood(features, valid)

        def fit(penalty: float, start: Floats, part: Watch) -> Floats:
            return maximise(objective, start, l1_penalties(features, penalty), self.l2, self.steps, part)

        path = penalty_path(self.penalty, valid)
        score = None if held_out is None else held_out.mean
        best = choose_penalty(path, log_weights(features), fit, score, watch)
        return Network(table.schema, tuple(reweight(features, best)), "markov")

    def _features(self, table: Table, rng: np.random.Generator, watch: Watch) -> list[FeatureFactor]:
        """One for each state of a column but its most frequent one, and the conjunctions."""
        indicators = state_indicators(table, without_most_frequent=True)
        alone = [indicators.feature([i], w) for i, w in enumerate(indicators.log_odds().tolist())]
        chosen = watch.remember(CONJUNCTIONS, partial(self._conjunctions, indicators, rng), rng)
        return [*alone, *(indicators.feature([i for i in line if i >= 0], 0.0) for line in chosen.tolist())]

    def _conjunctions(self, indicators: StateIndicators, rng: np.random.Generator, watch: Watch) -> Int32s:
        """The indicators of each conjunction, (conjunctions, most conditions), -1 behind the last."""
        start, literal = indicators.by_row()
        if start.size == 1:
            return np.zeros((0, self.max_length), dtype=np.int32)
        drawn: Int32s = np.empty((self.candidates, self.max_length), dtype=np.int32)
        generalise(start, literal, drawn, rng.integers(0, 2**64, 1, dtype=np.uint64))
        distinct, times = _distinct(drawn[drawn[:, 1] >= 0])
        where = (indicators.occurrences, indicators.codes, indicators.column, indicators.state)
        support = np.zeros(len(distinct))
        for at in range(0, len(distinct), LINES):
            if watch.should_stop():  # those that were not counted are left out
                break
            support[at : at + LINES] = supports(*where, distinct[at : at + LINES])
        frequent = support >= max(self.min_support, LEAST_SUPPORT)
        distinct, times = distinct[frequent], times[frequent]
        return distinct[np.argsort(-times, kind="stable")[: self.max_features]]


def _distinct(lines: Int32s) -> tuple[Int32s, Ints]:
    """The different lines in the order of their first appearance, and how often each is there."""
    _, first, times = np.unique(lines, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return lines[first[order]], times[order]
