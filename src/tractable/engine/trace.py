"""Top-down choices: an induced tree for each draw, at random or with the largest term of every sum.

All draws of a tile go down together: each operation, parents before children, has the set of the draws that
have come to it, so that its values are read for all of them while they are in the cache. The tile must hold
the values of the operations of a stretch (see `backward.sweep_stretches`). The random numbers of a draw
depend on the seed and the number of the draw alone, so that neither threads nor tiles change a sample.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints, UInt16s, UInt32s, Words
from tractable.base.compiled import fused_kernel
from tractable.circuit.graph import SUM
from tractable.engine.program import DENSE, LOOKUP, PLAIN, Program, ValuePlaces
from tractable.engine.rows import inlined, merged, power
from tractable.engine.scaling import LARGE, SMALL, STEP_DOWN, STEP_UP, Lines
from tractable.engine.up import Inputs, Tile

NOWHERE = -(2**62)  # no edge; those to binary leaves are -1, -2, ...
FEW_TERMS = 8  # of a sum, which are all looked at
SET, SHIFT = 64, np.uint32(6)  # draws in a word of a set of draws, and its logarithm
NONE, ONE, IN_SET = (np.uint64(x) for x in (0, 1, SET - 1))
_PLACE_FACTOR = 0x03F79D71B4CB0A89  # its 64 shifts all begin with another six bits
_PLACES = np.zeros(64, np.uint32)
_PLACES[[(_PLACE_FACTOR << i) % 2**64 >> 58 for i in range(64)]] = np.arange(64)


class LeafWeights(NamedTuple):
    """The weights among which a missing state is chosen, forbidden ones being zero."""

    edge: Floats  # (leaf edges, 2) of the two states
    lookup: Floats  # (entries,) of each state of a leaf, where its table stands in `Inputs.lookup`
    states: Ints  # (ops,) the number of states of a LOOKUP
    binary: Ints  # (leaf edges,) the number of states, one or two


class Draws(NamedTuple):
    """The draws that are filled in."""

    lane: UInt32s  # (draws of a tile,) the tile's row that each draw completes
    state: Floats  # (tiles, columns, draws of a tile) the state chosen for a categorical column
    dense: Ints  # (tiles, columns, draws of a tile) the dense leaf that was chosen for a numeric column
    random: Words  # (draws,) the state of each draw's random numbers
    best: bool  # whether nothing is drawn: every choice is the best one


@merged
def uniform(random: Words, draw: int) -> float:
    """The next number in [0, 1) of the sequence of a draw (SplitMix64)."""
    random[draw] += np.uint64(0x9E3779B97F4A7C15)
    z = random[draw]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@inlined
def list_draws(waiting: Words, op: int, who: UInt32s) -> int:
    """List the draws that have come to an operation; how many there are."""
    count = 0
    for w in range(waiting.shape[1]):
        bits = waiting[op, w]
        while bits != np.uint64(0):
            lowest = bits & (~bits + np.uint64(1))
            who[count] = w * SET + _PLACES[(lowest * np.uint64(_PLACE_FACTOR)) >> np.uint64(58)]
            bits ^= lowest
            count += 1
    return count


@merged
def send_draws(waiting: Words, op: int, operand: UInt32s, first: int, last: int) -> None:
    """Send the draws of an operation on to all operands of some edges."""
    for w in range(waiting.shape[1]):
        for e in range(first, last):
            waiting[operand[e], w] |= waiting[op, w]
        waiting[op, w] = NONE


@fused_kernel
def trace(  # noqa: C901, PLR0912, PLR0913, PLR0917
    program: Program,
    places: ValuePlaces,
    inputs: Inputs,
    leaves: LeafWeights,
    tile: Tile,
    draws: Draws,
    waiting: Words,
    who: UInt32s,
    lines: Lines | None,
    place: tuple[int, int, int, int],
) -> None:
    """Fill the draws of a tile: from the root down, all children of a product and one of a sum.

    `place` is the number of the tile, that of the draws' tile, and the stretch of operations. `waiting`, of
    shape (ops, words), are the sets of draws that have come to an operation. `lines` are those of the tile,
    or None where no operation may need exponents. `who` is room for the numbers of the draws of a tile.
    """
    # Arrays are taken out of their tuples once: to do so costs more than a choice.
    kind, care, start, operand, weight, weight_exponent, leaf_start = (
        program.kind, program.care, program.start, program.operand, program.weight, program.weight_exponent,
        program.leaf_start,
    )  # fmt: skip
    value, line, code, column, table, source, offset = (
        tile.value, tile.line, inputs.code, inputs.leaf_column, inputs.leaf_table, inputs.source_column,
        inputs.source_offset,
    )  # fmt: skip
    lane, state, chosen, random, best = draws.lane, draws.state, draws.dense, draws.random, draws.best
    lookup, states, binary, edge = leaves.lookup, leaves.states, leaves.binary, leaves.edge
    slot, below = places.slot, places.operand
    if lines is not None:
        exponent = lines.exponent
    t, d, begin, end = place
    base = d * lane.size
    for op in range(end - 1, begin - 1, -1):
        count = list_draws(waiting, op, who)
        if count == 0:
            continue
        o, first, last, leaf, leaf_last = (
            slot[op], start[op], start[op + 1], leaf_start[op], leaf_start[op + 1],
        )  # fmt: skip
        if kind[op] == SUM:
            is_even = True
            if lines is not None:
                is_even = care[op] == PLAIN or has_one_line(
                    line, line[o], below, weight_exponent, first, last, leaf < leaf_last
                )
            for i in range(count):
                draw = who[i]
                u = 0.5 if best else uniform(random, base + draw)
                if is_even:
                    e = choose_edge(
                        value, o, lane[draw], below, weight, first, last, code, t, column, table, leaf,
                        leaf_last, u, best,
                    )  # fmt: skip
                elif lines is not None:
                    e = choose_scaled(
                        value, exponent, line, o, lane[draw], below, weight, weight_exponent, first, last,
                        code, t, column, table, leaf, leaf_last, u, best,
                    )  # fmt: skip
                if e >= 0:
                    waiting[operand[e], draw >> SHIFT] |= ONE << (np.uint64(draw) & IN_SET)
                elif e > NOWHERE:
                    fill_leaf(state, d, random, base, draw, lane, code, t, column, edge, binary, -1 - e, best)
            first, leaf = last, leaf_last  # what comes next has been told already
        for i in range(count if kind[op] == LOOKUP or kind[op] == DENSE else 0):
            draw = who[i]
            if kind[op] == DENSE:
                chosen[d, source[op], draw] = offset[op]
                continue
            u = 0.5 if best else uniform(random, base + draw)
            x = int(code[t, source[op], lane[draw]])
            if x >= states[op]:
                x = choose_state(lookup, offset[op], states[op], u, best)
            state[d, source[op], draw] = x
        send_draws(waiting, op, operand, first, last)
        for e in range(leaf, leaf_last):
            for i in range(count):
                fill_leaf(state, d, random, base, who[i], lane, code, t, column, edge, binary, e, best)


@merged
def fill_leaf(  # noqa: PLR0913, PLR0917
    state: Floats,
    d: int,
    random: Words,
    base: int,
    draw: int,
    lane: UInt32s,
    code: UInt16s,
    t: int,
    column: UInt32s,
    edge: Floats,
    binary: Ints,
    e: int,
    best: bool,
) -> None:
    """Choose the state of a binary leaf, unless it is known."""
    zero, one, x = edge[e, 0], edge[e, 1], int(code[t, column[e], lane[draw]])
    u = 0.5 if best else uniform(random, base + draw)
    # One of two by weight: for u = 0.5 the heavier. No branches: the processor could not foresee them.
    choice = int((u * (zero + one) > zero) | ((zero == 0.0) & (one > 0.0)))
    state[d, column[e], draw] = choice if x >= binary[e] else x


@inlined
def has_one_line(
    line: Ints, own: int, operand: UInt32s, weight_exponent: Floats, first: int, last: int, has_leaves: bool
) -> bool:
    """Whether a sum and all its terms have the same exponents."""
    found = own < 0 or not has_leaves
    for e in range(first, last):
        found &= line[operand[e]] == own and weight_exponent[e] == 0.0
    return found


@merged
def choose_edge(  # noqa: PLR0913, PLR0917
    value: Floats,
    o: np.uint32,
    lane: np.uint32,
    operand: UInt32s,
    weight: Floats,
    first: int,
    last: int,
    code: UInt16s,
    t: int,
    column: UInt32s,
    table: Floats,
    leaf: int,
    leaf_last: int,
    u: float,
    best: bool,
) -> int:
    """The edge of a sum at whose term the part `u` of its value is used up, or that of the best term."""
    # Few branches depend on values: the processor could not foresee them.
    answer, top, left = NOWHERE, 0.0, u * value[o, lane]
    if best:
        for e in range(first, last):
            x = weight[e] * value[operand[e], lane]
            answer, top = (e, x) if x > top else (answer, top)
        for e in range(leaf, leaf_last):
            x = table[e, min(code[t, column[e], lane], 2)]
            answer, top = (-1 - e, x) if x > top else (answer, top)
        return answer
    for e in range(first, last):
        x = weight[e] * value[operand[e], lane]
        answer = e if (x > 0.0) & (left >= 0.0) else answer
        left -= x
        if e - first >= FEW_TERMS and left < 0.0:
            break
    for e in range(leaf, leaf_last):
        x = table[e, min(code[t, column[e], lane], 2)]
        answer = -1 - e if (x > 0.0) & (left >= 0.0) else answer
        left -= x
    return answer


@merged
def choose_state(weight: Floats, offset: int, states: int, u: float, best: bool) -> int:
    """One of several states by their weights, or the heaviest."""
    total, top, answer = 0.0, 0.0, 0
    for s in range(offset, offset + states):
        total += weight[s]
        if weight[s] > top:
            top, answer = weight[s], s - offset
    if not best:
        left = u * total
        for s in range(offset, offset + states):
            if weight[s] > 0.0:
                answer = s - offset
                left -= weight[s]
                if left < 0.0:
                    break
    return answer


@fused_kernel
def choose_scaled(  # noqa: PLR0913, PLR0917
    value: Floats,
    exponent: Floats,
    line: Ints,
    o: np.uint32,
    lane: np.uint32,
    operand: UInt32s,
    weight: Floats,
    weight_exponent: Floats,
    first: int,
    last: int,
    code: UInt16s,
    t: int,
    column: UInt32s,
    table: Floats,
    leaf: int,
    leaf_last: int,
    u: float,
    best: bool,
) -> int:
    """Choose a term of a sum if exponents may matter, on the scale of the sum's value."""
    own = exponent[line[o], lane] if line[o] >= 0 else 0.0
    answer, top, left = NOWHERE, 0.0, u * value[o, lane]
    for i in range(last - first + leaf_last - leaf):
        if i < last - first:
            e, steps = first + i, weight_exponent[first + i] - own
            a = operand[e]
            x = weight[e] * value[a, lane]
            if line[a] >= 0:
                steps += exponent[line[a], lane]
        else:
            f = leaf + i - (last - first)
            e, x, steps = -1 - f, table[f, min(code[t, column[f], lane], 2)], -own
        while x > LARGE:
            x, steps = x * STEP_DOWN, steps + 1.0
        while 0.0 < x < SMALL:
            x, steps = x * STEP_UP, steps - 1.0
        if x > 0.0:
            x *= power(steps)
        if x > top:
            answer, top = e, x if best else 0.0
            left -= x
            if left < 0.0 and not best:
                break
    return answer
