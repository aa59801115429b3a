"""States of rows as inputs: the rows that have each, and the inputs that each row has."""

from dataclasses import dataclass

import numpy as np

from tractable.approximate.l1_kernels import Inputs
from tractable.arrays import Floats, Int32s, Ints
from tractable.data import Table, collapse
from tractable.networks import FeatureFactor


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """The distinct rows of a table that weigh anything, and some states of its columns."""

    codes: Int32s  # (rows, columns); -1 where a cell is missing
    column: Ints  # (inputs,)
    state: Ints  # (inputs,)
    inputs: Inputs

    def feature(self, inputs: list[int], weight: float) -> FeatureFactor:
        """The conjunction of some of the states."""
        columns = tuple(self.column[inputs].tolist())
        return FeatureFactor(columns, tuple(self.state[inputs].tolist()), (True,) * len(inputs), weight)

    def log_odds(self) -> Floats:
        """The logarithm of the odds of each input, when its column is seen. Shape (inputs,)."""
        weight = self.inputs.weight
        number = np.repeat(np.arange(self.column.size), np.diff(self.inputs.start))
        there = np.bincount(number, weight[self.inputs.row], self.column.size)
        seen = weight @ (self.codes >= 0)
        return np.asarray(np.log((there + 1.0) / (seen[self.column] - there + 1.0)), dtype=np.float64)

    def of_rows(self) -> tuple[Ints, Int32s]:
        """Where the inputs of each row begin, and which they are, ascending."""
        number = np.repeat(np.arange(self.column.size), np.diff(self.inputs.start)).astype(np.int32)
        order = np.argsort(self.inputs.row, kind="stable")
        return np.searchsorted(self.inputs.row[order], np.arange(len(self.codes) + 1)), number[order]


def states_of(table: Table, *, unusual: bool) -> States:
    """The second of two states and each of more; with `unusual` each state but the most frequent."""
    weighs = table.row_weights > 0
    distinct, _ = collapse(table if weighs.all() else table.take(weighs))
    codes: Int32s = np.where(distinct.missing, -1, distinct.values).astype(np.int32)
    sizes = table.schema.cardinalities
    column = np.repeat(np.arange(sizes.size), sizes)
    state = np.arange(column.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    if unusual:
        kept = state != _usual_states(codes, distinct.row_weights, sizes)[column]
    else:
        kept = (sizes[column] > 2) | (state == 1)
    column, state = column[kept], state[kept]
    rows = [np.flatnonzero(codes[:, c] == k).astype(np.int32) for c, k in zip(column, state, strict=True)]
    start = np.cumsum([0, *(r.size for r in rows)])
    row = np.concatenate([np.zeros(0, dtype=np.int32), *rows])
    return States(codes, column, state, Inputs(start, row, distinct.row_weights))


def _usual_states(codes: Int32s, weights: Floats, sizes: Ints) -> Ints:
    """The most frequent state of each column."""
    lines = zip(codes.T + 1, sizes.tolist(), strict=True)  # missing cells are counted in front
    counts = [np.bincount(line, weights, k + 1)[1:] for line, k in lines]
    return np.array([int(c.argmax()) for c in counts], dtype=np.int64)
