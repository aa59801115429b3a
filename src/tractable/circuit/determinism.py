"""Determinism: whether at most one child of every sum is above zero; and sums that decide one column each."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Ints, Words
from tractable.circuit.blocks import LeafBlock
from tractable.circuit.graph import SUM, Graph
from tractable.circuit.kernels import (
    differ_words,
    mark_separated,
    meet_words,
    overlap_words,
    sibling_pairs,
    union_words,
)
from tractable.circuit.scopes import (
    Field,
    code_supports,
    leaf_columns,
    leaves_by_column,
    live_edges,
    pack_fields,
    support_windows,
)

# ---- whether at most one child of every sum is above zero, whatever the row -----------------------------


MOST_PAIRS = (
    4_000_000  # of children compared at once; a sum with more is decided by a single column or not at all
)
FIRST_TRIED = 1_000  # sums


class Meeting(NamedTuple):
    """A sum with two children that may both be non-zero; they are -1 if there were too many to compare."""

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


# ---- regular selectivity: every sum decides one column, and its children agree about all others ---------
#
# Leaves over a column must have supports that do not overlap (leaves with the same distribution count as
# one); the children of a sum reach different leaves of one column and the same leaves of every other.


class OverlapError(Exception):
    """A column has two different leaves that are both above zero somewhere."""

    def __init__(self, column: int) -> None:
        super().__init__(column)
        self.column = column


def irregular_sum(graph: Graph) -> int | None:
    """The first sum that is not regular selective, or None when all are.

    Raises:
        OverlapError: if the leaves over some column overlap.
    """
    sums = np.flatnonzero((graph.kind == SUM) & (np.diff(graph.start) > 1))
    for block in graph.blocks:
        if block.scope.size and not isinstance(block, LeafBlock):
            if sums.size:
                raise OverlapError(int(block.scope[0, 0]))
            return None
    decided = np.zeros(sums.size, dtype=np.int64)  # by how many columns the children of each sum differ
    wrong = np.zeros(sums.size, dtype=np.bool_)
    differs, meets = np.zeros((2, sums.size), dtype=np.bool_)
    for fields, word in _reached_distributions(graph):
        differ, shared = _compare_children(graph, sums, word)
        for field in fields:
            differs = (differ & field.mask != 0) | (differs & (field.first > 0))
            meets = (shared & field.mask != 0) | (meets & (field.first > 0))
            if not field.more:
                decided += differs
                wrong |= differs & meets
    culprits = np.flatnonzero(wrong | (decided != 1))
    return int(sums[culprits[0]]) if culprits.size else None


def _compare_children(graph: Graph, sums: Ints, word: Words) -> tuple[Words, Words]:
    """The bits in which the children of each sum differ, and those that two of them share."""
    differ, shared = np.zeros((2, sums.size), dtype=np.uint64)
    differ_words(sums, graph.start, graph.child, word, differ)
    overlap_words(sums, graph.start, graph.child, np.ones(graph.edges, dtype=np.bool_), word, shared)
    return differ, shared


def _reached_distributions(graph: Graph) -> Iterator[tuple[list[Field], Words]]:
    """The distributions reached from each node, word after word."""
    leaves = leaves_by_column(graph)
    columns = leaf_columns(graph)
    index = {column: _distinct(graph, column, leaves[column]) for column in columns.tolist()}
    counts = np.array([1 + max(int(i.max()) for i in index[c]) for c in columns.tolist()], dtype=np.int64)
    for fields in pack_fields(columns, counts):
        word = np.zeros(graph.nodes, dtype=np.uint64)
        for field in fields:
            for block, number in zip(leaves[field.column], index[field.column], strict=True):
                inside = (number >= field.first) & (number < field.first + field.size)
                bit = (number[inside] - field.first + field.shift).astype(np.uint64)
                word[block.node[inside]] = np.uint64(1) << bit
        union_words(graph.start, graph.child, word)
        yield fields, word


def _distinct(graph: Graph, column: int, blocks: list[LeafBlock]) -> list[Ints]:
    """The number of the distribution that each leaf over a column is, block by block."""
    states = graph.schema[column].cardinality
    lines = [block.table(states) + 0.0 if states else block.params for block in blocks]  # no -0.0
    widest = max(line.shape[1] for line in lines)
    filled = [
        np.pad(line, ((0, 0), (1, widest - line.shape[1])), constant_values=0 if states else number)
        for number, line in enumerate(lines)  # leaves of different families over numbers are different
    ]
    _, first, number = np.unique(np.concatenate(filled), axis=0, return_index=True, return_inverse=True)
    support = np.concatenate(code_supports(graph, column, blocks))
    if (support[first].sum(axis=0) > 1).any():
        raise OverlapError(column)
    return np.split(number.ravel(), np.cumsum([b.node.size for b in blocks])[:-1])
