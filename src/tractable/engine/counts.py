"""The downward sweep that parameter learning needs: how many rows flow through every edge and into every
state.

See down.py for what a flow is. Here the flow of the root is the row's weight, and what matters is not each
row's flow but its sum over the rows: the number of rows expected to use a sum's edge, a leaf's state, a leaf
over numbers.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tractable.arrays import Floats, Ints
from tractable.engine.backward import Backward, Flows
from tractable.engine.blocks import pull
from tractable.engine.down import any_exponent, new_flows, pull_scaled
from tractable.engine.program import DENSE, LOOKUP, SUM, WIDE, Codes, Places, Program
from tractable.engine.rows import CONTRACT, add_slots, chosen, power, total_slots
from tractable.engine.up import Inputs, Tile, sweep_up

SUMMED = {"contract", "reassoc", "nsz"}  # sums over rows may be taken in the order that fills vector lanes


class Tally(NamedTuple):
    """Expected numbers of rows, added up over tiles."""

    edge: Floats  # (edges from sums,) in the order of `Backward`
    leaf_edge: Floats  # (leaf edges, 3) at state 0, at state 1, and where the cell is missing
    entry: Floats  # (entries,) of each LOOKUP leaf's states, and where its cell is missing
    dense: Floats  # (dense leaves, rows of the batch) the flows themselves
    root: Floats  # (rows of the batch,)
    root_exponent: Floats  # (rows of the batch,)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def sweep_counts(
    program: Program, back: Backward, inputs: Inputs, tile: Tile, weights: Floats, tally: Tally
) -> None:
    """Add a batch's expected numbers to the tally. Rows that only fill the last tile have weight zero."""
    width, ops, stretches = tile.value.shape[1], program.kind.size, back.cuts.size - 1
    top = back.up.slot[ops - 1]
    flows = new_flows(back, width)
    state = np.empty(tile.code.shape)  # as doubles, which fill the same vector lanes as flows
    for base in range(0, weights.size, width):
        sweep_up(program, back.up, inputs, base, tile, False, 0, ops)
        state[:] = tile.code
        for r in range(width):
            tally.root[base + r] = tile.value[top, r]
            tally.root_exponent[base + r] = tile.exponent[top, r] if tile.scaled[top] else 0.0
            flows.value[back.slot[ops - 1], r] = weights[base + r] if tile.value[top, r] > 0.0 else 0.0
        for k in range(stretches - 1, -1, -1):
            if stretches > 1:
                sweep_up(program, back.again, inputs, base, tile, False, back.cuts[k], back.cuts[k + 1])
            _sweep_down(program, back, inputs, tile, state, flows, tally, base, k)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _sweep_down(  # noqa: C901, PLR0912, PLR0913, PLR0917
    program: Program,
    back: Backward,
    inputs: Inputs,
    tile: Tile,
    state: Floats,
    flows: Flows,
    tally: Tally,
    base: int,
    k: int,
) -> None:
    """The flows of the operations of one stretch, the last one first. That of the root is there already."""
    kind, slot, start, reader_slot, weight = (
        program.kind,
        back.slot,
        back.start,
        back.reader_slot,
        back.weight,
    )
    product_start, product_slot, careful, value = (
        back.product_start,
        back.product_slot,
        back.careful,
        tile.value,
    )
    leaf_start, leaf_column, code, place, flow, table = (
        program.leaf_start, inputs.leaf_column, tile.code, back.again.slot, flows.value, inputs.leaf_table,
    )  # fmt: skip
    edge_tally, leaf_tally, matrix = tally.edge, tally.leaf_edge, back.matrix
    scaled, handed_scaled = tile.scaled, flows.scaled
    width = value.shape[1]
    pulled = program.kind.size  # from here on flows are there already, as part of a matrix
    for op in range(back.cuts[k + 1] - 1, back.cuts[k] - 1, -1):
        if matrix[op] > 0:
            pulled = _pull_matrix(program, back, op, tile, flows, edge_tally)
        o, v, first, last = slot[op], place[op], start[op], start[op + 1]
        product_first, product_last = product_start[op], product_start[op + 1]
        is_share = False
        if first == last:
            if product_first < product_last:
                total_slots(flow, o, product_slot, product_first, product_last)
        elif op < pulled and careful[op] and any_exponent(back, op, tile, flows):
            pull_scaled(back, op, tile, flows, edge_tally)
        else:
            if op < pulled:
                _pull(flow, o, value, v, reader_slot, weight, first, last, edge_tally)
            is_share = kind[op] == SUM and product_first == product_last
            if not is_share:
                for r in range(width):
                    flow[o, r] *= value[v, r]
                for e in range(product_first, product_last):
                    s = product_slot[e]
                    for r in range(width):
                        flow[o, r] += flow[s, r]
        if kind[op] == SUM:
            if not is_share:
                for r in range(width):
                    flow[o, r] = flow[o, r] / value[v, r] if value[v, r] > 0.0 else 0.0
            handed_scaled[o] = scaled[v]
            if scaled[v]:
                flows.exponent[o] = tile.exponent[v]
        if leaf_start[op] < leaf_start[op + 1]:
            if kind[op] == SUM and scaled[v]:
                _tally_terms(program, op, o, inputs, tile, flows, leaf_tally)
            elif kind[op] == SUM:  # its share is handed on in proportion to the leaf's terms
                for e in range(leaf_start[op], leaf_start[op + 1]):
                    zero, one, missing = _shown(flow, o, state, leaf_column[e])
                    leaf_tally[e, 0] += zero * table[e, 0]
                    leaf_tally[e, 1] += one * table[e, 1]
                    leaf_tally[e, 2] += missing * table[e, 2]
            else:
                _tally_states(flow, o, state, leaf_column, leaf_start[op], leaf_start[op + 1], leaf_tally)
        elif kind[op] == LOOKUP:
            _tally_entries(op, o, inputs, code, flow, tally.entry)
        elif kind[op] == DENSE:
            line = inputs.source_offset[op]
            for r in range(width):
                tally.dense[line, base + r] = flow[o, r]


