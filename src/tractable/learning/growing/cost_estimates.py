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

from tractable.base.arrays import Bools, Int32s, Ints, Words
from tractable.base.compiled import inner
from tractable.circuit import PRODUCT, SUM
from tractable.learning.growing.store import INDICATOR, NODES, TRIAL, Store
from tractable.learning.growing.walks import Workspace


class PossibleStates(NamedTuple):
    """Which columns can have which states below each node: one bit a column. Shape (nodes, words)."""

    first: Words  # the columns that can have their first state
    other: Words  # the columns that can have one of their other states
    copied: Words  # the columns for which a split must copy the node for several states


def find_possible_states(s: Store, order: Int32s, first_indicator: Ints) -> PossibleStates:
    """Find the states that columns can have below each node, given the nodes of their first states."""
    nodes, words = s.used[NODES], s.scope.shape[1]
    first, other, copied = np.zeros((3, nodes, words), dtype=np.uint64)
    indicators = np.flatnonzero(s.kind[:nodes] == INDICATOR)
    other[indicators] = s.scope[indicators]
    other[first_indicator] = 0
    first[first_indicator] = s.scope[first_indicator]
    fold_states(s, order, first, other, copied)
    return PossibleStates(first, other, copied)


@TRIAL.kernel
def fold_states(s: Store, order: Int32s, first: Words, other: Words, copied: Words) -> None:
    """Fill in the possible states of the inner nodes from those of the leaves."""
    for i in range(order.size):
        node = order[i]
        is_sum = s.kind[node] == SUM
        for slot in range(s.first[node], s.first[node] + s.degree[node]):
            below = s.child[slot]
            for word in range(first.shape[1]):
                first[node, word] |= first[below, word]
                other[node, word] |= other[below, word]
                if is_sum:  # a sum over the column's own states is divided, not copied
                    copied[node, word] |= first[below, word] & other[below, word]
        if not is_sum:
            for word in range(first.shape[1]):
                copied[node, word] = first[node, word] & other[node, word]


class ColumnSet(NamedTuple):
    """A set of columns, one bit each."""

    words: Ints  # the words in which any bit is set
    bits: Words  # (words,) all words

    @classmethod
    def of(cls, columns: Bools, words: int) -> "ColumnSet":
        """The columns that are true, as words of bits."""
        padded = np.zeros(64 * words, dtype=np.bool_)
        padded[: columns.size] = columns
        bits = np.packbits(padded, bitorder="little").view(np.uint64)
        return cls(np.flatnonzero(bits), bits)


def count_copied_edges(
    s: Store, w: Workspace, params: Int32s, possible: PossibleStates, asked: ColumnSet, columns: int
) -> Ints:
    """For each column asked about, an estimate of the edges that a split copies for each state but one.

    A column that can have several of its other states, but not the first, counts as having one of them.
    The answer has shape (columns,) and is zero for columns that are not asked about.
    """
    counters = new_counters(s.scope.shape[1])
    many = list_ancestors(s, w, params)
    # States that columns can have beside the paths up from each node; the last line is for the node at hand.
    beside = np.zeros((2, many + 1, asked.words.size), dtype=np.uint64)
    add_copied_edges(s, w, possible, asked, beside, counters)
    return read_counters(counters, columns)


@TRIAL.kernel
def list_ancestors(s: Store, w: Workspace, params: Int32s) -> int:
    """List the nodes above the parameters, parents before their children, and answer with their number."""
    w.round[0] += 1
    now = w.round[0]
    high, many = params.size, 0
    for i in range(high):
        w.stack[i] = params[i]
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


@TRIAL.kernel
def add_copied_edges(
    s: Store, w: Workspace, possible: PossibleStates, asked: ColumnSet, beside: Words, counters: Words
) -> None:
    """Add the edges that splits on the columns asked about copy to the counters, over all nodes listed."""
    first, other = beside[0], beside[1]
    many, words, now = len(first) - 1, asked.words, w.round[0]
    for i in range(many):
        node = w.inside[i]
        start, stop = s.first[node], s.first[node] + s.degree[node]
        for k in range(words.size):
            bits = first[i, k] & other[i, k] & ~s.scope[node, words[k]] & asked.bits[words[k]]
            add_to_counters(counters, words[k], bits, s.degree[node] + 0)
            first[many, k], other[many, k] = first[i, k], other[i, k]
        if s.kind[node] == PRODUCT:
            for slot in range(start, stop):
                below = s.child[slot]
                if w.mark[below] != now:  # a child that lacks the parameters
                    for k in range(words.size):
                        first[many, k] |= possible.first[below, words[k]]
                        other[many, k] |= possible.other[below, words[k]]
            _count_edges_beside(s, w, node, possible, asked, counters)
        for slot in range(start, stop):
            below = s.child[slot]
            if w.mark[below] == now and s.degree[below] > 0:
                for k in range(words.size):
                    first[w.place[below], k] |= first[many, k]
                    other[w.place[below], k] |= other[many, k]


@inner
def _count_edges_beside(
    s: Store, w: Workspace, node: int, possible: PossibleStates, asked: ColumnSet, counters: Words
) -> None:
    """Count the edges below those children, for the columns that can have several states there."""
    now = w.round[0]
    w.stack[0] = node
    high = 1
    top = True
    while high > 0:
        high -= 1
        some = top  # the first node is the product itself, which is not counted
        here = w.stack[high]
        if not top and s.degree[here] > 0:
            for k in range(asked.words.size):
                word = asked.words[k]
                bits = possible.copied[here, word] & asked.bits[word]
                some = some or bits != 0
                add_to_counters(counters, word, bits, s.degree[here] + 0)
        top = False
        if some:  # a node that is copied for no column has no such node below it
            for slot in range(s.first[here], s.first[here] + s.degree[here]):
                below = s.child[slot]
                if w.mark[below] != now and w.seen[below] != now:
                    w.seen[below], w.stack[high] = now, below
                    high += 1


# Bit-sliced counters: the counters of 64 columns are words of bits, one word for each binary digit. A number
# is added to any of the 64 counters in about as many steps as a single addition has carries.
DIGITS = 48  # binary digits of a counter


def new_counters(words: int) -> Words:
    """Counters at zero for 64 columns a word. Shape (words, digits)."""
    return np.zeros((words, DIGITS), dtype=np.uint64)


@inner
def add_to_counters(counters: Words, word: int, columns: "np.uint64", number: int) -> None:
    """Add a number to the counters of those columns of a word whose bits are set."""
    lowest = 0
    while columns != 0 and number > 0:
        if number & 1:
            carry, digit = columns, lowest
            while carry != 0:
                old = counters[word, digit]
                counters[word, digit] = old ^ carry
                carry &= old
                digit += 1
        number >>= 1
        lowest += 1


def read_counters(counters: Words, columns: int) -> Ints:
    """The counters as numbers. Shape (columns,)."""
    bits = np.unpackbits(counters.view(np.uint8).reshape(*counters.shape, 8), axis=2, bitorder="little")
    return np.asarray((np.int64(1) << np.arange(DIGITS)) @ bits.astype(np.int64)).ravel()[:columns]
