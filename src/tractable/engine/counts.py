"""The downward sweep of parameter learning: expected counts of edges and states.

See down.py for what a flow is. Here the flow of the root is the weight of the row, and flows are summed over
the rows: the expected count of an edge of a sum, or of a state of a leaf. Of leaves over numeric columns the
flow of each row is kept.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import fused_kernel, kernel
from tractable.circuit.graph import PRODUCT, SUM
from tractable.engine.backward import Backward, sweep_stretches, sweep_tiles
from tractable.engine.blocks import pull_matrix
from tractable.engine.flows import Flows, add_products, hand_down_line, is_uneven, new_flows, pull_scaled
from tractable.engine.program import DENSE, LOOKUP, PLAIN, Program, own_places
from tractable.engine.scaling import NO_LINE, Lines
from tractable.engine.tallies import (
    count_flow,
    count_seen_states,
    count_source,
    count_states,
    count_terms,
    share_pair,
)
from tractable.engine.trace import NOWHERE, choose_edge, choose_scaled
from tractable.engine.up import Inputs, Span, Tile, sweep_up


class Tally(NamedTuple):
    """Expected counts of rows, accumulated over tiles."""

    edge: Floats  # (edges from sums,) in the order of `Backward`
    leaf_edge: Floats  # (leaf edges, 3) at state 0, at state 1, and where the cell is missing
    entry: Floats  # (entries,) of each LOOKUP leaf's states, and where its cell is missing
    dense: Floats  # (dense leaves, rows of the batch) the flows themselves
    root: Floats  # (rows of the batch,)
    root_exponent: Floats  # (rows of the batch,)


def sweep_counts(
    program: Program, back: Backward, inputs: Inputs, tile: Tile, weights: Floats, tally: Tally
) -> None:
    """Add the expected counts of a batch to the tally. Rows that only fill the last tile have weight zero."""
    width = tile.value.shape[1]
    flows = new_flows(back, width)
    lines = None if program.is_plain else tile.lines
    matrix = back.matrix if back.matrix.any() else None
    for first, root in sweep_tiles(program, back, inputs, tile):
        here = slice(first, first + width)
        tally.root[here], tally.root_exponent[here] = root
        flows.line.fill(NO_LINE)
        flows.value[back.slot[-1]] = np.where(root[0] > 0.0, weights[here], 0.0)
        state = inputs.code[first // width].astype(np.float64)
        for stretch in sweep_stretches(program, back, inputs, tile, first):
            _count(program, back, inputs, tile, state, flows, tally, lines, matrix, (first, *stretch))


@fused_kernel
def _count(  # noqa: C901, PLR0912, PLR0913, PLR0917
    program: Program,
    back: Backward,
    inputs: Inputs,
    tile: Tile,
    state: Floats,
    flows: Flows,
    tally: Tally,
    lines: Lines | None,
    matrix: Ints | None,
    stretch: tuple[int, int, int],
) -> None:
    """Fill the flows of the operations of one stretch, the last one first. The root has its flow already.

    `stretch` is (first row of the tile, first operation, operation after the last). `lines` are those
    of the tile and `matrix` is that of `back`, or None where no operation needs it.
    """
    kind, slot, start, reader, weight, weight_exponent, careful, product_start, product, place = (
        program.kind, back.slot, back.start, back.reader_slot, back.weight, back.weight_exponent,
        back.careful, back.product_start, back.product_slot, back.again.slot,
    )  # fmt: skip
    pair, operand, care, sizes, up_start, up_weight, leaf_start = (
        back.pair, back.again.operand, program.care, program.matrix, program.start, program.weight,
        program.leaf_start,
    )  # fmt: skip
    complete, code, column, table, source, offset, _, _, _, _ = inputs
    edge_tally, leaf_tally, entry, dense, _, _ = tally
    (value, line, _), (flow, flow_line) = tile, flows
    if lines is not None:
        exponent, holders, unused = lines
    pulled = kind.size  # from here on flows are there already, over their values, as part of a matrix
    for op in range(stretch[2] - 1, stretch[1] - 1, -1):
        o, v, first, last, above, above_last = (
            slot[op], place[op], start[op], start[op + 1], product_start[op], product_start[op + 1],
        )  # fmt: skip
        is_sum, is_there = kind[op] == SUM, False  # the flow of the sums above
        is_share = is_sum and first < last and above == above_last  # where it comes over its value
        if matrix is not None:
            if matrix[op] > 0:
                pulled = pull_matrix(
                    flow, value, line, care, weight, edge_tally, op, matrix[op] - 1, start, up_start, sizes
                )  # fmt: skip
            is_there = op >= pulled and first < last
            if is_there and not is_share:
                for r in range(value.shape[1]):
                    flow[o, r] *= value[v, r]
        if lines is not None:
            own = line[v]
            is_careful = careful[op] and not is_there
            if is_careful and is_uneven(exponent, own, flow_line, reader, weight_exponent, first, last):
                is_there, is_share = True, False
                pull_scaled(
                    flow, flow_line, o, value, exponent, own, v, reader, weight, weight_exponent, first, last,
                    edge_tally,
                )  # fmt: skip
        if pair[op]:
            is_share = True
            share_pair(flow, o, product[above], value, operand, up_weight, up_start[op])
            above = above_last
        elif first < last and not is_there:
            count_flow(flow, o, value, v, is_share, reader, weight, first, last, edge_tally)
        add_products(flow, o, value, v, is_sum, is_share, product, above, above_last, first == last)
        s = o
        leaf, leaf_last = leaf_start[op], leaf_start[op + 1]
        if lines is not None:
            s = hand_down_line(
                flow, flow_line, exponent, holders, unused, o, own if is_sum else NO_LINE, leaf < leaf_last
            )  # fmt: skip
        if is_sum:
            count_terms(flow, s, state, column, table, leaf, leaf_last, leaf_tally)
        elif kind[op] == PRODUCT and complete:
            count_seen_states(flow, o, state, column, leaf, leaf_last, leaf_tally)
        elif kind[op] == PRODUCT:
            count_states(flow, o, state, column, leaf, leaf_last, leaf_tally)
        elif kind[op] == LOOKUP or kind[op] == DENSE:
            is_dense = kind[op] == DENSE
            count_source(flow, o, code, source[op], offset[op], is_dense, stretch[0], entry, dense)


# ---- counts along the most probable induced tree of each row: a sum hands its flow to its largest term ----


def sweep_hard_counts(program: Program, inputs: Inputs, tile: Tile, weights: Floats, tally: Tally) -> None:
    """Add the counts of a batch to the tally, by the edges of the program. The tile holds all operations."""
    width, ops = tile.value.shape[1], program.kind.size
    flow, places = np.zeros((ops, width)), own_places(program)
    for first in range(0, inputs.rows, width):
        here = slice(first, first + width)
        root = sweep_up(program, places, inputs, tile, Span(first, first + width, 0, ops), True)
        tally.root[here], tally.root_exponent[here] = root
        flow[-1] = np.where(root[0] > 0.0, weights[here], 0.0)
        _hand_down(program, inputs, tile, flow, tally, first, True)


@kernel
def _hand_down(  # noqa: C901
    program: Program, inputs: Inputs, tile: Tile, flow: Floats, tally: Tally, base: int, best: bool
) -> None:
    """Hand the flows of a tile down from the root, and take them out of `flow` where they are counted."""
    kinds, care, start, operand, weight, weight_exponent, leaf_start = (
        program.kind, program.care, program.start, program.operand, program.weight, program.weight_exponent,
        program.leaf_start,
    )  # fmt: skip
    _, code, column, table, source, offset, _, _, _, _ = inputs
    (value, line, (exponent, _, _)), (edge, leaf_edge, entry, dense, _, _) = tile, tally
    t = base // flow.shape[1]
    for op in range(flow.shape[0] - 1, -1, -1):
        kind, o = kinds[op], np.uint32(op)
        for r in range(flow.shape[1]):
            amount = flow[op, r]
            if amount == 0.0:
                continue
            flow[op, r] = 0.0
            first, last = start[op], start[op + 1]
            leaf, leaf_last = leaf_start[op], leaf_start[op + 1]
            if kind == SUM and care[op] == PLAIN:
                e = choose_edge(
                    value, o, np.uint32(r), operand, weight, first, last, code, t, column, table, leaf,
                    leaf_last, 0.5, best,
                )  # fmt: skip
            elif kind == SUM:
                e = choose_scaled(
                    value, exponent, line, o, np.uint32(r), operand, weight, weight_exponent, first, last,
                    code, t, column, table, leaf, leaf_last, 0.5, best,
                )  # fmt: skip
            if kind == SUM:
                if e >= 0:
                    edge[e] += amount
                first, last = (e, e + 1) if e >= 0 else (0, 0)
                leaf, leaf_last = (-1 - e, -e) if NOWHERE < e < 0 else (0, 0)
            elif kind == LOOKUP:
                entry[offset[op] + code[t, source[op], r]] += amount
            elif kind == DENSE:
                dense[offset[op], base + r] = amount
            for e in range(first, last):
                flow[operand[e], r] += amount
            for e in range(leaf, leaf_last):
                leaf_edge[e, min(code[t, column[e], r], 2)] += amount
