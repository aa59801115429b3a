"""States of columns as indicators: the rows that have each state, and the indicators of each row."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Int32s, Ints
from tractable.data import Table, collapse
from tractable.networks import FeatureFactor


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
