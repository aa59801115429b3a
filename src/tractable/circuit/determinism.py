"""Whether at most one child of every sum is above zero, whatever the row."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Ints, Words
from tractable.circuit.graph import SUM, Graph
from tractable.circuit.kernels import mark_separated, meet_words, overlap_words, sibling_pairs
from tractable.circuit.supports import Field, live_edges, support_windows

MOST_PAIRS = (
    4_000_000  # of children compared at once; a sum with more is decided by a single column or not at all
)
FIRST_TRIED = 1_000  # sums


class Meeting(NamedTuple):
    """A sum with two children that may both be above zero; they are -1 when there were too many to try."""

    node: int
    first: int
    second: int


def first_meeting(graph: Graph) -> Meeting | None:
    """A sum that is not seen to be deterministic, or None when all are.

    A sum passes when some column tells all its children apart, or when every pair of children is told apart
    by some column. Edges of weight zero do not count.
    """
    live = live_edges(graph)
    count = np.bincount(graph.parent[live], minlength=graph.nodes)
    sums = np.flatnonzero((graph.kind == SUM) & (count > 1))
    order = np.argsort(count[sums], kind="stable")
    few = sums[order[:FIRST_TRIED]]
    if sums.size > FIRST_TRIED and count[few].max() <= 64:  # most circuits that fail do so at once
        culprit = _first_unseparated_pair(graph, live, few)
        if culprit is not None:
            return culprit
    for some in _batches(*_undecided_sums(graph, live, sums[order])):
        culprit = _first_unseparated_pair(graph, live, some)
        if culprit is not None:
            return culprit
    return None


def _undecided_sums(graph: Graph, live: Bools, sums: Ints) -> tuple[Ints, Ints]:
    """The sums that no single column decides, and their numbers of pairs of children."""
    overlap = _Separation(sums.size)
    for fields, word in support_windows(graph, live) if sums.size else ():
        shared = np.zeros(sums.size, dtype=np.uint64)
        overlap_words(sums, graph.start, graph.child, live, word, shared)
        overlap.add(fields, shared)
    left = sums[~overlap.separated]
    return left, _pairs(graph, live, left)


def _pairs(graph: Graph, live: Bools, sums: Ints) -> Ints:
    """The number of pairs of live children of each sum."""
    count = np.bincount(graph.parent[live], minlength=graph.nodes)[sums]
    return count * (count - 1) // 2


def _batches(sums: Ints, pairs: Ints) -> Iterator[Ints]:
    """The sums in batches of about as many pairs as may be compared at once."""
    batch = (np.cumsum(pairs) - 1) // MOST_PAIRS
    for i in np.unique(batch):
        yield sums[batch == i]


def _first_unseparated_pair(graph: Graph, live: Bools, sums: Ints) -> Meeting | None:
    """The first pair of children of some sums that no column tells apart."""
    pairs = _pairs(graph, live, sums)
    if pairs.max() > MOST_PAIRS:
        return Meeting(int(sums[pairs.argmax()]), -1, -1)
    first, second = np.zeros((2, int(pairs.sum())), dtype=np.int64)
    sibling_pairs(sums, graph.start, graph.child, live, first, second)
    tally = _Separation(first.size)
    meet = np.zeros(first.size, dtype=np.uint64)
    for fields, word in support_windows(graph, live):
        meet_words(first, second, word, meet)
        tally.add(fields, meet)
    together = np.flatnonzero(~tally.separated)
    if not together.size:
        return None
    pair = int(together[0])
    node = int(np.repeat(sums, pairs)[pair])
    return Meeting(node, int(first[pair]), int(second[pair]))


class _Separation:
    """Which sums or pairs some column has separated, as words arrive one after another."""

    def __init__(self, size: int) -> None:
        self.separated = np.zeros(size, dtype=np.bool_)
        self._met = np.zeros(size, dtype=np.bool_)  # in an earlier word of the same column

    def add(self, fields: list[Field], shared: Words) -> None:
        """Take in the states that are shared in one word."""
        masks = np.array([field.mask for field in fields], dtype=np.uint64)
        mark_separated(shared, masks, fields[0].first > 0, fields[0].more, self._met, self.separated)
