"""Elimination orders. Neighbourhoods are bit sets with 64 variables per word."""

import numpy as np

from tractable.base.arrays import Floats, Ints, Words
from tractable.base.compiled import njit

SEQUENCE = 0x03F79D71B4CB0A89  # of de Bruijn: each window of six bits occurs once
PLACE = np.zeros(
    64, dtype=np.int64
)  # of the only one in a word, by the first six bits of its product with it
PLACE[[((SEQUENCE << bit) % 2**64) >> 58 for bit in range(64)]] = np.arange(64)

inlined = njit(inline="always")


@inlined
def lowest_bit(word: np.uint64) -> int:
    """The position of the lowest set bit of a non-zero word."""
    return PLACE[((word & (~word + np.uint64(1))) * np.uint64(SEQUENCE)) >> np.uint64(58)]


@njit(cache=True, nogil=True)
def link_scopes(first: Ints, axis: Ints, variables: int) -> Words:
    """The neighbours of each variable: the other variables that share a factor with it."""
    near = np.zeros((variables, (variables + 63) >> 6), dtype=np.uint64)
    for f in range(first.size - 1):
        for e in range(first[f], first[f + 1]):
            for o in range(first[f], first[f + 1]):
                if o != e:
                    near[axis[e], axis[o] >> 6] |= np.uint64(1) << np.uint64(axis[o] & 63)
    return near


@njit(cache=True, nogil=True)
def members(bits: Words, found: Ints) -> int:
    """Fill in the members of a bit set, ascending; returns their number."""
    count = 0
    for w in range(bits.size):
        word = bits[w]
        while word != 0:
            found[count] = 64 * w + lowest_bit(word)
            word &= word - np.uint64(1)
            count += 1
    return count


@njit(cache=True, nogil=True)
def eliminate_in_order(near: Words, log_states: Floats, order: Ints, most: float) -> float:
    """The total table size of a given order; see `eliminate_greedily`."""
    around = np.empty(log_states.size, dtype=np.int64)
    size = _table_sizes(near, log_states, order)
    total = 0.0
    for v in order:
        total += np.exp(size[v])
        if total > most:
            break
        neighbours = members(near[v], around)
        _link_neighbours(near, log_states, size, v, around[:neighbours])
    return total


@njit(cache=True, nogil=True)
def _table_sizes(near: Words, log_states: Floats, left: Ints) -> Floats:
    """The logarithms of the table sizes of the remaining variables. Shape (variables,)."""
    around = np.empty(log_states.size, dtype=np.int64)
    size = np.zeros(log_states.size)
    for v in left:
        size[v] = log_states[v]
        for i in range(members(near[v], around)):
            size[v] += log_states[around[i]]
    return size


@njit(cache=True, nogil=True)
def eliminate_greedily(near: Words, log_states: Floats, left: Ints, order: Ints, most: float) -> float:
    """Fill in an elimination order of the variables `left`; returns the total table size.

    The variable with the smallest table is eliminated next. Afterwards `near` has the neighbours that each
    variable had when it was eliminated. It stops with an incomplete order when the tables exceed `most`.
    """
    around = np.empty(log_states.size, dtype=np.int64)
    size = _table_sizes(near, log_states, left)
    total, count = 0.0, left.size
    for step in range(left.size):
        best = 0
        for i in range(1, count):
            if size[left[i]] < size[left[best]]:
                best = i
        v = left[best]
        count -= 1
        left[best] = left[count]
        order[step] = v
        total += np.exp(size[v])
        if total > most:
            break
        neighbours = members(near[v], around)
        _link_neighbours(near, log_states, size, v, around[:neighbours])
    return total


@njit(cache=True, nogil=True)
def _link_neighbours(near: Words, log_states: Floats, size: Floats, v: int, around: Ints) -> None:
    """Connect the neighbours of an eliminated variable with each other, and remove it."""
    for u in around:
        for w in range(near.shape[1]):
            fresh = near[v, w] & ~near[u, w]
            if w == u >> 6:
                fresh &= ~(np.uint64(1) << np.uint64(u & 63))
            near[u, w] |= fresh
            while fresh != 0:
                size[u] += log_states[64 * w + lowest_bit(fresh)]
                fresh &= fresh - np.uint64(1)
        near[u, v >> 6] &= ~(np.uint64(1) << np.uint64(v & 63))
        size[u] -= log_states[v]
