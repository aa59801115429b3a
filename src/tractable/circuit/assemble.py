"""A graph from loose parts: edges in any order, leaves in several blocks, nodes that nothing leads to."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import Block, GateBlock, Graph, JointBlock, LeafBlock
from tractable.circuit.leaves import FAMILIES, Family
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

    What the root does not reach is left out, blocks of one family and width become one.
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
    leaves, joints, gates = renumbered_blocks(blocks, number)
    return Graph(
        schema,
        kind[keep].astype(np.uint8),
        np.concatenate([[0], np.cumsum(degree[keep])]),
        number[child[kept]],
        weight[kept],
        leaves,
        None if features is None else renumbered_features(features, number),
        joints,
        gates,
    )


def state_leaves(states: Ints, log_constants: Floats) -> list[LeafBlock]:
    """Indicators of all states of columns, numbered from 0 up, and after them constants."""
    column = np.repeat(np.arange(states.size), states)
    state = np.concatenate([np.arange(k) for k in states]).astype(np.float64)
    constants = column.size + np.arange(log_constants.size)
    return [
        LeafBlock(FAMILIES["indicator"], np.arange(column.size), column, state[:, None]),
        LeafBlock(FAMILIES["constant"], constants, np.full(constants.size, -1), log_constants[:, None]),
    ]


def _by_parent(parent: Ints) -> Ints | slice:
    """The order that brings the edges of each parent together; most groups are in order already."""
    return slice(None) if (np.diff(parent) >= 0).all() else np.argsort(parent, kind="stable")


def renumbered_blocks(
    blocks: Iterable[Block], number: Ints
) -> tuple[tuple[LeafBlock, ...], tuple[JointBlock, ...], tuple[GateBlock, ...]]:
    """The leaves that are kept (`number` is not -1) under their new numbers, one block a family and width.

    Gates keep the blocks that they are in.
    """
    single: dict[tuple[Family, int], list[LeafBlock]] = {}
    several: dict[tuple[str, int, int], list[JointBlock]] = {}
    gates: list[GateBlock] = []
    for block in blocks:
        if isinstance(block, GateBlock):
            node, order = _kept_in_order([block], number)
            gates += [block.select(order, node[order])] if order.size else []
        elif isinstance(block, JointBlock):
            key = (block.family.name, block.columns.shape[1], block.params.shape[1])
            several.setdefault(key, []).append(block)
        else:
            single.setdefault((block.family, block.params.shape[1]), []).append(block)
    leaves = (_merge_blocks(group, number) for group in single.values())
    joints = (_merge_joints(group, number) for group in several.values())
    return tuple(b for b in leaves if b.node.size), tuple(b for b in joints if b.node.size), tuple(gates)


def _merge_blocks(blocks: list[LeafBlock], number: Ints) -> LeafBlock:
    node, order = _kept_in_order(blocks, number)
    column = np.concatenate([b.column for b in blocks])[order]
    params = np.concatenate([b.params for b in blocks])[order]
    return LeafBlock(blocks[0].family, node[order], column, params)


def _merge_joints(blocks: list[JointBlock], number: Ints) -> JointBlock:
    node, order = _kept_in_order(blocks, number)
    columns = np.concatenate([b.columns for b in blocks])[order]
    params = np.concatenate([b.params for b in blocks])[order]
    return JointBlock(blocks[0].family, node[order], columns, params)


def _kept_in_order(blocks: Sequence[Block], number: Ints) -> tuple[Ints, Ints]:
    """The new numbers of the nodes of all blocks, and the places of those that are kept, in their order."""
    node = number[np.concatenate([b.node for b in blocks])]
    order = np.argsort(node, kind="stable")
    return node, order[node[order] >= 0]


def renumbered_features(features: FeatureTable, number: Ints) -> FeatureTable:
    """The features under new node numbers; one whose leaf is gone from the circuit keeps the number -1."""
    node = np.where(features.node < 0, -1, number[features.node])
    return replace(features, node=node)
