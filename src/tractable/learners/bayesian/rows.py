"""Rows of categorical columns in a sparse form, in which the search for decision trees counts.

Most cells of most tables hold the most frequent state of their column. Only the other cells are listed, row
by row: counting costs time in proportion to these, and the count of the frequent state is the remainder.
"""

from dataclasses import dataclass

import numpy as np

from tractable.arrays import Floats
from tractable.data import Schema, Table, collapse
from tractable.learners.bayesian.kernels import Codes, Entries, partition_rows, unusual_cells


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """The distinct rows of positive weight; a missing cell has the code after the last state."""

    schema: Schema
    codes: Codes  # (columns, rows)
    weights: Floats  # (rows,)
    entries: Entries

    def seen(self, column: int) -> Codes:
        """The rows in which a column is observed."""
        return np.flatnonzero(self.codes[column] < self.schema[column].cardinality).astype(np.int32)

    def parts(self, rows: Codes, column: int) -> list[Codes]:
        """The rows that have each state of a column."""
        states = self.schema[column].cardinality
        order, start = partition_rows(rows, self.codes[column], states)
        return [order[start[k] : start[k + 1]] for k in range(states)]

    def counts(self, rows: Codes, column: int) -> Floats:
        """The weight of the rows that have each state of a column that none of them misses."""
        states = self.schema[column].cardinality
        found = np.bincount(self.codes[column][rows], self.weights[rows], states)
        return found.astype(np.float64)


def coded_rows(table: Table) -> CodedRows:
    """The rows of a table whose columns are all categorical."""
    weighs = table.row_weights > 0
    distinct, _ = collapse(table if weighs.all() else table.take(weighs))
    states, weights = table.schema.cardinalities, distinct.row_weights
    codes = np.ascontiguousarray(np.where(distinct.missing, states, distinct.values).T.astype(np.int32))
    counts = (np.bincount(line, weights, k + 1) for line, k in zip(codes, states.tolist(), strict=True))
    usual = np.array([int(found[:-1].argmax()) for found in counts], dtype=np.int64)
    slots = np.concatenate([[0], np.cumsum(states + 1)])
    entries = Entries(*unusual_cells(codes, slots, usual), slots, usual)
    return CodedRows(table.schema, codes, weights, entries)
