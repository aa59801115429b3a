"""Scopes of nodes, for 64 columns at a time.

A circuit of millions of nodes over thousands of columns would need gigabytes as a matrix; one word a node is
enough for every question here, asked again for each 64 columns.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Ints, Words
from tractable.circuit.graph import Graph
from tractable.circuit.kernels import scope_words


class Window(NamedTuple):
    """The columns below each node, among at most 64 of them."""

    columns: Ints  # (columns,) the column of each bit
    word: Words  # (nodes,)
    unsmooth: int  # the first sum whose children differ here; the number of nodes when there is none
    shared: int  # the first product whose children share a column; the number of nodes when there is none

    def has(self, nodes: Ints, column: int) -> Bools:
        """Which of the nodes are over one of the window's columns."""
        bit = np.uint64(np.searchsorted(self.columns, column))
        held: Bools = (self.word[nodes] >> bit) & np.uint64(1) == 1
        return held


def leaf_columns(graph: Graph) -> Ints:
    """The columns that some leaf is a distribution of, ascending."""
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(b.scope.ravel() for b in graph.blocks)]))


def windows(graph: Graph, columns: Iterable[int]) -> Iterator[Window]:
    """The scopes of all nodes, restricted to 64 of the chosen columns after another."""
    chosen = np.intersect1d(np.fromiter(columns, dtype=np.int64), leaf_columns(graph))
    for first in range(0, chosen.size, 64):
        some = chosen[first : first + 64]
        word = _leaf_words(graph, some)
        unsmooth, shared = scope_words(graph.kind, graph.start, graph.child, word)
        yield Window(some, word, unsmooth, shared)


def _leaf_words(graph: Graph, columns: Ints) -> Words:
    bit = np.full(len(graph.schema), -1, dtype=np.int64)
    bit[columns] = np.arange(columns.size)
    word = np.zeros(graph.nodes, dtype=np.uint64)
    for block in graph.blocks:
        for mine in bit[block.scope.T]:
            inside = mine >= 0
            word[block.node[inside]] |= np.uint64(1) << mine[inside].astype(np.uint64)
    return word


def bits(word: np.uint64, columns: Ints) -> Ints:
    """The columns whose bits are set in a word."""
    found: Ints = columns[(word >> np.arange(columns.size, dtype=np.uint64)) & np.uint64(1) == 1]
    return found


def root_columns(graph: Graph) -> Ints:
    """The columns that the root's value depends on, ascending."""
    columns = [bits(w.word[graph.root], w.columns) for w in windows(graph, range(len(graph.schema)))]
    return np.concatenate([np.zeros(0, dtype=np.int64), *columns])
