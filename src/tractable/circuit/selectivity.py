"""Regular selectivity: every sum decides one column, and its children agree about all others.

Leaves over a column must have supports that do not overlap (leaves with the same distribution count as one);
the children of a sum reach different leaves of one column and the same leaves of every other.
"""

from collections.abc import Iterator

import numpy as np

from tractable.base.arrays import Ints, Words
from tractable.circuit.blocks import LeafBlock
from tractable.circuit.graph import SUM, Graph
from tractable.circuit.kernels import differ_words, overlap_words, union_words
from tractable.circuit.scopes import leaf_columns
from tractable.circuit.supports import Field, code_supports, leaves_by_column, pack_fields


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
