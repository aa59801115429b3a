"""About how many edges splits of a feature would add, for many columns in one walk.

A split on a column copies, for each further state that the column can have where the two meet, the part of
the parameters that lacks the column, and takes the part of the column apart: the nodes above the parameters
without the column, and the nodes with it below their other children. What can be shared or falls away is left
to an exact plan.

Few columns are worth a guess among many, and most nodes know nothing of them: the walk leaves these out.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tractable.arrays import Bools, Ints
from tractable.growing.store import INDICATOR, NODES, PRODUCT, SUM, Numbers, Store, Words
from tractable.growing.tally import add_to, new_tally, totals
from tractable.growing.walks import Work


class Possible(NamedTuple):
    """The columns that can have some states below each node, as bits. Shape (nodes, words)."""

    first: Words  # their first one
    other: Words  # one of the others
    copied: Words  # several, so that a copy for each is needed when they are told apart


@njit(cache=True, nogil=True)
def possible_states(s: Store, order: Numbers, first_indicator: Ints) -> Possible:
    """What columns can be below each node; `first_indicator` is the node of each column's first state."""
    nodes, words = s.used[NODES], s.scope.shape[1]
    first, other, copied = np.zeros((3, nodes, words), dtype=np.uint64)
    for node in range(nodes):
        if s.kind[node] == INDICATOR:
            other[node] = s.scope[node]
    for column in range(first_indicator.size):
        node = first_indicator[column]
        first[node], other[node] = s.scope[node], 0
    for i in range(order.size):
        node = order[i]
        for slot in range(s.first[node], s.first[node] + s.degree[node]):
            below = s.child[slot]
            for word in range(words):
                first[node, word] |= first[below, word]
                other[node, word] |= other[below, word]
                if s.kind[node] == SUM:  # the sum over a column's states themselves is divided, not copied
                    copied[node, word] |= first[below, word] & other[below, word]
        if s.kind[node] == PRODUCT:
            copied[node] = first[node] & other[node]
    return Possible(first, other, copied)


class Asked(NamedTuple):
    """The columns that a walk is about, as bits."""

    words: Ints  # those that have bits
    bits: Words  # all words

    @classmethod
    def of(cls, columns: Bools, words: int) -> "Asked":
        """Some columns; nodes have so many words of them."""
        padded = np.zeros(64 * words, dtype=np.bool_)
        padded[: columns.size] = columns
        bits = np.packbits(padded, bitorder="little").view(np.uint64)
        return cls(np.flatnonzero(bits), bits)


@njit(cache=True, nogil=True)
def edges_copied(s: Store, w: Work, params: Numbers, possible: Possible, asked: Asked, columns: int) -> Ints:
    """For each column asked about, about the edges that a split copies for each state but one. (columns,).

    A column that has several of its other states, but never the first, counts as having one of them.
    """
    w.round[0] += 1
    many = _way_up(s, w, params)
    copied = new_tally(s.scope.shape[1])
    # What columns can be beside the ways up from each node; the last line is for the children of one node.
    first, other = np.zeros((2, many + 1, asked.words.size), dtype=np.uint64)
    for i in range(many):
        node = w.inside[i]
        for k in range(asked.words.size):
            word = asked.words[k]
            bits = first[i, k] & other[i, k] & ~s.scope[node, word] & asked.bits[word]
            add_to(copied, word, bits, s.degree[node])
            first[many, k], other[many, k] = first[i, k], other[i, k]
        if s.kind[node] == PRODUCT:
            _beside(s, w, node, possible, asked, first[many], other[many])
            _add_below(s, w, node, possible, asked, copied)
        for slot in range(s.first[node], s.first[node] + s.degree[node]):
            below = s.child[slot]
            if w.mark[below] == w.round[0] and s.degree[below] > 0:
                for k in range(asked.words.size):
                    first[w.place[below], k] |= first[many, k]
                    other[w.place[below], k] |= other[many, k]
    return totals(copied, columns)


@njit(cache=True, nogil=True)
def _way_up(s: Store, w: Work, params: Numbers) -> int:
    """List the nodes above, each after all that are above it."""
    now = w.round[0]
    w.stack[: params.size] = params
    high, many = params.size, 0
    while high > 0:
        node = w.stack[high - 1]
        if node < 0:  # all above it is listed
            high -= 1
            if s.degree[~node] > 0:
                w.inside[many], w.place[~node] = ~node, many
                many += 1
        elif w.mark[node] == now:
            high -= 1
        else:
            w.mark[node], w.stack[high - 1] = now, ~node
            slot = s.head[node]
            while slot >= 0:
                if w.mark[s.owner[slot]] != now:
                    w.stack[high] = s.owner[slot]
                    high += 1
                slot = s.up[slot]
    return many


@njit(cache=True, nogil=True)
def _beside(
    s: Store, w: Work, node: int, possible: Possible, asked: Asked, first: Words, other: Words
) -> None:
    """Add the states that columns can have below the children that are not above the parameters."""
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below = s.child[slot]
        if w.mark[below] != w.round[0]:
            for k in range(asked.words.size):
                first[k] |= possible.first[below, asked.words[k]]
                other[k] |= possible.other[below, asked.words[k]]


@njit(cache=True, nogil=True)
def _add_below(s: Store, w: Work, node: int, possible: Possible, asked: Asked, copied: Words) -> None:
    """Count what is below those children, for columns that can have several states there."""
    high = _push_children(s, w, node, 0)
    while high > 0:
        high -= 1
        node = w.stack[high]
        if s.degree[node] > 0:
            some = False
            for word in asked.words:
                bits = possible.copied[node, word] & asked.bits[word]
                some = some or bits != 0
                add_to(copied, word, bits, s.degree[node])
            if some:  # what no column needs copied here, none does below
                high = _push_children(s, w, node, high)


@njit(cache=True, nogil=True)
def _push_children(s: Store, w: Work, node: int, high: int) -> int:
    """Put the children that were not met yet, neither on the way up nor down, on the stack."""
    now = w.round[0]
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below = s.child[slot]
        if w.mark[below] != now and w.seen[below] != now:
            w.seen[below], w.stack[high] = now, below
            high += 1
    return high
