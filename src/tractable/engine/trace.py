"""Top-down choices: an induced tree for each draw, at random or with the largest term of every sum.

All draws go down together: each operation, parents before children, holds a chain of the draws that have come
to it, so that its values are read for all of them while they are in the cache. The tile must hold the values
of all operations (see `sweep_up`). The random numbers of a draw depend on the seed and the number of the draw
alone, so that neither threads nor tiles change a sample.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Floats, Ints, UInt16s, UInt32s, Words
from tractable.circuit.graph import SUM
from tractable.compiled import njit
from tractable.engine.program import DENSE, LOOKUP, PLAIN, Program, ValuePlaces
from tractable.engine.rows import CONTRACT, leaf_entry, power
from tractable.engine.up import Inputs, Tile, sweep_up

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


@njit(cache=True, nogil=True, forceinline=True)
def uniform(random: Words, draw: int) -> float:
    """The next number in [0, 1) of the sequence of a draw (SplitMix64)."""
    random[draw] += np.uint64(0x9E3779B97F4A7C15)
    z = random[draw]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def trace_batch(
    program: Program,
    layout: ValuePlaces,
    inputs: Inputs,
    leaves: LeafWeights,
    tile: Tile,
    draws: Draws,
    best: bool,
) -> None:
    """One draw for each row of a batch, tile after tile; with `best` along a sweep of largest terms."""
    width = tile.value.shape[1]
    for base in range(0, draws.lane.size, width):
        sweep_up(program, layout, inputs, base, tile, best, 0, program.kind.size)
        last = min(base + width, draws.lane.size)
        draws.lane[base:last] = np.arange(last - base)
        part = Draws(
            draws.lane[base:last], draws.state[base:last], draws.line[base:last], draws.random[base:last]
        )
        trace(program, inputs, leaves, tile, part, best)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def trace(  # noqa: C901
    program: Program, inputs: Inputs, leaves: LeafWeights, tile: Tile, draws: Draws, best: bool
) -> None:
    """Fill the draws: from the root down, all children of a product and one of a sum.

    A link is a draw at an operation: `who` it is and which link comes after it there. Unused ones are
    chained, too.
    """
    # Arrays are taken out of their tuples once: to do so costs more than a choice.
    kind, care, start, operand = program.kind, program.care, program.start, program.operand
    lane, state, line, random, code = draws.lane, draws.state, draws.line, draws.random, tile.code
    edge_column, binary, edge_weight, lookup = inputs.leaf_column, leaves.binary, leaves.edge, leaves.lookup
    source_column, source_offset, states = inputs.source_column, inputs.source_offset, leaves.states
    weight, leaf_start, value, table = program.weight, program.leaf_start, tile.value, inputs.leaf_table
    head, following, who = _at_the_root(tile, lane, kind.size)
    free = -1
    for op in range(kind.size - 1, -1, -1):
        link = head[op]
        while link >= 0:
            draw, behind = who[link], following[link]
            r, first, last = lane[draw], start[op], start[op + 1]
            leaf_first, leaf_last = leaf_start[op], leaf_start[op + 1]
            if kind[op] == SUM:
                u = 0.5 if best else uniform(random, draw)
                if care[op] != PLAIN:
                    e = choose(program, inputs, tile, op, r, u, best)
                elif best:
                    e = _best_edge(value, r, operand, weight, first, last)
                    top = weight[e] * value[operand[e], r] if e >= 0 else 0.0
                    e = _best_leaf(code, r, edge_column, table, leaf_first, leaf_last, top, e)
                else:
                    e, left = _draw_edge(value, r, operand, weight, first, last, u * value[op, r])
                    if left >= 0.0:
                        e = _draw_leaf(code, r, edge_column, table, leaf_first, leaf_last, left, e)
                first, last = (e, e + 1) if e >= 0 else (0, 0)
                leaf_first, leaf_last = (-1 - e, -e) if NOWHERE < e < 0 else (0, 0)
            elif kind[op] == LOOKUP:
                c = source_column[op]
                u = 0.5 if best else uniform(random, draw)
                x = int(code[c, r])
                state[draw, c] = (
                    x if x < states[op] else _one_of(lookup, source_offset[op], states[op], u, best)
                )
            elif kind[op] == DENSE:
                line[draw, source_column[op]] = source_offset[op]
            for e in range(leaf_first, leaf_last):
                c = edge_column[e]
                u = 0.5 if best else uniform(random, draw)
                state[draw, c] = _one_of_two(code[c, r], binary[e], edge_weight[e, 0], edge_weight[e, 1], u)
            following[link], free = free, link
            for e in range(first, last):
                if free < 0:
                    following, who, free = _more_links(following, who)
                moved, free = free, following[free]
                who[moved], following[moved] = draw, head[operand[e]]
                head[operand[e]] = moved
            link = behind


@njit(cache=True, nogil=True)
def _at_the_root(tile: Tile, lane: Ints, ops: int) -> tuple[Ints, Ints, Ints]:
    """All draws whose row is possible, as one chain at the last operation: (head, following, who)."""
    head = np.full(ops, -1, dtype=np.int64)
    following, who = np.empty(lane.size, dtype=np.int64), np.arange(lane.size)
    for draw in range(lane.size - 1, -1, -1):
        if tile.value[ops - 1, lane[draw]] > 0.0:
            following[draw] = head[ops - 1]
            head[ops - 1] = draw
    return head, following, who


@njit(cache=True, nogil=True)
def _more_links(following: Ints, who: Ints) -> tuple[Ints, Ints, int]:
    """Twice as many links, the new ones chained together; the first of them."""
    old = who.size
    more_following, more_who = np.empty(2 * old, dtype=np.int64), np.empty(2 * old, dtype=np.int64)
    more_following[:old], more_who[:old] = following, who
    for link in range(old, 2 * old):
        more_following[link] = link + 1
    more_following[2 * old - 1] = -1
    return more_following, more_who, old


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def _draw_edge(
    value: Floats, lane: int, operand: UInt32s, weight: Floats, first: int, last: int, left: float
) -> tuple[int, float]:
    """The edge at whose term `left` is used up, or the last one above zero; and what is left then."""
    answer = NOWHERE
    for e in range(first, last):
        x = weight[e] * value[operand[e], lane]
        if x > 0.0:
            answer = e
            left -= x
            if left < 0.0:
                break
    return answer, left


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def _draw_leaf(
    code: UInt16s, lane: int, column: Ints, table: Floats, first: int, last: int, left: float, answer: int
) -> int:
    """The same among leaf edges, `answer` being what there is to choose before them."""
    for e in range(first, last):
        x = leaf_entry(code[column[e], lane], table[e, 0], table[e, 1], table[e, 2])
        if x > 0.0:
            answer = -1 - e
            left -= x
            if left < 0.0:
                break
    return answer


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def _best_edge(value: Floats, lane: int, operand: UInt32s, weight: Floats, first: int, last: int) -> int:
    """The edge of the largest term above zero."""
    answer, top = NOWHERE, 0.0
    for e in range(first, last):
        x = weight[e] * value[operand[e], lane]
        if x > top:
            answer, top = e, x
    return answer


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def _best_leaf(
    code: UInt16s, lane: int, column: Ints, table: Floats, first: int, last: int, top: float, answer: int
) -> int:
    """The same among leaf edges, `answer` and `top` being the best there is before them."""
    for e in range(first, last):
        x = leaf_entry(code[column[e], lane], table[e, 0], table[e, 1], table[e, 2])
        if x > top:
            answer, top = -1 - e, x
    return answer


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def choose(program: Program, inputs: Inputs, tile: Tile, op: int, lane: int, u: float, best: bool) -> int:
    """An edge of a sum where exponents may count: terms are taken to the scale of the sum's own value."""
    own = tile.exponent[op, lane] if tile.scaled[op] else 0.0
    back, left = power(-own), u * tile.value[op, lane]
    answer, top = NOWHERE, 0.0
    split = program.start[op + 1] - program.start[op]
    for i in range(split + program.leaf_start[op + 1] - program.leaf_start[op]):
        if i < split:
            e = program.start[op] + i
            x = _scaled_term(program, tile, e, lane, own)
        else:
            leaf = program.leaf_start[op] + i - split
            entry = inputs.leaf_table[leaf]
            e = -1 - leaf
            x = back * leaf_entry(tile.code[inputs.leaf_column[leaf], lane], entry[0], entry[1], entry[2])
        if x > top:
            answer, top = e, x if best else 0.0
            left -= x
            if left < 0.0 and not best:
                break
    return answer


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _scaled_term(program: Program, tile: Tile, e: int, lane: int, own: float) -> float:
    a = program.operand[e]
    if tile.value[a, lane] == 0.0:
        return 0.0
    steps = program.weight_exponent[e] + (tile.exponent[a, lane] if tile.scaled[a] else 0.0) - own
    return float(program.weight[e] * tile.value[a, lane] * power(steps))


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def _one_of_two(code: int, states: int, zero: float, one: float, u: float) -> float:
    """The state that a cell shows; where it is missing, one of two by weight: for u = 0.5 the heavier."""
    if code < states:
        return float(code)
    return 1.0 if u * (zero + one) > zero or (zero == 0.0 and one > 0.0) else 0.0


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def _one_of(weight: Floats, offset: int, states: int, u: float, best: bool) -> int:
    """One of several states by their weights, or the heaviest."""
    total, top, answer = 0.0, 0.0, 0
    for s in range(offset, offset + states):
        total += weight[s]
        if weight[s] > top:
            top, answer = weight[s], s - offset
    left = u * total
    if not best:
        for s in range(offset, offset + states):
            if weight[s] > 0.0:
                answer = s - offset
                left -= weight[s]
                if left < 0.0:
                    break
    return answer
