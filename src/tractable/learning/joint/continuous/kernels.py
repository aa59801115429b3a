"""Compiled loops over missing cells: their terms in log-likelihoods and in the statistics of trees.

In the matrix product, missing cells have a default value: the first state, or zero. These loops correct for
this and sum over all values instead. A missing cell without observed descendants sums to one. Any other
missing cell sends a message to its parent, with one entry for each state of the parent and each tree. Arrays
have a column for each tree; `value` holds the cells of one row, NaN if missing.
"""

from math import exp, isnan, log
from typing import NamedTuple, Self

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.compiled import inner, kernel
from tractable.learning.joint.continuous.shape import CATEGORICAL, REAL, CellTable

TINY = 1e-300  # stands for a probability that is too small for a number


class CellTables(NamedTuple):
    """The parameters of all cells in all trees."""

    theta: Floats  # (statistics, trees)
    log_partition: Floats  # (cells, trees)
    share: Floats  # (statistics, trees) the probabilities of states of categorical columns, but for the first
    first: Floats  # (cells, trees) the probability of the first state


class Scratch(NamedTuple):
    """Memory for the messages of one row."""

    alive: Bools  # (columns,) whether a cell or one below it is observed
    start: Ints  # (columns, 2) where a column's lines of `below` and of `message` begin
    below: Floats  # (states of inner columns, trees) the likelihood of all below; later the posterior
    top: Floats  # (columns, trees) the logarithm of the scale of `below`
    message: Floats  # (states of parents of inner columns, trees)
    joint: Floats  # (most states, trees)

    @classmethod
    def make(cls, table: CellTable, trees: int) -> Self:
        """Scratch memory for a number of trees."""
        is_inner = np.diff(table.child_start) > 0
        own = np.where(is_inner, table.states, 0)
        above = np.where(is_inner & (table.parent >= 0), table.states[table.parent], 0)
        start = np.stack([np.cumsum(own) - own, np.cumsum(above) - above], axis=1)
        sizes = own.sum(), own.size, above.sum(), own.max(initial=1)
        return cls(np.zeros(own.size, dtype=np.bool_), start, *(np.zeros((n, trees)) for n in sizes))


@inner
def _cell(table: CellTable, column: int, state: int) -> int:
    """The cell of a column given a state of its parent."""
    return table.cell[column, 0] if state == 0 else table.cell[column, 1] + state - 1


@inner
def _add_logs(
    table: CellTable, params: CellTables, column: int, state: int, x: float, sign: float, out: Floats,
    line: int,
) -> None:  # fmt: skip
    """Add the log-likelihood of an observed cell given a state of its parent to a row of `out`."""
    cell = _cell(table, column, state)
    row, square = table.row[cell, 0], table.row[cell, 1]
    trees = out.shape[1]
    for k in range(trees):
        out[line, k] -= sign * params.log_partition[cell, k]
    if table.kind[column] == CATEGORICAL:
        if x > 0:
            for k in range(trees):
                out[line, k] += sign * params.theta[row + int(x) - 1, k]
        return
    for k in range(trees):
        out[line, k] += sign * x * params.theta[row, k]
    if table.kind[column] == REAL:
        for k in range(trees):
            out[line, k] += sign * x * x * params.theta[square, k]


@inner
def _mass(table: CellTable, params: CellTables, scratch: Scratch, column: int, state: int, k: int) -> float:
    """The likelihood of the subtree of a missing cell given its parent's state, scaled like `below`."""
    cell, first = _cell(table, column, state), scratch.start[column, 0]
    row = table.row[cell, 0] - 1
    total = params.first[cell, k] * scratch.below[first, k]
    for s in range(1, table.states[column]):
        total += params.share[row + s, k] * scratch.below[first + s, k]
    return max(total, TINY)


@inner
def _add_log_sum(
    table: CellTable, params: CellTables, scratch: Scratch, column: int, state: int, out: Floats, line: int
) -> None:
    """Add the log-likelihood of the subtree of a missing cell, given a state of its parent, to `out`."""
    for k in range(out.shape[1]):
        mass = _mass(table, params, scratch, column, state, k)
        out[line, k] += scratch.top[column, k] + log(mass)


@inner
def _fill_below(value: Floats, table: CellTable, params: CellTables, scratch: Scratch, column: int) -> None:
    """Fill in the likelihoods of the subtree of a missing cell for each of its states."""
    first, trees = scratch.start[column, 0], scratch.below.shape[1]
    scratch.below[first : first + table.states[column]] = 0.0
    for e in range(table.child_start[column], table.child_start[column + 1]):
        child = table.child[e]
        if not scratch.alive[child]:
            continue
        for s in range(table.states[column]):
            if isnan(value[child]):
                line = scratch.start[child, 1] + s
                for k in range(trees):
                    scratch.below[first + s, k] += scratch.message[line, k]
            else:
                _add_logs(table, params, child, s, value[child], 1.0, scratch.below, first + s)
    for k in range(trees):
        top = scratch.below[first, k]
        for s in range(1, table.states[column]):
            top = max(top, scratch.below[first + s, k])
        scratch.top[column, k] = top
        for s in range(table.states[column]):
            scratch.below[first + s, k] = exp(scratch.below[first + s, k] - top)


