"""The downward sweep over one tile: how much of each row flows through every operation.

The flow of an operation is the probability, given the row, that an induced tree drawn from the circuit uses
it: one at the root, passed on whole by a product, divided by a sum as its terms are. It is the derivative of
the root times the operation's value over the root's, and lies between zero and one, so it needs no exponent;
where a product has a zero child it is zero, exactly. What a sum hands to those below is its `share`: its flow
over its value.

What arrives at the leaves is collected as statistics of their columns: the probability of each state of a
categorical column, the mean and variance of a numeric one. These two are updated leaf by leaf as those of a
mixture: unlike sums of values and of their squares, they keep all digits far from zero.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, Ints
from tractable.circuit.graph import SUM
from tractable.compiled import njit
from tractable.engine.backward import Backward
from tractable.engine.flows import Flows, any_exponent, new_flows, pull_scaled, take_from_products
from tractable.engine.program import DENSE, LOOKUP, Program
from tractable.engine.rows import CONTRACT, add_slots, add_terms, power
from tractable.engine.tallies import add_flows, divide_slot
from tractable.engine.up import Inputs, Tile, sweep_up


class Shares(NamedTuple):
    """The statistics of a column for a unit of flow at each of its leaves."""

    first: Ints  # (columns + 1,) a column's first statistic
    number: Bools  # (columns,) whether the column is numeric: its statistics are mean and variance
    leaf: Floats  # (leaf edges, 2) of each state; for a sum's edge to be multiplied by flow / value
    lookup: Floats  # (entries,) of each state of a leaf, where its table stands in `Inputs.lookup`
    dense: Floats  # (dense leaves, 2) mean and variance


class Collected(NamedTuple):
    """The statistics of a tile, collected so far."""

    wanted: Bools  # (columns,) whether the column is missing in any row
    part: Floats  # (statistics + 1, rows) a column of one state writes zeros past itself
    flow: Floats  # (columns, rows) the flow into the leaves of numeric columns so far


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def sweep_posteriors(
    program: Program, back: Backward, inputs: Inputs, shares: Shares, tile: Tile, rows: Floats, out: Floats
) -> None:
    """The statistics of every column for every row of the batch. `out` is (rows, statistics)."""
    width, ops, stretches = tile.value.shape[1], program.kind.size, back.cuts.size - 1
    flows = new_flows(back, width)
    collected = Collected(
        _missing_somewhere(rows), np.zeros((out.shape[1] + 1, width)), np.zeros((rows.shape[1], width))
    )
    root = np.zeros(width)
    for base in range(0, len(rows), width):
        sweep_up(program, back.up, inputs, base, tile, False, 0, ops)
        for r in range(width):
            root[r] = 1.0 if tile.value[back.up.slot[ops - 1], r] > 0.0 else 0.0
        flows.value[back.slot[ops - 1]] = root
        collected.part[:] = 0.0
        collected.flow[:] = 0.0
        for k in range(stretches - 1, -1, -1):
            if stretches > 1:
                sweep_up(program, back.again, inputs, base, tile, False, back.cuts[k], back.cuts[k + 1])
            _sweep_down(program, back, inputs, shares, tile, flows, collected, k)
        _write(collected.part, root, shares, rows[base : base + width], out[base : base + width])


@njit(cache=True, nogil=True)
def _missing_somewhere(rows: Floats) -> Bools:
    """Which columns are missing in some row; the flows into the others need not be collected."""
    missing = np.zeros(rows.shape[1], dtype=np.bool_)
    for r in range(len(rows)):
        for c in range(missing.size):
            missing[c] |= np.isnan(rows[r, c])
    return missing


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _sweep_down(  # noqa: C901
    program: Program,
    back: Backward,
    inputs: Inputs,
    shares: Shares,
    tile: Tile,
    flows: Flows,
    collected: Collected,
    k: int,
) -> None:
    """Fill the flows of the operations of one stretch, the last one first. The root has its flow already."""
    kind, slot, start, reader, weight = program.kind, back.slot, back.start, back.reader_slot, back.weight
    product_start, product, careful, leaf_start = (
        back.product_start,
        back.product_slot,
        back.careful,
        program.leaf_start,
    )
    value, flow, place, scaled = tile.value, flows.value, back.again.slot, flows.scaled
    leaf_column, leaf_share, first_statistic = inputs.leaf_column, shares.leaf, shares.first
    wanted, part = collected.wanted, collected.part
    width, no_tally = value.shape[1], np.empty(0)
    for op in range(back.cuts[k + 1] - 1, back.cuts[k] - 1, -1):
        o, v, first, last = slot[op], place[op], start[op], start[op + 1]
        product_first, product_last = product_start[op], product_start[op + 1]
        is_sum, is_share = kind[op] == SUM, False  # whether a sum's flow is there over its value already
        if first == last:
            is_share = take_from_products(flow, o, value, v, is_sum, product, product_first, product_last)
        elif careful[op] and any_exponent(back, op, tile, flows):
            pull_scaled(back, op, tile, flows, no_tally)
        elif is_sum and product_first == product_last:
            is_share = True
            add_slots(flow, o, reader, weight, first, last)
        else:
            add_terms(flow, o, reader, weight, first, last, value, v)
            add_flows(flow, o, product, product_first, product_last)
        scaled[o] = False
        if is_sum:
            if not is_share:
                divide_slot(flow, o, value, v)
            if tile.scaled[v]:
                _hand_on_exponent(program, op, back, inputs, shares, tile, flows, part)
                continue
        elif kind[op] == LOOKUP or kind[op] == DENSE:
            _collect(op, o, program, inputs, shares, flow, collected)
        for e in range(leaf_start[op], leaf_start[op + 1]):
            if wanted[leaf_column[e]]:
                f = first_statistic[leaf_column[e]]
                zero, one = leaf_share[e, 0], leaf_share[e, 1]
                for r in range(width):
                    part[f, r] += flow[o, r] * zero
                    part[f + 1, r] += flow[o, r] * one


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _hand_on_exponent(
    program: Program,
    op: int,
    back: Backward,
    inputs: Inputs,
    shares: Shares,
    tile: Tile,
    flows: Flows,
    part: Floats,
) -> None:
    """Hand the exponents of a sum down, and add its share to the statistics of its binary leaves."""
    o, v = back.slot[op], back.again.slot[op]
    flows.scaled[o] = True
    flows.exponent[o] = tile.exponent[v]
    for e in range(program.leaf_start[op], program.leaf_start[op + 1]):
        f = shares.first[inputs.leaf_column[e]]
        for r in range(part.shape[1]):
            share = flows.value[o, r] * power(-tile.exponent[v, r])
            part[f, r] += share * shares.leaf[e, 0]
            part[f + 1, r] += share * shares.leaf[e, 1]


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _collect(
    op: int, o: int, program: Program, inputs: Inputs, shares: Shares, flow: Floats, collected: Collected
) -> None:
    """Add the flow of an operation that reads a leaf to the statistics of its column."""
    column, offset = inputs.source_column[op], inputs.source_offset[op]
    if not collected.wanted[column]:
        return
    part, first = collected.part, shares.first[column]
    if program.kind[op] == DENSE:
        _mix_in(shares.dense[offset], flow[o], collected.flow[column], part[first : first + 2])
        return
    for s in range(shares.first[column + 1] - first):
        x = shares.lookup[offset + s]
        for r in range(part.shape[1]):
            part[first + s, r] += flow[o, r] * x


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _mix_in(leaf: Floats, flow: Floats, before: Floats, mixture: Floats) -> None:
    """Add a leaf to the mean and the variance of a mixture of total flow `before`."""
    for r in range(flow.size):
        if flow[r] > 0.0:
            total = before[r] + flow[r]
            old, new = before[r] / total, flow[r] / total
            apart = leaf[0] - mixture[0, r]
            mixture[0, r] += new * apart
            mixture[1, r] = old * mixture[1, r] + new * (leaf[1] + old * apart * apart)
            before[r] = total


@njit(cache=True, nogil=True)
def _write(part: Floats, root: Floats, shares: Shares, rows: Floats, out: Floats) -> None:
    """Write the statistics of a tile, a row a line, with those of cells that are not missing."""
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
                    out[r, s] = x if s == first else 0.0
                else:
                    out[r, s] = 1.0 if x == s - first else 0.0
