"""Counts along the most probable induced tree of each row: a sum hands its flow to its largest term."""

import numpy as np

from tractable.arrays import Floats
from tractable.circuit.graph import SUM
from tractable.compiled import njit
from tractable.engine.counts import Tally
from tractable.engine.program import DENSE, LOOKUP, Program, ValuePlaces
from tractable.engine.trace import choose
from tractable.engine.up import Inputs, Tile, sweep_up


@njit(cache=True, nogil=True)
def sweep_hard_counts(
    program: Program, layout: ValuePlaces, inputs: Inputs, tile: Tile, weights: Floats, tally: Tally
) -> None:
    """Add the counts of a batch to the tally, by the edges of the program. The tile holds all operations."""
    width, top = tile.value.shape[1], program.kind.size - 1
    flow = np.zeros((program.kind.size, width))
    for base in range(0, weights.size, width):
        sweep_up(program, layout, inputs, base, tile, True, 0, top + 1)
        for r in range(width):
            tally.root[base + r] = tile.value[top, r]
            tally.root_exponent[base + r] = tile.exponent[top, r] if tile.scaled[top] else 0.0
            flow[top, r] = weights[base + r] if tile.value[top, r] > 0.0 else 0.0
        for op in range(top, -1, -1):
            for r in range(width):
                if flow[op, r] > 0.0:
                    _hand_down(program, inputs, tile, flow, op, r, base, tally)
                    flow[op, r] = 0.0


@njit(cache=True, nogil=True)
def _hand_down(
    program: Program, inputs: Inputs, tile: Tile, flow: Floats, op: int, r: int, base: int, tally: Tally
) -> None:
    kind, amount = program.kind[op], flow[op, r]
    first, last = program.start[op], program.start[op + 1]
    leaf_first, leaf_last = program.leaf_start[op], program.leaf_start[op + 1]
    if kind == SUM:
        e = choose(program, inputs, tile, op, r, 0.5, True)
        if e >= 0:
            tally.edge[e] += amount
        first, last = (e, e + 1) if e >= 0 else (0, 0)
        leaf_first, leaf_last = (-1 - e, -e) if e < 0 else (0, 0)
    elif kind == LOOKUP:
        tally.entry[inputs.source_offset[op] + tile.code[inputs.source_column[op], r]] += amount
    elif kind == DENSE:
        tally.dense[inputs.source_offset[op], base + r] = amount
    for e in range(first, last):
        flow[program.operand[e], r] += amount
    for e in range(leaf_first, leaf_last):
        tally.leaf_edge[e, min(tile.code[inputs.leaf_column[e], r], 2)] += amount
