"""Complete rows of categorical columns, prepared for counting in the search for selective trees."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from tractable.base.arrays import Floats, Int32s, Ints
from tractable.base.compiled import inner, kernel
from tractable.data import Schema, Table, collapse

Codes: TypeAlias = Int32s
NOTHING: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """The distinct rows of positive weight."""

    schema: Schema
    codes: Codes  # (columns, rows)
    weights: Floats  # (rows,)


class Conditions(NamedTuple):
    """The ways to divide rows in two: whether a column has a certain state. Each is numbered.

    A column of one state has no condition and a column of two states has one, for both states divide rows in
    the same way. A column of more states has one for each.
    """

    column: Ints  # (conditions,)
    state: Ints  # (conditions,)
    first: Ints  # (columns + 1,) the conditions of column c are first[c]:first[c + 1]


class Cells(NamedTuple):
    """The training rows and behind them the validation rows, column by column; and lists of conditions."""

    codes: Codes  # (columns, rows)
    weight: Floats  # (rows,)
    training: int  # so many rows are training rows
    conditions: Conditions
    start: Ints  # (training rows + 1,) row r meets the conditions met[start[r]:start[r + 1]]
    met: Codes  # that of the usual state of a column is not listed
    usual: Ints  # (columns of three or more states, 3) first condition, one after the last, the usual one
    most_states: int  # of any column


def coded_rows(table: Table) -> CodedRows:
    """The rows of a table without missing cells, whose columns are all categorical."""
    weighs = table.row_weights > 0
    distinct, _ = collapse(table if weighs.all() else table.take(weighs))
    codes = np.ascontiguousarray(distinct.values.T.astype(np.int32))
    return CodedRows(table.schema, codes, distinct.row_weights)


def list_cells(rows: CodedRows, valid: CodedRows) -> Cells:
    """Rows in the form in which compiled loops count them.

    Most cells of most tables hold the most frequent state of their column, so that state is not listed.
    """
    states = rows.schema.cardinalities
    counts = [np.bincount(codes, rows.weights, k) for codes, k in zip(rows.codes, states, strict=True)]
    usual = np.array([int(count.argmax()) for count in counts], dtype=np.int64)
    kept = [np.flatnonzero((np.arange(k) != u) | (k > 2)) for k, u in zip(states, usual, strict=True)]
    first = np.append(0, np.cumsum([part.size for part in kept]))
    column, state = np.repeat(np.arange(states.size), np.diff(first)), np.concatenate(kept)
    is_listed = state != usual[column]
    row, met = np.nonzero((is_listed[:, None] & (rows.codes[column] == state[:, None])).T)
    several = np.flatnonzero(states > 2)
    return Cells(
        np.concatenate([rows.codes, valid.codes], axis=1),
        np.concatenate([rows.weights, valid.weights]),
        rows.weights.size,
        Conditions(column, state, first),
        np.searchsorted(row, np.arange(rows.weights.size + 1)),
        met.astype(np.int32),
        np.column_stack([first[several], first[several + 1], first[several] + usual[several]]),
        int(states.max()),
    )


@inner
def x_log_x(x: float) -> float:
    """The number times its logarithm; zero at zero."""
    return x * np.log(x) if x > 0.0 else 0.0


@kernel
def count_conditions(cells: Cells, rows: Codes, column: int, branch: Codes, table: Floats) -> None:
    """Count the rows that meet each condition on each edge of a sum about a column.

    `branch` is the edge of each state. `table` is (conditions + 2, edges) and filled with zeros; the line
    after those of the conditions becomes the count of all rows.
    """
    conditions, edges = table.shape[0] - 2, table.shape[1]
    for r in rows:
        c, w = branch[cells.codes[column, r]], cells.weight[r]
        table[conditions, c] += w
        for i in range(cells.start[r], cells.start[r + 1]):
            table[cells.met[i], c] += w
    for i in range(cells.usual.shape[0]):
        for c in range(edges):
            rest = table[conditions, c]
            for s in range(cells.usual[i, 0], cells.usual[i, 1]):
                if s != cells.usual[i, 2]:
                    rest -= table[s, c]
            table[cells.usual[i, 2], c] = max(rest, 0.0)  # rounding may take it below


@kernel
def conditioning_gains(table: Floats, gain: Floats) -> None:
    """What the log-likelihood of a sum gains when its rows are divided by each condition.

    `table` comes from `count_conditions`; its last line is used for intermediate results.
    """
    conditions, edges = table.shape[0] - 2, table.shape[1]
    whole, total = 0.0, 0.0
    for c in range(edges):
        table[conditions + 1, c] = x_log_x(table[conditions, c])
        whole += table[conditions + 1, c]
        total += table[conditions, c]
    before = whole - x_log_x(total)
    for s in range(conditions):
        inside, outside, count = 0.0, whole, 0.0
        for c in range(edges):
            x = table[s, c]
            if x > 0.0:
                count += x
                inside += x_log_x(x)
                outside += x_log_x(table[conditions, c] - x) - table[conditions + 1, c]
        gain[s] = 0.0
        if count > 0.0:
            gain[s] = inside - x_log_x(count) + outside - x_log_x(total - count) - before