@njit(cache=True, nogil=True)
def _pull_matrix(program: Program, back: Backward, end: int, tile: Tile, flows: Flows, tally: Floats) -> int:
    """Pull the flows of a matrix's operands, of which `end` is the last, all at once; answers with the first.

    Where an exponent is in the way it answers with one past `end`: they are to be pulled one by one.
    """
    head = back.matrix[end] - 1
    sums, operands = program.matrix[head], program.start[head + 1] - program.start[head]
    below = end + 1 - operands
    for op in range(below, end + 1):
        if tile.scaled[op]:
            return end + 1
    for op in range(head, head + sums):
        if tile.scaled[op] or program.care[op] == WIDE:
            return end + 1
    places = (below, head)
    pull(flows.value, tile.value, back.weight, back.start[below], (operands, sums), places, tally)
    return below


@njit(cache=True, nogil=True, fastmath=SUMMED, forceinline=True)
def _pull(  # noqa: PLR0913, PLR0917
    flow: Floats,
    o: int,
    value: Floats,
    op: int,
    slot: Places,
    weight: Floats,
    first: int,
    last: int,
    tally: Floats,
) -> None:
    """Set the flow of `o`, over its value, from the sums above; add each edge's rows to the tally."""
    add_slots(flow, o, slot, weight, first, last)
    width = value.shape[1]
    e = first
    while e + 3 < last:
        a, b, c, d = slot[e], slot[e + 1], slot[e + 2], slot[e + 3]
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for r in range(width):
            x = value[op, r]
            one += flow[a, r] * x
            two += flow[b, r] * x
            three += flow[c, r] * x
            four += flow[d, r] * x
        tally[e] += weight[e] * one
        tally[e + 1] += weight[e + 1] * two
        tally[e + 2] += weight[e + 2] * three
        tally[e + 3] += weight[e + 3] * four
        e += 4
    while e < last:
        a = slot[e]
        one = 0.0
        for r in range(width):
            one += flow[a, r] * value[op, r]
        tally[e] += weight[e] * one
        e += 1


@njit(cache=True, nogil=True, fastmath=SUMMED, forceinline=True)
def _tally_states(
    flow: Floats, o: int, state: Floats, column: Ints, first: int, last: int, tally: Floats
) -> None:
    """Add a product's flow to the states that rows show, two leaves at a time; missing cells show none."""
    e = first
    while e + 1 < last:
        c, d = column[e], column[e + 1]
        c_zero, c_one, d_zero, d_one = 0.0, 0.0, 0.0, 0.0
        for r in range(flow.shape[1]):
            x = flow[o, r]
            c_zero += x if state[c, r] == 0.0 else 0.0
            c_one += x if state[c, r] == 1.0 else 0.0
            d_zero += x if state[d, r] == 0.0 else 0.0
            d_one += x if state[d, r] == 1.0 else 0.0
        tally[e, 0] += c_zero
        tally[e, 1] += c_one
        tally[e + 1, 0] += d_zero
        tally[e + 1, 1] += d_one
        e += 2
    if e < last:
        zero, one, _ = _shown(flow, o, state, column[e])
        tally[e, 0] += zero
        tally[e, 1] += one


@njit(cache=True, nogil=True, fastmath=SUMMED, forceinline=True)
def _shown(flow: Floats, o: int, state: Floats, column: int) -> tuple[float, float, float]:
    """How much of a flow falls on rows that show state 0, on those that show state 1, and on the others."""
    all_rows, zero, one = 0.0, 0.0, 0.0
    for r in range(flow.shape[1]):
        x = flow[o, r]
        all_rows += x
        zero += x if state[column, r] == 0.0 else 0.0
        one += x if state[column, r] == 1.0 else 0.0
    return zero, one, max(0.0, all_rows - zero - one)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _tally_terms(
    program: Program, op: int, o: int, inputs: Inputs, tile: Tile, flows: Flows, tally: Floats
) -> None:
    """Add what a sum hands to its binary leaves, its share times their terms."""
    for e in range(program.leaf_start[op], program.leaf_start[op + 1]):
        column, table = inputs.leaf_column[e], inputs.leaf_table
        for r in range(tile.value.shape[1]):
            state = tile.code[column, r]
            x = flows.value[o, r] * chosen(state, table[e, 0], table[e, 1], table[e, 2])
            if flows.scaled[o]:
                x *= power(-flows.exponent[o, r])
            tally[e, min(state, 2)] += x


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _tally_entries(op: int, o: int, inputs: Inputs, code: Codes, flow: Floats, tally: Floats) -> None:
    column, offset = inputs.source_column[op], inputs.source_offset[op]
    for r in range(flow.shape[1]):
        tally[offset + code[column, r]] += flow[o, r]
