"""Rows of categorical columns in a sparse form, for counting in the search for decision trees.

Only cells other than the most frequent state of their column are listed, row by row. Counting takes time in
proportion to these, and the count of the most frequent state is the remainder.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import inner, kernel
from tractable.data import Schema, Table, collapse

# ---- compiled loops of the search for tree-structured conditional distributions -------------------------


Codes: TypeAlias = npt.NDArray[np.int32]


class Entries(NamedTuple):
    """The cells of each row other than the most frequent state of their column."""

    start: Ints  # (rows + 1,) row r's cells are start[r]:start[r + 1]
    slot: Codes  # (cells,) which column and state each is
    slots: Ints  # (columns + 1,) the slots of column c, one a state and one for missing, begin at slots[c]
    usual: Ints  # (columns,) the usual states


class PseudoCounts(NamedTuple):
    """The pseudo-counts of a child's states in a leaf."""

    seen: Floats  # (states,) of the states that the rows of the leaf have
    mass: float  # of all states together


@kernel
def partition_rows(rows: Codes, codes: Codes, fill: Ints, order: Codes) -> None:
    """Write the rows to `order`, grouped by code; `fill` is the next position of each code."""
    for i in range(rows.size):
        r = rows[i]
        order[fill[codes[r]]] = r
        fill[codes[r]] += 1


@kernel
def tally(rows: Codes, number: Ints, weight: Floats, entries: Entries, table: Floats) -> None:
    """Add the weights of rows by cell and state of the child to `table`, (slots, states)."""
    for i in range(rows.size):
        r, x = rows[i], number[i]
        for e in range(entries.start[r], entries.start[r + 1]):
            table[entries.slot[e], x] += weight[r]


@kernel
def fill_gains(
    entries: Entries, table: Floats, total: Floats, own: PseudoCounts, new: PseudoCounts, rest: Floats,
    gain: Floats,
) -> None:  # fmt: skip
    """Fill in the gain of each column; `rest`, (states,), is scratch memory."""
    whole = _log_likelihood(total, own)
    for column in range(gain.size):
        first, missing = entries.slots[column], entries.slots[column + 1] - 1
        lost = False
        for x in range(rest.size):
            lost |= table[missing, x] > 0
            rest[x] = max(total[x] - table[missing, x], 0.0)  # rounding may take it below
        gain[column] = -_log_likelihood(rest, own) if lost else -whole
        for slot in range(first, missing):
            if slot != first + entries.usual[column]:
                gain[column] += _log_likelihood(table[slot], new)
                for x in range(rest.size):
                    rest[x] = max(rest[x] - table[slot, x], 0.0)
        gain[column] += _log_likelihood(rest, new)


@inner
def _log_likelihood(counts: Floats, pseudo: PseudoCounts) -> float:
    """The log-likelihood of counts under their smoothed distribution."""
    answer, total = 0.0, 0.0
    for x in range(counts.size):
        if counts[x] > 0:
            answer += counts[x] * np.log(counts[x] + pseudo.seen[x])
            total += counts[x]
    return answer - total * np.log(total + pseudo.mass) if total > 0 else 0.0


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
        """The rows with each state of a column."""
        codes, states = self.codes[column], self.schema[column].cardinality
        start = np.concatenate([[0], np.cumsum(np.bincount(codes[rows], minlength=states + 1))])
        order = np.empty_like(rows)
        partition_rows(rows, codes, start[:-1].copy(), order)
        return [order[start[k] : start[k + 1]] for k in range(states)]

    def split_gains(self, rows: Codes, child: int, before: Floats, after: Floats) -> Floats:
        """The gain in log-likelihood of a leaf's child when the leaf is split on each column.

        `rows` are those of the leaf. `before` and `after` are the pseudo-counts of the child's states in the
        leaf and in each new leaf. Rows in which the column of the split is missing are ignored. Shape
        (columns,).
        """
        state = self.codes[child][rows]
        total = np.bincount(state, self.weights[rows], before.size).astype(np.float64)
        seen = np.flatnonzero(total > 0)
        number = np.zeros(before.size, dtype=np.int64)
        number[seen] = np.arange(seen.size)
        entries, table = self.entries, np.zeros((self.entries.slots[-1], seen.size))
        tally(rows, number[state], self.weights, entries, table)
        own, new = (PseudoCounts(counts[seen], float(counts.sum())) for counts in (before, after))
        gain = np.empty(entries.usual.size)
        fill_gains(entries, table, total[seen], own, new, np.empty(seen.size), gain)
        return gain

    def counts(self, rows: Codes, column: int) -> Floats:
        """The total weight of rows with each state of a column, which is not missing in these rows."""
        states = self.schema[column].cardinality
        counted = np.bincount(self.codes[column][rows], self.weights[rows], states)
        return counted.astype(np.float64)


def coded_rows(table: Table) -> CodedRows:
    """The rows of a table whose columns are all categorical."""
    weighs = table.row_weights > 0
    distinct, _ = collapse(table if weighs.all() else table.take(weighs))
    states, weights = table.schema.cardinalities, distinct.row_weights
    codes = np.ascontiguousarray(np.where(distinct.missing, states, distinct.values).T.astype(np.int32))
    counts = (np.bincount(line, weights, k + 1) for line, k in zip(codes, states.tolist(), strict=True))
    usual = np.array([int(column_counts[:-1].argmax()) for column_counts in counts], dtype=np.int64)
    slots = np.concatenate([[0], np.cumsum(states + 1)])
    row, column = np.nonzero((codes != usual[:, None]).T)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(weights)))])
    slot = (slots[column] + codes[column, row]).astype(np.int32)
    entries = Entries(start, slot, slots, usual)
    return CodedRows(table.schema, codes, weights, entries)
