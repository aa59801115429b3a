"""Estimates of how many edges splits of some parameters would add, for many columns in a single walk.

A split on a column copies the nodes above the parameters that lack the column, once for every further state
that the column can have where the two parts meet, and it divides the nodes below their other children that
have the column. The estimate counts the edges of all these nodes. An exact plan is often cheaper, because
parts are shared between states or removed; an estimate does not look for that.

Usually only a few columns are of interest, and most nodes have none of these in their scope: the walk leaves
such nodes out.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Int32s, Ints, Words
from tractable.circuit import PRODUCT, SUM
from tractable.compiled import njit
from tractable.growing.bit_sliced import add_to_counters, new_counters, read_counters
from tractable.growing.store import INDICATOR, NODES, Store
from tractable.growing.walks import Workspace


class PossibleStates(NamedTuple):
    """Which columns can have which states below each node: one bit a column. Shape (nodes, words)."""

    first: Words  # the columns that can have their first state
    other: Words  # the columns that can have one of their other states
    copied: Words  # the columns for which a split must copy the node for several states


@njit(cache=True, nogil=True)
def find_possible_states(s: Store, order: Int32s, first_indicator: Ints) -> PossibleStates:
    """Find the states that columns can have below each node, given the nodes of their first states."""
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
                if s.kind[node] == SUM:  # a sum over the column's own states is divided, not copied
                    copied[node, word] |= first[below, word] & other[below, word]
        if s.kind[node] == PRODUCT:
            copied[node] = first[node] & other[node]
    return PossibleStates(first, other, copied)


class ColumnSet(NamedTuple):
    """A set of columns, one bit each."""

    words: Ints  # the words in which any bit is set
    bits: Words  # (words,) all words

    @classmethod
    def of(cls, columns: Bools, words: int) -> "ColumnSet":
        """The columns that are true, in so many words."""
        padded = np.zeros(64 * words, dtype=np.bool_)
        padded[: columns.size] = columns
        bits = np.packbits(padded, bitorder="little").view(np.uint64)
        return cls(np.flatnonzero(bits), bits)


@njit(cache=True, nogil=True)
def count_copied_edges(
    s: Store, w: Workspace, params: Int32s, possible: PossibleStates, asked: ColumnSet, columns: int
) -> Ints:
    """For each column asked about, an estimate of the edges that a split copies for each state but one.

    A column that can have several of its other states, but not the first, counts as having one of them.
    The answer has shape (columns,) and is zero for columns that are not asked about.
    """
    w.round[0] += 1
    many = _list_ancestors(s, w, params)
    copied = new_counters(s.scope.shape[1])
    # States that columns can have beside the paths up from each node; the last line is for the node at hand.
    first, other = np.zeros((2, many + 1, asked.words.size), dtype=np.uint64)
    for i in range(many):
        node = w.inside[i]
        for k in range(asked.words.size):
            word = asked.words[k]
            bits = first[i, k] & other[i, k] & ~s.scope[node, word] & asked.bits[word]
            add_to_counters(copied, word, bits, s.degree[node])
            first[many, k], other[many, k] = first[i, k], other[i, k]
        if s.kind[node] == PRODUCT:
            _add_states_beside(s, w, node, possible, asked, first[many], other[many])
            _count_edges_beside(s, w, node, possible, asked, copied)
        for slot in range(s.first[node], s.first[node] + s.degree[node]):
            below = s.child[slot]
            if w.mark[below] == w.round[0] and s.degree[below] > 0:
                for k in range(asked.words.size):
                    first[w.place[below], k] |= first[many, k]
                    other[w.place[below], k] |= other[many, k]
    return read_counters(copied, columns)


@njit(cache=True, nogil=True)
def _list_ancestors(s: Store, w: Workspace, params: Int32s) -> int:
    """List the nodes above the parameters, parents before their children, and answer with their number."""
    now = w.round[0]
    w.stack[: params.size] = params
    high, many = params.size, 0
    while high > 0:
        node = w.stack[high - 1]
        if node < 0:  # the complement of a node: everything above it is listed
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
def _add_states_beside(
    s: Store, w: Workspace, node: int, possible: PossibleStates, asked: ColumnSet, first: Words, other: Words
) -> None:
    """Add the states that columns can have below those children of a product that lack the parameters."""
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below = s.child[slot]
        if w.mark[below] != w.round[0]:
            for k in range(asked.words.size):
                first[k] |= possible.first[below, asked.words[k]]
                other[k] |= possible.other[below, asked.words[k]]


@njit(cache=True, nogil=True)
def _count_edges_beside(
    s: Store, w: Workspace, node: int, possible: PossibleStates, asked: ColumnSet, copied: Words
) -> None:
    """Count the edges below those children, for the columns that can have several states there."""
    high = _push_children(s, w, node, 0)
    while high > 0:
        high -= 1
        node = w.stack[high]
        if s.degree[node] > 0:
            some = False
            for word in asked.words:
                bits = possible.copied[node, word] & asked.bits[word]
                some = some or bits != 0
                add_to_counters(copied, word, bits, s.degree[node])
            if some:  # a node that is copied for no column has no such node below it
                high = _push_children(s, w, node, high)


@njit(cache=True, nogil=True)
def _push_children(s: Store, w: Workspace, node: int, high: int) -> int:
    """Push the children that no walk has met yet onto the stack, and answer with its new height."""
    now = w.round[0]
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below = s.child[slot]
        if w.mark[below] != now and w.seen[below] != now:
            w.seen[below], w.stack[high] = now, below
            high += 1
    return high
