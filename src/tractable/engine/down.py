"""The downward sweep over one tile: how much of each row flows through every operation.

The flow of an operation is the probability, given the row, that an induced tree drawn from the circuit uses it: one at
the root, passed on whole by a product, divided by a sum as its terms are. It is the derivative of the root times the
operation's value over the root's, and lies between zero and one, so it needs no exponent; where a product has a zero
child it is zero, exactly.

What arrives at the leaves is collected as `statistics` of their columns: for a categorical column the probability of
each state, for a number its first two moments.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tractable.arrays import Floats, Ints
from tractable.engine.program import DENSE, LOOKUP, ONE, PLAIN, SUM, Places, Program
from tractable.engine.rows import CONTRACT, power
from tractable.engine.up import Inputs, Tile, sweep_up


class Shares(NamedTuple):
    """What a flow that reaches a leaf says about its column."""

    first: Ints  # (columns,) a column's first statistic
    leaf: Floats  # (leaf edges, 2) of each state; for a sum's edge to be multiplied by flow / value
    lookup: Floats  # (entries,) of each state of a leaf, where its table stands in `Inputs.lookup`
    states: Ints  # (ops,) the number of states of a LOOKUP
    dense: Floats  # (dense leaves, 2) the moments
    dense_column: Ints  # (dense leaves,)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def sweep_posteriors(
    program: Program, places: Places, inputs: Inputs, shares: Shares, tile: Tile, flow: Floats, out: Floats
) -> None:
    """The statistics of every column for every row of the batch. `out` is (statistics, rows); `tile` has all ops.

    `flow` is (slots, rows): a flow lives as long as its operation's value would, backwards, so the places are the same.
    """
    width = tile.value.shape[1]
    part = np.zeros((out.shape[0], width))
    for base in range(0, out.shape[1], width):
        sweep_up(program, places, program.operand, inputs, base, tile, False)
        part[:] = 0.0
        _sweep_down(program, inputs, shares, tile, flow, part)
        out[:, base : base + width] = part


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _sweep_down(program: Program, inputs: Inputs, shares: Shares, tile: Tile, flow: Floats, part: Floats) -> None:
    kind, start, operand, slot = program.kind, program.start, program.operand, program.slot
    operand_slot, weight, last_read = program.operand_slot, program.weight, program.last_read
    leaf_start, column, first_statistic, leaf_share = program.leaf_start, inputs.leaf_column, shares.first, shares.leaf
    value, scaled, care = tile.value, tile.scaled, program.care
    share = np.empty(value.shape[1])
    top = kind.size - 1
    for r in range(share.size):
        flow[slot[top], r] = 1.0 if value[top, r] > 0.0 else 0.0
    for op in range(top, -1, -1):
        o, first, last = slot[op], start[op], start[op + 1]
        if kind[op] == SUM:
            for r in range(share.size):
                share[r] = flow[o, r] / value[op, r] if value[op, r] > 0.0 else 0.0
            if care[op] != PLAIN and _any_exponent(program, op, scaled):
                _divide_scaled(program, op, tile, share, flow)
                for r in range(share.size):
                    share[r] *= power(-tile.exponent[op, r]) if scaled[op] else 1.0
            else:
                _divide(value, flow, share, operand, operand_slot, weight, last_read, first, last)
        elif kind[op] != LOOKUP and kind[op] != DENSE and kind[op] != ONE:
            for r in range(share.size):
                share[r] = flow[o, r]
            _pass_on(flow, share, operand_slot, last_read, first, last)
        else:
            _collect(op, program, inputs, shares, flow, part)
        for e in range(leaf_start[op], leaf_start[op + 1]):
            f = first_statistic[column[e]]
            zero, one = leaf_share[e, 0], leaf_share[e, 1]
            for r in range(share.size):
                part[f, r] += share[r] * zero
                part[f + 1, r] += share[r] * one


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def _divide(
    value: Floats, flow: Floats, share: Floats, operand: Places, slot: Places, weight: Floats, last_read: np.ndarray, first: int, last: int  # type: ignore[type-arg]
) -> None:
    """Add a sum's flow to its operands, as its terms are to its value."""
    for e in range(first, last):
        a, w, s = operand[e], weight[e], slot[e]
        if last_read[e]:  # going backwards, the last reader comes first
            for r in range(share.size):
                flow[s, r] = share[r] * w * value[a, r]
        else:
            for r in range(share.size):
                flow[s, r] += share[r] * w * value[a, r]


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def _pass_on(flow: Floats, share: Floats, slot: Places, last_read: np.ndarray, first: int, last: int) -> None:  # type: ignore[type-arg]
    """Add a product's flow to its operands."""
    for e in range(first, last):
        s = slot[e]
        if last_read[e]:
            for r in range(share.size):
                flow[s, r] = share[r]
        else:
            for r in range(share.size):
                flow[s, r] += share[r]


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _any_exponent(program: Program, op: int, scaled: np.ndarray) -> bool:  # type: ignore[type-arg]
    if scaled[op]:
        return True
    for e in range(program.start[op], program.start[op + 1]):
        if scaled[program.operand[e]] or program.weight_exponent[e] != 0.0:
            return True
    return False


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _divide_scaled(program: Program, op: int, tile: Tile, share: Floats, flow: Floats) -> None:
    """The same as `_divide` where exponents count."""
    for e in range(program.start[op], program.start[op + 1]):
        a, w, k, s = program.operand[e], program.weight[e], program.weight_exponent[e], program.operand_slot[e]
        for r in range(share.size):
            steps = k + (tile.exponent[a, r] if tile.scaled[a] else 0.0)
            steps -= tile.exponent[op, r] if tile.scaled[op] else 0.0
            x = share[r] * w * tile.value[a, r] * power(steps) if tile.value[a, r] > 0.0 else 0.0
            flow[s, r] = x if program.last_read[e] else flow[s, r] + x


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _collect(op: int, program: Program, inputs: Inputs, shares: Shares, flow: Floats, part: Floats) -> None:
    """Add the flow of an operation that reads a leaf to the statistics of its column."""
    o, kind = program.slot[op], program.kind[op]
    if kind == LOOKUP:
        f, offset = shares.first[inputs.source_column[op]], inputs.source_offset[op]
        for s in range(shares.states[op]):
            for r in range(part.shape[1]):
                part[f + s, r] += flow[o, r] * shares.lookup[offset + s]
    elif kind == DENSE:
        line = inputs.source_offset[op]
        f = shares.first[shares.dense_column[line]]
        for m in range(2):
            for r in range(part.shape[1]):
                part[f + m, r] += flow[o, r] * shares.dense[line, m]
