"""The downward sweep of parameter learning: expected counts of rows at every edge and every state.

See down.py for what a flow is. Here the flow of the root is the weight of the row, and flows are summed over
the rows: the expected count of an edge of a sum, or of a state of a leaf. Of leaves over numeric columns the
flow of each row is kept.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Floats
from tractable.circuit.graph import SUM
from tractable.compiled import njit
from tractable.engine.backward import Backward
from tractable.engine.blocks import pull
from tractable.engine.flows import Flows, any_exponent, new_flows, pull_scaled, take_from_products
from tractable.engine.program import DENSE, LOOKUP, WIDE, Program
from tractable.engine.rows import CONTRACT, leaf_entry, power
from tractable.engine.tallies import (
    add_flows,
    divide_slot,
    multiply_slot,
    pull_one,
    pull_share,
    pull_two,
    share_pair,
    tally_seen_states,
    tally_shares,
    tally_states,
)
from tractable.engine.up import Inputs, Tile, sweep_up


class Tally(NamedTuple):
    """Expected counts of rows, added up over tiles."""

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
    """Add the expected counts of a batch to the tally. Rows that only fill the last tile have weight zero."""
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
    """Fill the flows of the operations of one stretch, the last one first. The root has its flow already."""
    kind, slot, start, reader_slot, weight, product_start, product, careful, value = (
        program.kind, back.slot, back.start, back.reader_slot, back.weight, back.product_start,
        back.product_slot, back.careful, tile.value,
    )  # fmt: skip
    leaf_start, leaf_column, place, flow, table, complete = (
        program.leaf_start, inputs.leaf_column, back.again.slot, flows.value, inputs.leaf_table,
        inputs.complete,
    )  # fmt: skip
    edge_tally, leaf_tally, matrix, scaled, handed_scaled, pair, operand, up_start, up_weight = (
        tally.edge, tally.leaf_edge, back.matrix, tile.scaled, flows.scaled, back.pair, back.again.operand,
        program.start, program.weight,
    )  # fmt: skip
    pulled = program.kind.size  # from here on flows are there already, as part of a matrix
    for op in range(back.cuts[k + 1] - 1, back.cuts[k] - 1, -1):
        if matrix[op] > 0:
            pulled = _pull_matrix(program, back, op, tile, flows, edge_tally)
        o, v = slot[op], place[op]
        first, last, product_first, product_last, leaf_first, leaf_last = (
            start[op], start[op + 1], product_start[op], product_start[op + 1],
            leaf_start[op], leaf_start[op + 1],
        )  # fmt: skip
        is_sum, is_share = kind[op] == SUM, False  # whether a sum's flow is there over its value already
        if pair[op]:
            is_share = True
            share_pair(flow, o, product[product_first], value, operand, up_weight, up_start[op])
        elif first == last:
            is_share = take_from_products(flow, o, value, v, is_sum, product, product_first, product_last)
        elif op < pulled and careful[op] and any_exponent(back, op, tile, flows):
            pull_scaled(back, op, tile, flows, edge_tally)
        else:
            is_share = is_sum and product_first == product_last
            if op < pulled and last - first == 1 and not is_share:
                pull_one(flow, o, value, v, reader_slot, weight, first, edge_tally)
            elif op < pulled and last - first == 2 and not is_share:
                pull_two(flow, o, value, v, reader_slot, weight, first, edge_tally)
            else:
                if op < pulled:
                    pull_share(flow, o, value, v, reader_slot, weight, first, last, edge_tally)
                if not is_share:
                    multiply_slot(flow, o, value, v)
            add_flows(flow, o, product, product_first, product_last)
        if is_sum:
            if not is_share:
                divide_slot(flow, o, value, v)
            handed_scaled[o] = scaled[v]
            if scaled[v]:
                flows.exponent[o] = tile.exponent[v]
        if leaf_first < leaf_last:
            if is_sum and scaled[v]:
                _tally_terms(program, op, o, inputs, tile, flows, leaf_tally)
            elif is_sum:
                tally_shares(flow, o, state, leaf_column, table, leaf_first, leaf_last, leaf_tally)
            elif complete:
                tally_seen_states(flow, o, state, leaf_column, leaf_first, leaf_last, leaf_tally)
            else:
                tally_states(flow, o, state, leaf_column, leaf_first, leaf_last, leaf_tally)
        elif kind[op] == LOOKUP or kind[op] == DENSE:
            _tally_source(program, op, o, inputs, tile, flow, tally, base)


@njit(cache=True, nogil=True)
def _pull_matrix(program: Program, back: Backward, end: int, tile: Tile, flows: Flows, tally: Floats) -> int:
    """Set the flows of all operands of a matrix, of which `end` is the last; returns the first of them.

    If an exponent is in the way, one past `end` is returned: the flows must be set one by one.
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


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _tally_terms(
    program: Program, op: int, o: int, inputs: Inputs, tile: Tile, flows: Flows, tally: Floats
) -> None:
    """Add the share of a sum times the terms of its binary leaves."""
    for e in range(program.leaf_start[op], program.leaf_start[op + 1]):
        column, table = inputs.leaf_column[e], inputs.leaf_table
        for r in range(tile.value.shape[1]):
            state = tile.code[column, r]
            x = flows.value[o, r] * leaf_entry(state, table[e, 0], table[e, 1], table[e, 2])
            if flows.scaled[o]:
                x *= power(-flows.exponent[o, r])
            tally[e, min(state, 2)] += x


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _tally_source(
    program: Program, op: int, o: int, inputs: Inputs, tile: Tile, flow: Floats, tally: Tally, base: int
) -> None:
    """Add the flow of an operation that reads a leaf to the states of its rows, or keep it for each row."""
    code, column, offset, entry = tile.code, inputs.source_column[op], inputs.source_offset[op], tally.entry
    if program.kind[op] == DENSE:
        tally.dense[offset, base : base + flow.shape[1]] = flow[o]
        return
    for r in range(flow.shape[1]):
        entry[offset + code[column, r]] += flow[o, r]
