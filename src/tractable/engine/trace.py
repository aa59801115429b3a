"""Top-down choices: one induced tree a draw, either at random or the best at every sum.

A tile's values must hold all operations (see `sweep_up`). The random numbers of a draw depend on the seed and the
draw's number alone, so that neither threads nor tiles change a sample.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tractable.arrays import Floats, Ints
from tractable.engine.program import DENSE, LOOKUP, SUM, Places, Program
from tractable.engine.rows import CONTRACT, chosen, power
from tractable.engine.up import Inputs, Tile, sweep_up

Words = npt.NDArray[np.uint64]


class Leaves(NamedTuple):
    """The weights among which a missing state is chosen, forbidden ones being zero."""

    edge: Floats  # (leaf edges, 2) of the two states
    lookup: Floats  # (entries,) of each state of a leaf, where its table stands in `Inputs.lookup`
    states: Ints  # (ops,) the number of states of a LOOKUP
    binary: Ints  # (leaf edges,) the number of states, one or two


class Draws(NamedTuple):
    """Where the answers go."""

    lane: Ints  # (draws,) the tile's row that each draw completes
    state: Floats  # (draws, columns) the state chosen for each column that is categorical and missing
    line: Ints  # (draws, columns) the dense leaf chosen for a number's column
    random: Words  # (draws,) the state of each draw's random numbers


@njit(cache=True, nogil=True, forceinline=True)
def uniform(random: Words, draw: int) -> float:
    """The next number in [0, 1) of a draw's own sequence (a step and a mix of 64 bits)."""
    random[draw] += np.uint64(0x9E3779B97F4A7C15)
    z = random[draw]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def trace_batch(
    program: Program, places: Places, inputs: Inputs, leaves: Leaves, tile: Tile, draws: Draws, best: bool
) -> None:
    """One draw for each row of a batch, tile after tile; with `best` along a sweep of largest terms."""
    width = tile.value.shape[1]
    for base in range(0, draws.lane.size, width):
        sweep_up(program, places, program.operand, inputs, base, tile, best)
        last = min(base + width, draws.lane.size)
        draws.lane[base:last] = np.arange(last - base)
        part = Draws(draws.lane[base:last], draws.state[base:last], draws.line[base:last], draws.random[base:last])
        trace(program, inputs, leaves, tile, part, best)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def trace(program: Program, inputs: Inputs, leaves: Leaves, tile: Tile, draws: Draws, best: bool) -> None:
    """Fill the draws: from the root down, all children of a product and one of a sum."""
    stack = np.empty(program.operand.size + 1, dtype=np.int64)
    for draw in range(draws.lane.size):
        lane = draws.lane[draw]
        if tile.value[program.kind.size - 1, lane] == 0.0:
            continue  # the row is impossible: nothing can be chosen
        stack[0] = program.kind.size - 1
        top = 0
        while top >= 0:
            op = stack[top]
            top -= 1
            kind = program.kind[op]
            if kind == SUM:
                e = _choose(program, inputs, tile, op, lane, uniform(draws.random, draw), best)
                if e < 0:
                    _settle_edge(program, inputs, leaves, tile, draws, draw, lane, -1 - e, best)
                else:
                    top += 1
                    stack[top] = program.operand[e]
            elif kind == LOOKUP:
                _settle_lookup(op, inputs, leaves, tile, draws, draw, lane, best)
            elif kind == DENSE:
                line = inputs.source_offset[op]
                draws.line[draw, inputs.source_column[op]] = line
            else:
                for e in range(program.start[op], program.start[op + 1]):
                    top += 1
                    stack[top] = program.operand[e]
                for e in range(program.leaf_start[op], program.leaf_start[op + 1]):
                    _settle_edge(program, inputs, leaves, tile, draws, draw, lane, e, best)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _term(program: Program, tile: Tile, op: int, lane: int, e: int) -> float:
    """A sum's term, to the scale of the sum's own value."""
    a = program.operand[e]
    if tile.value[a, lane] == 0.0:
        return 0.0
    steps = program.weight_exponent[e] + (tile.exponent[a, lane] if tile.scaled[a] else 0.0)
    steps -= tile.exponent[op, lane] if tile.scaled[op] else 0.0
    return program.weight[e] * tile.value[a, lane] * power(steps)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _choose(program: Program, inputs: Inputs, tile: Tile, op: int, lane: int, u: float, best: bool) -> int:
    """An edge of a sum; a leaf edge e is answered as -1 - e."""
    first, last = program.start[op], program.start[op + 1]
    leaf_first, leaf_last = program.leaf_start[op], program.leaf_start[op + 1]
    back = power(-tile.exponent[op, lane]) if tile.scaled[op] else 1.0
    left = u * tile.value[op, lane]
    answer, highest = first if first < last else -1 - leaf_first, -1.0
    for e in range(first, last):
        x = _term(program, tile, op, lane, e)
        if x > highest and (best or x > 0.0):
            answer, highest = e, x if best else 0.0
        if not best:
            left -= x
            if left < 0.0:
                return e
    for e in range(leaf_first, leaf_last):
        code = tile.code[inputs.leaf_column[e], lane]
        x = chosen(code, inputs.leaf_table[e, 0], inputs.leaf_table[e, 1], inputs.leaf_table[e, 2])
        x *= back if x > 0.0 else 1.0
        if x > highest and (best or x > 0.0):
            answer, highest = -1 - e, x if best else 0.0
        if not best:
            left -= x
            if left < 0.0:
                return -1 - e
    return answer


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _settle_edge(
    program: Program, inputs: Inputs, leaves: Leaves, tile: Tile, draws: Draws, draw: int, lane: int, e: int, best: bool
) -> None:
    """The state of a binary leaf's column."""
    column = inputs.leaf_column[e]
    code = tile.code[column, lane]
    if code < leaves.binary[e]:
        draws.state[draw, column] = code
        return
    zero, one = leaves.edge[e, 0], leaves.edge[e, 1]
    if best:
        draws.state[draw, column] = 1.0 if one > zero else 0.0
    else:
        draws.state[draw, column] = 1.0 if uniform(draws.random, draw) * (zero + one) >= zero else 0.0


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _settle_lookup(
    op: int, inputs: Inputs, leaves: Leaves, tile: Tile, draws: Draws, draw: int, lane: int, best: bool
) -> None:
    """The state of a column with several states."""
    column, offset, states = inputs.source_column[op], inputs.source_offset[op], leaves.states[op]
    code = tile.code[column, lane]
    if code < states:
        draws.state[draw, column] = code
        return
    total, highest, answer = 0.0, -1.0, 0
    for s in range(states):
        x = leaves.lookup[offset + s]
        total += x
        if x > highest:
            highest, answer = x, s
    if not best:
        left = uniform(draws.random, draw) * total
        for s in range(states):
            x = leaves.lookup[offset + s]
            left -= x
            if x > 0.0:
                answer = s
            if left < 0.0:
                break
    draws.state[draw, column] = answer
