"""Counts along the most probable induced tree of each row: a sum hands its flow to its largest term."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.compiled import kernel
from tractable.circuit.graph import SUM
from tractable.engine.counts import Tally
from tractable.engine.program import DENSE, LOOKUP, PLAIN, Program, own_places
from tractable.engine.trace import NOWHERE, choose_edge, choose_scaled
from tractable.engine.up import Inputs, Span, Tile, sweep_up


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
