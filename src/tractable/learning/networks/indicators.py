"""States of columns as indicators: the rows that have each state, and the indicators of each row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s, Ints
from tractable.base.progress import Key, Watch
from tractable.data import Table, collapse
from tractable.networks import FeatureFactor
from tractable.networks.gibbs.sampler import GibbsSampler


class Occurrences(NamedTuple):
    """Which rows have each of some states."""

    start: Ints  # (states + 1,) the rows that have state j are row[start[j]:start[j + 1]]
    row: Int32s
    weight: Floats  # (rows,)


@dataclass(frozen=True, slots=True, eq=False)
class StateIndicators:
    """The distinct rows of a table with a positive weight, and indicators of some states of its columns."""

    codes: Int32s  # (rows, columns); -1 where a cell is missing
    column: Ints  # (indicators,)
    state: Ints  # (indicators,)
    occurrences: Occurrences

    def feature(self, indicators: list[int], weight: float) -> FeatureFactor:
        """The conjunction of some of the states."""
        columns = tuple(self.column[indicators].tolist())
        states = tuple(self.state[indicators].tolist())
        return FeatureFactor(columns, states, (True,) * len(indicators), weight)

    def log_odds(self) -> Floats:
        """The log-odds of each indicator among the rows in which its column is seen. Shape (indicators,)."""
        weight = self.occurrences.weight
        number = np.repeat(np.arange(self.column.size), np.diff(self.occurrences.start))
        there = np.bincount(number, weight[self.occurrences.row], self.column.size)
        seen = weight @ (self.codes >= 0)
        return np.asarray(np.log((there + 1.0) / (seen[self.column] - there + 1.0)), dtype=np.float64)

    def by_row(self) -> tuple[Ints, Int32s]:
        """Where the indicators of each row begin, and which they are, ascending."""
        number = np.repeat(np.arange(self.column.size), np.diff(self.occurrences.start)).astype(np.int32)
        order = np.argsort(self.occurrences.row, kind="stable")
        return np.searchsorted(self.occurrences.row[order], np.arange(len(self.codes) + 1)), number[order]


def state_indicators(table: Table, *, without_most_frequent: bool) -> StateIndicators:
    """Indicators of the second of two states and of each of more; or of each but a column's most frequent."""
    weighs = table.row_weights > 0
    distinct, _ = collapse(table if weighs.all() else table.take(weighs))
    codes: Int32s = np.where(distinct.missing, -1, distinct.values).astype(np.int32)
    sizes = table.schema.cardinalities
    column = np.repeat(np.arange(sizes.size), sizes)
    state = np.arange(column.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    if without_most_frequent:
        kept = state != _most_frequent_states(codes, distinct.row_weights, sizes)[column]
    else:
        kept = (sizes[column] > 2) | (state == 1)
    column, state = column[kept], state[kept]
    rows = [np.flatnonzero(codes[:, c] == k).astype(np.int32) for c, k in zip(column, state, strict=True)]
    start = np.cumsum([0, *(r.size for r in rows)])
    row = np.concatenate([np.zeros(0, dtype=np.int32), *rows])
    return StateIndicators(codes, column, state, Occurrences(start, row, distinct.row_weights))


def _most_frequent_states(codes: Int32s, weights: Floats, sizes: Ints) -> Ints:
    """The most frequent state of each column."""
    lines = zip(codes.T + 1, sizes.tolist(), strict=True)  # missing cells are counted in front
    counts = [np.bincount(line, weights, k + 1)[1:] for line, k in lines]
    return np.array([int(c.argmax()) for c in counts], dtype=np.int64)


# ---- selection of a penalty on validation rows ----------------------------------------------------------


# ---- the conditional marginal log-likelihood of a network, a score of predictions of single columns -----
#
# Lee, Ganapathi and Koller, «Efficient Structure Learning of Markov Networks Using L1-Regularization»,
# 2007.


def conditional_marginal_log_likelihood(
    sampler: GibbsSampler,
    rows: Floats,
    asked: Bools,
    *,
    burn_in: int = 100,
    samples: int = 1000,
    seed: int = 0,
) -> Floats:
    """For each row the sum over the columns `asked`, (rows, columns), of log P(cell | other columns).

    The other columns have their values in the row. Missing cells are ignored.
    """
    given = np.where(asked, np.nan, rows)
    marginals = sampler.marginals(given, burn_in=burn_in, samples=samples, seed=seed)
    answer = np.zeros(len(rows))
    row, column = np.nonzero(asked & ~np.isnan(rows))
    prob = marginals[row, sampler.slots[column] + rows[row, column].astype(np.int64)]
    with np.errstate(divide="ignore"):
        np.add.at(answer, row, np.log(prob))
    return answer


T = TypeVar("T")
FITTED = Key[Any](__name__, "fitted with penalty", Any)


def penalty_path(penalties: Sequence[float], valid: Table | None) -> list[float]:
    """The penalties to try in descending order, or only the first one without validation rows.

    Each fit starts from that with the next larger penalty, which has fewer non-zero weights.
    """
    return sorted(set(penalties if valid is not None else penalties[:1]), reverse=True)


def choose_penalty(
    path: Sequence[float],
    start: T,
    fit: Callable[[float, T, Watch], T],
    score: Callable[[T], float] | None,
    watch: Watch,
) -> T:
    """The fit of the penalty with the highest score, or of the first one without scores.

    Each fit starts from the previous one, the first from `start`. An incomplete fit is used only without any
    other. Fits consist of lists and arrays.
    """
    best, best_score, model = None, -np.inf, start
    for done, penalty in enumerate(path, start=1):
        model = watch.remember(FITTED.at(penalty), partial(fit, penalty, model))
        if best is not None and watch.should_stop():
            break
        model_score = 0.0 if score is None else score(model)
        if best is None or model_score > best_score:
            best, best_score = model, model_score
        watch.report("penalties", done, len(path), None if score is None else best_score)
        if watch.should_stop():
            break
    assert best is not None, "there is at least one penalty"
    return best
