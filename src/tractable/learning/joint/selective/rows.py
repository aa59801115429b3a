"""Complete rows of categorical columns, in the forms in which the search for selective trees counts."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.data import Schema, Table, collapse
from tractable.learning.joint.selective.kernels import Codes, Entries, Slots


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """The distinct rows of positive weight."""

    schema: Schema
    codes: Codes  # (columns, rows)
    weights: Floats  # (rows,)

    def counts(self, rows: Codes, column: int) -> Floats:
        """The weight of the rows that have each state of a column."""
        states = self.schema[column].cardinality
        return np.bincount(self.codes[column][rows], self.weights[rows], states).astype(np.float64)


def coded_rows(table: Table) -> CodedRows:
    """The rows of a table without missing cells, whose columns are all categorical."""
    weighs = table.row_weights > 0
    distinct, _ = collapse(table if weighs.all() else table.take(weighs))
    codes = np.ascontiguousarray(distinct.values.T.astype(np.int32))
    return CodedRows(table.schema, codes, distinct.row_weights)


def make_slots(rows: CodedRows) -> tuple[Slots, Entries]:
    """The slots of all columns, and the rows as lists of slots.

    Most cells of most tables hold the most frequent state of their column, so that state is not listed.
    """
    states = rows.schema.cardinalities
    everything = np.arange(rows.weights.size, dtype=np.int32)
    usual = [int(rows.counts(everything, c).argmax()) for c in range(states.size)]
    kept = [
        np.delete(np.arange(k), u) if k < 3 else np.arange(k)
        for k, u in zip(states.tolist(), usual, strict=True)
    ]
    first = np.concatenate([[0], np.cumsum([k.size for k in kept])]).astype(np.int64)
    column = np.repeat(np.arange(states.size), np.diff(first))
    slots = Slots(column, np.concatenate([*kept, np.zeros(0, dtype=np.int64)]).astype(np.int64), first)
    many = np.flatnonzero(states > 2)
    unlisted = np.column_stack(
        [first[many], first[many + 1], first[many] + np.array(usual, dtype=np.int64)[many]]
    )
    return slots, Entries(rows.weights, *_listed(rows, first, usual), unlisted.astype(np.int64))


def _listed(rows: CodedRows, first: Ints, usual: list[int]) -> tuple[Ints, Codes]:
    """Where the list of each row begins, and the slots of all rows."""
    row, slot = [], []
    for column, (codes, state) in enumerate(zip(rows.codes, usual, strict=True)):
        here = np.flatnonzero(codes != state)
        row.append(here)
        two = first[column + 1] - first[column] < 2
        slot.append(first[column] + (np.zeros(here.size, dtype=np.int64) if two else codes[here]))
    where = np.concatenate([*row, np.zeros(0, dtype=np.int64)])
    order = np.argsort(where, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=rows.weights.size))]).astype(np.int64)
    return start, np.concatenate([*slot, np.zeros(0, dtype=np.int64)])[order].astype(np.int32)