@inner
def _send_messages(value: Floats, table: CellTable, params: CellTables, scratch: Scratch) -> None:
    """Fill in the messages of missing cells, children before parents."""
    scratch.alive[:] = False
    for i in range(table.order.size - 1, -1, -1):
        column = table.order[i]
        parent = table.parent[column]
        if not isnan(value[column]):
            scratch.alive[column] = True
        elif scratch.alive[column]:
            _fill_below(value, table, params, scratch, column)
            if parent >= 0 and isnan(value[parent]):
                for s in range(table.states[parent]):
                    line = scratch.start[column, 1] + s
                    scratch.message[line] = 0.0
                    _add_log_sum(table, params, scratch, column, s, scratch.message, line)
        if parent >= 0 and scratch.alive[column]:
            scratch.alive[parent] = True


@kernel
def add_missing_logs(
    values: Floats, table: CellTable, params: CellTables, scratch: Scratch, out: Floats
) -> None:
    """Correct the log-likelihoods (rows, trees) of the matrix product for missing cells."""
    for r in range(values.shape[0]):
        value = values[r]
        _send_messages(value, table, params, scratch)
        for column in range(value.size):
            if not isnan(value[column]):
                continue
            parent = table.parent[column]
            is_top = parent < 0 or not isnan(value[parent])
            state = int(value[parent]) if parent >= 0 and is_top else 0
            cell = _cell(table, column, state)
            for k in range(out.shape[1]):
                out[r, k] += params.log_partition[cell, k]
            if not scratch.alive[column]:
                continue
            if is_top:
                _add_log_sum(table, params, scratch, column, state, out, r)
            for e in range(table.child_start[column], table.child_start[column + 1]):
                child = table.child[e]
                if not isnan(value[child]):
                    _add_logs(table, params, child, 0, value[child], -1.0, out, r)


@inner
def _find_posterior(
    value: Floats, weight: Floats, table: CellTable, params: CellTables, scratch: Scratch, column: int,
    sums: Floats, cells: Floats,
) -> None:  # fmt: skip
    """Replace `below` of a missing cell by the posterior of its states, times the weights of trees."""
    parent = table.parent[column]
    is_top = parent < 0 or not isnan(value[parent])
    first, states = scratch.start[column, 0], table.states[column]
    seen = int(value[parent]) if parent >= 0 and is_top else 0
    cell = _cell(table, column, seen)
    scratch.joint[:states] = 0.0
    for k in range(weight.size):
        cells[cell, k] -= weight[k]
    for state in range(seen, seen + 1) if is_top else range(table.states[parent]):
        cell = _cell(table, column, state)
        row = table.row[cell, 0] - 1
        for k in range(weight.size):
            above = weight[k] if is_top else scratch.below[scratch.start[parent, 0] + state, k]
            scale = above / _mass(table, params, scratch, column, state, k)
            cells[cell, k] += above
            scratch.joint[0, k] += scale * params.first[cell, k] * scratch.below[first, k]
            for s in range(1, states):
                share = scale * params.share[row + s, k] * scratch.below[first + s, k]
                scratch.joint[s, k] += share
                sums[row + s, k] += share
    for s in range(states):
        for k in range(weight.size):
            scratch.below[first + s, k] = scratch.joint[s, k]


@inner
def _add_sums(  # noqa: PLR0913, PLR0917 - its arguments are arrays and places in them
    table: CellTable, column: int, state: int, x: float, weights: Floats, line: int, sign: float,
    sums: Floats, cells: Floats,
) -> None:  # fmt: skip
    """Add the statistics of an observed cell given a state of its parent, weighted by a row of `weights`."""
    cell = _cell(table, column, state)
    row, square = table.row[cell, 0], table.row[cell, 1]
    for k in range(sums.shape[1]):
        cells[cell, k] += sign * weights[line, k]
    if table.kind[column] == CATEGORICAL:
        if x > 0:
            for k in range(sums.shape[1]):
                sums[row + int(x) - 1, k] += sign * weights[line, k]
        return
    for k in range(sums.shape[1]):
        sums[row, k] += sign * x * weights[line, k]
    if table.kind[column] == REAL:
        for k in range(sums.shape[1]):
            sums[square, k] += sign * x * x * weights[line, k]


@kernel
def add_missing_sums(
    values: Floats, weights: Floats, table: CellTable, params: CellTables, scratch: Scratch,
    sums: Floats, cells: Floats,
) -> None:  # fmt: skip
    """Add the expected statistics (statistics, trees) and weights (cells, trees) of missing cells.

    `weights` (rows, trees) are those of rows in trees. The terms of the default values are subtracted.
    """
    for r in range(values.shape[0]):
        value = values[r]
        _send_messages(value, table, params, scratch)
        for i in range(table.order.size):
            column = table.order[i]
            if not isnan(value[column]):
                continue
            if not scratch.alive[column]:
                parent = table.parent[column]
                seen = parent >= 0 and not isnan(value[parent])
                cell = _cell(table, column, int(value[parent]) if seen else 0)
                for k in range(weights.shape[1]):
                    cells[cell, k] -= weights[r, k]
                continue
            _find_posterior(value, weights[r], table, params, scratch, column, sums, cells)
            first = scratch.start[column, 0]
            for e in range(table.child_start[column], table.child_start[column + 1]):
                child = table.child[e]
                if isnan(value[child]):
                    continue
                _add_sums(table, child, 0, value[child], weights, r, -1.0, sums, cells)
                for s in range(table.states[column]):
                    _add_sums(table, child, s, value[child], scratch.below, first + s, 1.0, sums, cells)
