"""Scopes of nodes, for 64 columns at a time.

A circuit of millions of nodes over thousands of columns would need gigabytes as a matrix; one word a node is
enough for every question here, asked again for each 64 columns.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Ints, Words
from tractable.circuit.blocks import ConstantBlock, FactorBlock, LeafBlock
from tractable.circuit.graph import Graph
from tractable.circuit.kernels import mark_alive, scope_words, support_words


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


# ---- the supports of nodes as bit sets, on which the analysis of determinism is based -------------------
#
# Each categorical column has a field of as many bits as it has states; fields are packed into 64-bit
# words, and a column of more than 64 states has several words to itself. A node's field holds the states
# of that column at which the node may be above zero. A numeric column whose leaves are limited to
# intervals is cut at all their ends, and has a bit for each part. This bounds the true support from
# outside, column by column: a sum whose children never meet in some column is deterministic for certain,
# but some deterministic sums are missed.


ALL = ~np.uint64(0)


class Field(NamedTuple):
    """A column's bits in one word: bit `shift` stands for the code `first`, and so on."""

    column: int
    first: int
    size: int
    shift: int
    more: bool = False  # whether the next word goes on with the same column

    @property
    def mask(self) -> np.uint64:
        """The bits of the field."""
        return (ALL >> np.uint64(64 - self.size)) << np.uint64(self.shift)


def pack_fields(columns: Ints, codes: Ints) -> list[list[Field]]:
    """Bit fields for columns with given numbers of codes; a long column has consecutive words."""
    words: list[list[Field]] = []
    room = 0
    for column, count in zip(columns.tolist(), codes.tolist(), strict=True):
        if count > 64:
            words += [
                [Field(column, at, min(64, count - at), 0, at + 64 < count)] for at in range(0, count, 64)
            ]
            room = 0
            continue
        if count > room:
            words.append([])
            room = 64
        words[-1].append(Field(column, 0, count, 64 - room))
        room -= count
    return words


def leaves_by_column(graph: Graph) -> dict[int, list[LeafBlock]]:
    """The leaves over each column, one block a family and width."""
    grouped = _by_column(graph.blocks_of(LeafBlock))
    return {column: [b for b in blocks if isinstance(b, LeafBlock)] for column, blocks in grouped.items()}


def _by_column(blocks: Iterable[LeafBlock | FactorBlock]) -> dict[int, list[LeafBlock | FactorBlock]]:
    answer: dict[int, list[LeafBlock | FactorBlock]] = {}
    for block in blocks:
        order = np.argsort(block.column, kind="stable")
        cuts = np.flatnonzero(np.diff(block.column[order])) + 1
        for mine in np.split(order, cuts) if order.size else ():
            answer.setdefault(int(block.column[mine[0]]), []).append(block.select(mine))
    return answer


def alive_nodes(graph: Graph) -> Bools:
    """Which nodes are above zero for some row, as far as single leaves tell. Shape (nodes,)."""
    alive = np.ones(graph.nodes, dtype=np.bool_)
    for block in graph.blocks_of(ConstantBlock):
        alive[block.node] = block.log_value > -np.inf
    mark_alive(graph.kind, graph.start, graph.child, graph.log_weight, alive)
    return alive


def live_edges(graph: Graph) -> Bools:
    """Which edges have a weight and a child above zero. Shape (edges,)."""
    return alive_nodes(graph)[graph.child] & (graph.log_weight > -np.inf)


def code_supports(graph: Graph, column: int, blocks: Sequence[LeafBlock | FactorBlock]) -> list[Bools]:
    """At which states, or parts of the number line, each leaf over a column may be above zero.

    An array (leaves, codes) for each block. If no leaf is limited, a numeric column has a single part.
    """
    states = graph.schema[column].cardinality
    if states:
        return [block.table(states) > -np.inf for block in blocks if isinstance(block, LeafBlock)]
    ends = [block.family.support(block.params) for block in blocks]
    cuts = np.unique(np.concatenate([np.concatenate(pair) for pair in ends]))[:-1]  # where parts begin
    return [(cuts >= low[:, None]) & (cuts < high[:, None]) for low, high in ends]


def support_windows(graph: Graph, live: Bools) -> Iterator[tuple[list[Field], Words]]:
    """The supports of all nodes, word after word; intervals of inputs count like leaves."""
    single = [b for b in graph.blocks if isinstance(b, LeafBlock | FactorBlock)]
    leaves = _by_column(b for b in single if isinstance(b, LeafBlock) or not b.is_potential)
    supports = {column: code_supports(graph, column, blocks) for column, blocks in sorted(leaves.items())}
    codes = {column: parts[0].shape[1] for column, parts in supports.items()}
    telling = [column for column in codes if codes[column] > 1 or graph.schema[column].is_categorical]
    for fields in pack_fields(np.array(telling, dtype=np.int64), np.array([codes[c] for c in telling])):
        word = np.full(graph.nodes, ALL)
        for field in fields:
            for block, support in zip(leaves[field.column], supports[field.column], strict=True):
                word[block.node] = _packed(support, field) | ~field.mask
        support_words(graph.kind, graph.start, graph.child, live, word)
        yield fields, word


def _packed(support: Bools, field: Field) -> Words:
    """The bits of the codes at which each leaf may be above zero."""
    part = support[:, field.first : field.first + field.size]
    place = np.arange(field.size, dtype=np.uint64) + np.uint64(field.shift)
    packed_bits: Words = np.where(part, np.uint64(1) << place, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return packed_bits
