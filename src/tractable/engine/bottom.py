"""The leaves of a circuit for the engine: tables over categorical columns, dense lines over numeric ones."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints
from tractable.base.compiled import njit
from tractable.circuit.blocks import Block, ConstantBlock, LeafBlock
from tractable.circuit.graph import LEAF, SUM, Graph
from tractable.engine.program import LeafTables

TO_CONSTANT, TO_LEAF, TO_OPERATION = 0, 1, 2  # what a reference leads to; see simplify.py


class Bottom(NamedTuple):
    """The leaves of a circuit, from which compiling starts."""

    refs: tuple[Bytes, Ints, Floats]  # (nodes,) each: kind, identity, coefficient; filled for the leaves
    tables: LeafTables  # with room at its end for leaves that come of merging
    leaves: int  # how many of the tables are filled
    dense_node: Ints  # (dense lines,) the leaf node behind each


def read_leaves(graph: Graph, merge: bool) -> Bottom:
    """The circuit's leaves as tables and dense lines; a leaf over several columns counts for the first."""
    refs = (np.zeros(graph.nodes, np.uint8), np.full(graph.nodes, -1, np.int64), np.zeros(graph.nodes))
    columns, widths, values, dense = [], [], [], []
    dense_node: list[Ints] = []
    leaves = 0
    for block in graph.blocks:
        if isinstance(block, ConstantBlock):
            refs[2][block.node] = block.log_value
            continue
        refs[0][block.node] = TO_LEAF
        refs[1][block.node] = leaves + np.arange(block.node.size)
        leaves += block.node.size
        columns.append(block.first_column(graph.schema))
        width, value = _block_tables(graph, block)
        widths.append(width)
        values.append(value)
        is_dense = width == 0
        first = sum(d.size for d in dense_node)
        dense.append(np.where(is_dense, first + np.cumsum(is_dense) - 1, -1))
        dense_node.append(block.node[is_dense])
    tables = LeafTables(
        np.concatenate([np.zeros(0, np.int64), *columns]),
        np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *widths]))]).astype(np.int64),
        np.concatenate([np.zeros(0), *values]),
        np.concatenate([np.zeros(0, np.int64), *dense]),
    )
    room = _room_to_merge(graph, refs, tables) if merge else (0, 0)
    return Bottom(refs, tables.with_room(*room), leaves, np.concatenate([np.zeros(0, np.int64), *dense_node]))


def _block_tables(graph: Graph, block: Block) -> tuple[Ints, Floats]:
    """The number of states of each leaf of a block, and the logarithms of their probabilities end to end."""
    if not isinstance(block, LeafBlock) or not block.is_tabular(graph.schema):
        return np.zeros(block.node.size, dtype=np.int64), np.zeros(0)
    width = graph.schema.cardinalities[block.column]
    if (width == width[0]).all():
        return width, block.table(int(width[0])).ravel()
    value = np.empty(width.sum())
    end = np.cumsum(width)
    for size in np.unique(width):
        some = np.flatnonzero(width == size)
        where = (end[some] - size)[:, None] + np.arange(size)
        value[where] = block.select(some).table(int(size))
    return width, value


def _room_to_merge(graph: Graph, refs: tuple[Bytes, Ints, Floats], tables: LeafTables) -> tuple[int, int]:
    """How many sums lie over one categorical column only, and how many states their tables have together."""
    column = np.full(graph.nodes, -1, dtype=np.int64)
    leaf = refs[0] == TO_LEAF
    column[leaf] = tables.column[refs[1][leaf]]
    column[(graph.kind == LEAF) & ~leaf] = -2  # a constant goes with any column
    _only_column(graph.start, graph.child, column)
    sums = column[(graph.kind == SUM) & (column >= 0)]
    return sums.size, int(graph.schema.cardinalities[sums].sum())


@njit(cache=True, nogil=True)
def _only_column(start: Ints, child: Ints, column: Ints) -> None:
    """Fill each inner node's column where all its leaves are over the same one; -1 where not."""
    for node in range(column.size):
        if start[node] == start[node + 1]:
            continue
        only = -2
        for e in range(start[node], start[node + 1]):
            below = column[child[e]]
            if below == -2:
                continue
            if only != -2 and only != below:  # noqa: PLR1714 (membership takes longer to compile)
                only = -1
                break
            only = below
        column[node] = only


def leaf_bounds(tables: LeafTables) -> tuple[Floats, Floats]:
    """The logarithms of the smallest non-zero and of the largest value of each leaf.

    Sums over states are values, too. A leaf over a numeric column may take any value.
    """
    low, high = np.full(tables.column.size, -np.inf), np.full(tables.column.size, np.inf)
    filled = np.flatnonzero(tables.states > 0)
    if filled.size:
        first = tables.offset[filled]
        positive = np.where(np.isneginf(tables.log_value), np.inf, tables.log_value)
        low[filled] = np.minimum.reduceat(positive, first)
        top = np.maximum.reduceat(tables.log_value, first)
        high[filled] = np.where(np.isneginf(top), 0.0, top + np.log(tables.states[filled]))
        low[filled] = np.where(np.isinf(low[filled]), 0.0, low[filled])
    return low, high
