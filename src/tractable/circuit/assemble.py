"""Assembly of a graph from edges in any order, several blocks of leaves, and unreachable nodes."""

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.blocks import Block, ConstantBlock, GateBlock, JointBlock, LeafBlock, join_blocks
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import Graph
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.reach import reachable
from tractable.data.schema import Schema


class Edges(NamedTuple):
    """Edges in any order; those of one parent keep the order in which they stand."""

    parent: Ints
    child: Ints
    log_weight: Floats

    def select(self, which: Bools) -> "Edges":
        """Some of the edges."""
        return Edges(self.parent[which], self.child[which], self.log_weight[which])


def concatenate_edges(parts: Iterable[Edges]) -> Edges:
    """Several groups of edges as one."""
    return Edges(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def edges_of(graph: Graph) -> Edges:
    """The edges of a graph."""
    return Edges(graph.parent, graph.child, graph.log_weight)


def assemble(
    schema: Schema,
    kind: Ints,
    edges: Edges,
    blocks: Iterable[Block],
    root: int | None = None,
    features: FeatureTable | None = None,
) -> Graph:
    """The circuit below `root` (the last node, unless given), children numbered before parents already.

    What the root does not reach is left out, blocks of one key become one.
    """
    top = kind.size - 1 if root is None else root
    order = _by_parent(edges.parent)
    child, weight = edges.child[order], edges.log_weight[order]
    degree = np.bincount(edges.parent, minlength=kind.size)
    start = np.concatenate([[0], np.cumsum(degree)])
    keep = reachable(start, child, top)
    number = np.full(kind.size, -1, dtype=np.int64)
    number[keep] = np.arange(keep.size)
    kept = np.repeat(number >= 0, degree)
    return Graph(
        schema,
        kind[keep].astype(np.uint8),
        np.concatenate([[0], np.cumsum(degree[keep])]),
        number[child[kept]],
        weight[kept],
        renumbered_blocks(blocks, number),
        None if features is None else renumbered_features(features, number),
    )


def state_leaves(states: Ints, log_constants: Floats) -> tuple[LeafBlock, ConstantBlock]:
    """Indicators of all states of columns, numbered from 0 up, and after them constants."""
    column = np.repeat(np.arange(states.size), states)
    state = np.concatenate([np.arange(k) for k in states]).astype(np.float64)
    constants = column.size + np.arange(log_constants.size)
    return (
        LeafBlock(FAMILIES["indicator"], np.arange(column.size), column, state[:, None]),
        ConstantBlock(constants, log_constants),
    )


def _by_parent(parent: Ints) -> Ints | slice:
    """The order that brings the edges of each parent together; most groups are in order already."""
    return slice(None) if (np.diff(parent) >= 0).all() else np.argsort(parent, kind="stable")


def renumbered_blocks(blocks: Iterable[Block], number: Ints) -> tuple[Block, ...]:
    """The leaves that are kept (`number` is not -1) under their new numbers, one block for each key."""
    groups: dict[Hashable, list[Block]] = {}
    for block in blocks:
        groups.setdefault(block.key, []).append(block)
    blocks_left: list[Block] = []
    for group in groups.values():
        whole = join_blocks(group)
        node = number[whole.node]
        order = np.argsort(node, kind="stable")
        order = order[node[order] >= 0]
        if order.size:
            blocks_left.append(whole.select(order).renumber(node[order]))
    return in_order(blocks_left)


def in_order(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Blocks in the order of circuits: leaves over one column, gates, leaves over several columns."""
    return tuple(
        sorted(blocks, key=lambda b: 2 if isinstance(b, JointBlock) else int(isinstance(b, GateBlock)))
    )


def renumbered_features(features: FeatureTable, number: Ints) -> FeatureTable:
    """The features under new node numbers; one whose leaf is gone from the circuit keeps the number -1."""
    node = np.where(features.node < 0, -1, number[features.node])
    return replace(features, node=node)
