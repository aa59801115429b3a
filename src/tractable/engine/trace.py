"""Top-down choices: an induced tree for each draw, at random or with the largest term of every sum.

All draws go down together: each operation, parents before children, holds a chain of the draws that have come
to it, so that its values are read for all of them while they are in the cache. The tile must hold the values
of all operations (see `sweep_up`). The random numbers of a draw depend on the seed and the number of the draw
alone, so that neither threads nor tiles change a sample.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, Ints, UInt16s, UInt32s, Words
from tractable.circuit.graph import SUM
from tractable.compiled import fused_kernel
from tractable.engine.program import DENSE, LOOKUP, PLAIN, Program
from tractable.engine.rows import merged, power
from tractable.engine.up import Inputs, Tile

NOWHERE = -(2**62)  # no edge; those to binary leaves are -1, -2, ...


class LeafWeights(NamedTuple):
    """The weights among which a missing state is chosen, forbidden ones being zero."""

    edge: Floats  # (leaf edges, 2) of the two states
    lookup: Floats  # (entries,) of each state of a leaf, where its table stands in `Inputs.lookup`
    states: Ints  # (ops,) the number of states of a LOOKUP
    binary: Ints  # (leaf edges,) the number of states, one or two


class Draws(NamedTuple):
    """The draws that are filled in."""

    lane: Ints  # (draws,) the tile's row that each draw completes
    state: Floats  # (draws, columns) the state chosen for each column that is categorical and missing
    line: Ints  # (draws, columns) the dense leaf that was chosen for a numeric column
    random: Words  # (draws,) the state of each draw's random numbers
    best: bool  # whether nothing is drawn: every choice is the best one


class Links(NamedTuple):
    """Draws on their way down. A link is a draw at an operation; those at the same one are a chain."""

    head: Ints  # (ops,) the first link of each operation's chain, -1 where it is empty
    following: Ints  # (links,) the next link of the same chain, or -1; unused links are a chain, too
    who: Ints  # (links,) the draw
    unused: Ints  # (2,) the first unused link, and how many there are


def new_links(ops: int, size: int) -> Links:
    """`size` links, none of them in use."""
    following = np.arange(1, size + 1)
    following[-1:] = -1
    return Links(np.full(ops, -1), following, np.zeros(size, dtype=np.int64), np.array([0, size]))


def more_links(links: Links) -> Links:
    """The same links and as many new ones."""
    head, following, who, (first, count) = links
    more = new_links(0, who.size)
    new = np.where(more.following < 0, first, more.following + who.size)  # before the other unused ones
    unused = np.array([who.size, who.size + count])
    return Links(head, np.concatenate([following, new]), np.concatenate([who, more.who]), unused)


@merged
def uniform(random: Words, draw: int) -> float:
    """The next number in [0, 1) of the sequence of a draw (SplitMix64)."""
    random[draw] += np.uint64(0x9E3779B97F4A7C15)
    z = random[draw]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@fused_kernel
def trace(  # noqa: C901, PLR0912
    program: Program,
    inputs: Inputs,
    leaves: LeafWeights,
    tile: Tile,
    draws: Draws,
    links: Links,
    exponent: Floats | None,
    place: tuple[int, int],
) -> int:
    """Fill the draws of a tile: from the root down, all children of a product and one of a sum.

    `place` is the number of the tile and the operation to begin at. The answer is -1, or the operation at
    which links ran out: with more of them, the next call goes on there. `exponent` is that of the tile, or
    None where no operation may need it.
    """
    # Arrays are taken out of their tuples once: to do so costs more than a choice.
    kind, care, start, operand, weight, weight_exponent, leaf_start = (
        program.kind, program.care, program.start, program.operand, program.weight, program.weight_exponent,
        program.leaf_start,
    )  # fmt: skip
    value, scaled, code, column, table, source, offset = (
        tile.value, tile.scaled, inputs.code, inputs.leaf_column, inputs.leaf_table, inputs.source_column,
        inputs.source_offset,
    )  # fmt: skip
    lane, state, line, random, best = draws.lane, draws.state, draws.line, draws.random, draws.best
    lookup, states, binary, edge = leaves.lookup, leaves.states, leaves.binary, leaves.edge
    head, following, who, unused = links
    t, free, count = place[0], unused[0], unused[1]
    for op in range(place[1], -1, -1):
        link = head[op]
        while link >= 0:
            draw, behind, first, last = who[link], following[link], start[op], start[op + 1]
            if kind[op] != SUM and last - first > count:
                head[op], unused[0], unused[1] = link, free, count
                return op
            r, leaf, leaf_last = lane[draw], leaf_start[op], leaf_start[op + 1]
            chooses = not best and (kind[op] == SUM or kind[op] == LOOKUP)
            u = uniform(random, draw) if chooses else 0.5
            if kind[op] == SUM:
                e, is_plain = NOWHERE, True
                if exponent is not None:
                    is_plain = care[op] == PLAIN
                    if not is_plain:
                        e = choose_scaled(
                            value, exponent, scaled, op, r, operand, weight, weight_exponent, first, last,
                            code, t, column, table, leaf, leaf_last, u, best,
                        )  # fmt: skip
                if is_plain:
                    e = choose_edge(
                        value, op, r, operand, weight, first, last, code, t, column, table, leaf, leaf_last,
                        u, best,
                    )  # fmt: skip
                first, last = (e, e + 1) if e >= 0 else (0, 0)
                leaf, leaf_last = (-1 - e, -e) if NOWHERE < e < 0 else (0, 0)
            elif kind[op] == LOOKUP:
                x = int(code[t, source[op], r])
                if x >= states[op]:
                    x = choose_state(lookup, offset[op], states[op], u, best)
                state[draw, source[op]] = x
            elif kind[op] == DENSE:
                line[draw, source[op]] = offset[op]
            for e in range(leaf, leaf_last):
                zero, one, x = edge[e, 0], edge[e, 1], int(code[t, column[e], r])
                u = 0.5 if best else uniform(random, draw)
                if x >= binary[e]:  # one of two by weight: for u = 0.5 the heavier
                    x = int(u * (zero + one) > zero or (zero == 0.0 and one > 0.0))
                state[draw, column[e]] = x
            following[link], free, count = free, link, count + 1 - last + first
            for e in range(first, last):
                moved, free = free, following[free]
                who[moved], following[moved] = draw, head[operand[e]]
                head[operand[e]] = moved
            link = behind
        head[op] = -1
    unused[0], unused[1] = free, count
    return -1


@merged
def choose_edge(  # noqa: PLR0913, PLR0917
    value: Floats,
    op: int,
    lane: int,
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
    answer, top, left = NOWHERE, 0.0, u * value[op, lane]
    if best:
        for e in range(first, last):
            x = weight[e] * value[operand[e], lane]
            if x > top:
                answer, top = e, x
        for e in range(leaf, leaf_last):
            x = table[e, min(code[t, column[e], lane], 2)]
            if x > top:
                answer, top = -1 - e, x
        return answer
    for e in range(first, last + leaf_last - leaf):  # leaf edges come after the others
        x = weight[e] * value[operand[e], lane] if e < last else 0.0
        if e >= last:
            f = leaf + e - last
            x = table[f, min(code[t, column[f], lane], 2)]
        if x > 0.0:
            answer = e if e < last else last - 1 - e - leaf
            left -= x
            if left < 0.0:
                break
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
    scaled: Bools,
    op: int,
    lane: int,
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
    """The same where exponents may count: terms are taken to the scale of the sum's own value."""
    own, left = exponent[op, lane] if scaled[op] else 0.0, u * value[op, lane]
    answer, top = NOWHERE, 0.0
    for i in range(last - first + leaf_last - leaf):
        if i < last - first:
            e, steps = first + i, weight_exponent[first + i] - own
            a = operand[e]
            x = weight[e] * value[a, lane]
            if scaled[a]:
                steps += exponent[a, lane]
        else:
            f = leaf + i - (last - first)
            e, x, steps = -1 - f, table[f, min(code[t, column[f], lane], 2)], -own
        if x > 0.0:
            x *= power(steps)
        if x > top:
            answer, top = e, x if best else 0.0
            left -= x
            if left < 0.0 and not best:
                break
    return answer
