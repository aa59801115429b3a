"""The downward sweep over one tile: how much of each row flows through every operation.

The flow of an operation is the probability, given the row, that an induced tree drawn from the circuit uses it: one at
the root, passed on whole by a product, divided by a sum as its terms are. It is the derivative of the root times the
operation's value over the root's, and lies between zero and one, so it needs no exponent; where a product has a zero
child it is zero, exactly. What a sum hands to those below is its `share`: its flow over its value.

What arrives at the leaves is collected as statistics of their columns: for a categorical column the probability of
each state, for a number its first two moments.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tractable.arrays import Bools, Floats, Ints
from tractable.engine.backward import Backward
from tractable.engine.program import DENSE, LOOKUP, SUM, Program
from tractable.engine.rows import CONTRACT, add_slots, power, total_slots
from tractable.engine.up import Inputs, Tile, sweep_up


class Shares(NamedTuple):
    """What a flow that reaches a leaf says about its column."""

    first: Ints  # (columns + 1,) a column's first statistic
    number: Bools  # (columns,) whether the column's statistics are moments
    leaf: Floats  # (leaf edges, 2) of each state; for a sum's edge to be multiplied by flow / value
    lookup: Floats  # (entries,) of each state of a leaf, where its table stands in `Inputs.lookup`
    dense: Floats  # (dense leaves, 2) the moments
    dense_column: Ints  # (dense leaves,)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def sweep_posteriors(
    program: Program, back: Backward, inputs: Inputs, shares: Shares, tile: Tile, rows: Floats, out: Floats
) -> None:
    """The statistics of every column for every row of the batch. `out` is (rows, statistics); `tile` has all ops."""
    width = tile.value.shape[1]
    flow = np.zeros((back.slots, width))
    part = np.zeros((out.shape[1] + 1, width))  # a column of one state writes zeros past it
    wanted = _missing_somewhere(rows)
    for base in range(0, len(rows), width):
        sweep_up(program, back.place, program.operand, inputs, base, tile, False)
        part[:] = 0.0
        _sweep_down(program, back, inputs, shares, tile, flow, wanted, part)
        _write(part, tile.value[-1], shares, rows[base : base + width], out[base : base + width])


@njit(cache=True, nogil=True)
def _missing_somewhere(rows: Floats) -> Bools:
    """The columns that are missing in some row: the flows into the others need not be collected."""
    missing = np.zeros(rows.shape[1], dtype=np.bool_)
    for r in range(len(rows)):
        for c in range(missing.size):
            missing[c] |= np.isnan(rows[r, c])
    return missing


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _sweep_down(
    program: Program,
    back: Backward,
    inputs: Inputs,
    shares: Shares,
    tile: Tile,
    flow: Floats,
    wanted: Bools,
    part: Floats,
) -> None:
    kind, slot, start, reader_slot, weight = program.kind, back.slot, back.start, back.reader_slot, back.weight
    product_start, product_slot, careful, value = back.product_start, back.product_slot, back.careful, tile.value
    leaf_start, leaf_column, leaf_share, first_statistic = (
        program.leaf_start, inputs.leaf_column, shares.leaf, shares.first,
    )  # fmt: skip
    width = value.shape[1]
    top = kind.size - 1
    for op in range(top, -1, -1):
        o, first, last = slot[op], start[op], start[op + 1]
        product_first, product_last = product_start[op], product_start[op + 1]
        is_share = False
        if op == top:
            for r in range(width):
                flow[o, r] = 1.0 if value[op, r] > 0.0 else 0.0
        elif first == last:
            total_slots(flow, o, product_slot, product_first, product_last)
        elif careful[op] and _any_exponent(back, op, tile):
            _pull_scaled(back, op, tile, flow)
        else:
            add_slots(flow, o, reader_slot, weight, first, last)
            is_share = kind[op] == SUM and product_first == product_last
            if not is_share:
                for r in range(width):
                    flow[o, r] *= value[op, r]
                for e in range(product_first, product_last):
                    s = product_slot[e]
                    for r in range(width):
                        flow[o, r] += flow[s, r]
        if kind[op] == SUM and not is_share:
            for r in range(width):
                flow[o, r] = flow[o, r] / value[op, r] if value[op, r] > 0.0 else 0.0
        if leaf_start[op] < leaf_start[op + 1]:
            if kind[op] == SUM and tile.scaled[op]:
                _collect_scaled(program, op, o, inputs, shares, tile, flow, part)
            else:
                for e in range(leaf_start[op], leaf_start[op + 1]):
                    if wanted[leaf_column[e]]:
                        f = first_statistic[leaf_column[e]]
                        zero, one = leaf_share[e, 0], leaf_share[e, 1]
                        for r in range(width):
                            part[f, r] += flow[o, r] * zero
                            part[f + 1, r] += flow[o, r] * one
        elif kind[op] == LOOKUP:
            _collect_states(op, o, inputs, shares, wanted, flow, part)
        elif kind[op] == DENSE:
            _collect_moments(op, o, inputs, shares, flow, part)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _any_exponent(back: Backward, op: int, tile: Tile) -> bool:
    if tile.scaled[op]:
        return True
    for e in range(back.start[op], back.start[op + 1]):
        if tile.scaled[back.reader[e]] or back.weight_exponent[e] != 0.0:
            return True
    return False


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _pull_scaled(back: Backward, op: int, tile: Tile, flow: Floats) -> None:
    """The flow of an operation, from above, where exponents count."""
    o, scaled, exponent = back.slot[op], tile.scaled, tile.exponent
    for r in range(flow.shape[1]):
        total = 0.0
        own = exponent[op, r] if scaled[op] else 0.0
        if tile.value[op, r] > 0.0:
            for e in range(back.start[op], back.start[op + 1]):
                p = back.reader[e]
                steps = back.weight_exponent[e] + own - (exponent[p, r] if scaled[p] else 0.0)
                total += flow[back.reader_slot[e], r] * back.weight[e] * tile.value[op, r] * power(steps)
        for e in range(back.product_start[op], back.product_start[op + 1]):
            total += flow[back.product_slot[e], r]
        flow[o, r] = total


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _collect_scaled(
    program: Program, op: int, o: int, inputs: Inputs, shares: Shares, tile: Tile, flow: Floats, part: Floats
) -> None:
    """Add the share of a sum that has exponents to the statistics of its binary leaves."""
    for e in range(program.leaf_start[op], program.leaf_start[op + 1]):
        f = shares.first[inputs.leaf_column[e]]
        for r in range(part.shape[1]):
            share = flow[o, r] * power(-tile.exponent[op, r])
            part[f, r] += share * shares.leaf[e, 0]
            part[f + 1, r] += share * shares.leaf[e, 1]


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _collect_states(
    op: int, o: int, inputs: Inputs, shares: Shares, wanted: Bools, flow: Floats, part: Floats
) -> None:
    """Add the flow of a table to the statistics of its column."""
    column, offset, table = inputs.source_column[op], inputs.source_offset[op], shares.lookup
    if wanted[column]:
        first = shares.first[column]
        for s in range(shares.first[column + 1] - first):
            x = table[offset + s]
            for r in range(part.shape[1]):
                part[first + s, r] += flow[o, r] * x


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _collect_moments(op: int, o: int, inputs: Inputs, shares: Shares, flow: Floats, part: Floats) -> None:
    """Add the flow of a number's leaf to the moments of its column."""
    line = inputs.source_offset[op]
    first = shares.first[shares.dense_column[line]]
    for m in range(2):
        for r in range(part.shape[1]):
            part[first + m, r] += flow[o, r] * shares.dense[line, m]


@njit(cache=True, nogil=True)
def _write(part: Floats, root: Floats, shares: Shares, rows: Floats, out: Floats) -> None:
    """A tile's statistics, a row a line, what the row itself shows put in; NaN where the row is impossible."""
    for r in range(len(rows)):
        for c in range(rows.shape[1]):
            x = rows[r, c]
            first = shares.first[c]
            for s in range(first, shares.first[c + 1]):
                if root[r] == 0.0:
                    out[r, s] = np.nan
                elif np.isnan(x):
                    out[r, s] = part[s, r]
                elif shares.number[c]:
                    out[r, s] = x if s == first else x * x
                else:
                    out[r, s] = 1.0 if x == s - first else 0.0
