"""Mixtures of components of one shape in .tract files: the shape is stored once, and then all numbers.

The arrays are those of a template (see `circuit/shapes.py`), the log-weights of its sums with a column for
each component, and the log-weights of the mixture.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tractable.base.arrays import AnyArray, Bytes, Floats, Ints
from tractable.circuit.check import is_partition
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph, LeafBlock
from tractable.circuit.leaves.family import Family
from tractable.circuit.shapes import SharedShape, shared_shape
from tractable.data.schema import Schema

Tensors: TypeAlias = dict[str, AnyArray]

SHAPE: dict[str, tuple[Any, int]] = {  # types and dimensions of the arrays
    "first": (np.int64, 1), "step": (np.int64, 1), "kind": (np.uint8, 1), "start": (np.int64, 1),
    "child": (np.int64, 1), "block": (np.int64, 1), "column": (np.int64, 1),
    "weight": (np.float64, 2), "root": (np.float64, 1),
}  # fmt: skip


class Packed(NamedTuple):
    """The arrays of a file."""

    first: Ints  # (template nodes,)
    step: Ints  # (template nodes,)
    kind: Bytes  # (template nodes,)
    start: Ints  # (template nodes + 1,)
    child: Ints  # (template edges,)
    block: Ints  # (template nodes,) of a leaf, else -1
    column: Ints  # (template nodes,) of a leaf, else -1
    weight: Floats  # (edges of sums of the template, components)
    root: Floats  # (components,)

    def nodes_of(self, template: int) -> Ints:
        """The nodes that a template node stands for: one for each component, or one that they share."""
        count = self.root.size if self.step[template] else 1
        return np.asarray(self.first[template] + self.step[template] * np.arange(count))


def shape_tensors(graph: Graph) -> Tensors | None:
    """The arrays of a mixture of components of one shape; None for other circuits."""
    shape = shared_shape(graph) if graph.features is None else None
    if shape is None or np.where(shape.step > 0, shape.size, 1).sum() + 1 != graph.nodes:
        return None
    column = np.full(graph.nodes, -1, dtype=np.int64)
    for block in graph.leaves:
        column[block.node] = block.column
    top = slice(int(graph.start[graph.root]), int(graph.start[graph.root + 1]))
    packed = Packed(
        shape.first, shape.step, shape.kind, shape.start, shape.child, shape.block, column[shape.first],
        _sum_weights(graph, shape), graph.log_weight[top],
    )  # fmt: skip
    tensors: Tensors = {f"shape.{name}": getattr(packed, name) for name in SHAPE}
    return tensors | {f"leaf.{i}.params": block.params for i, block in enumerate(graph.leaves)}


def _sum_weights(graph: Graph, shape: SharedShape) -> Floats:
    """The log-weights of all edges of sums of the template. Shape (edges, components)."""
    lines = [np.zeros((0, shape.size))]
    for node in np.flatnonzero(shape.kind == SUM).tolist():
        edge = graph.start[shape.nodes_of(node)]
        lines += [graph.log_weight[edge + j][None] for j in range(shape.start[node + 1] - shape.start[node])]
    return np.concatenate(lines)


def graph_from_shape(packed: Packed, schema: Schema, leaves: list[tuple[Family, Floats]]) -> Graph:
    """The circuit whose arrays were stored, with families and parameters of its blocks of leaves.

    Raises:
        ValueError: naming what is wrong.
    """
    size = _check(packed, len(leaves))
    degree = np.zeros(size, dtype=np.int64)
    kind = np.zeros(size, dtype=np.uint8)
    template_degree = np.diff(packed.start)
    groups = [packed.nodes_of(t) for t in range(packed.first.size)]
    for t, nodes in enumerate(groups):
        degree[nodes], kind[nodes] = template_degree[t], packed.kind[t]
    degree[-1], kind[-1] = packed.root.size, SUM
    start = np.concatenate([[0], np.cumsum(degree)])
    child, weight = np.zeros(start[-1], dtype=np.int64), np.zeros(start[-1])
    child[start[-2] :], weight[start[-2] :] = groups[-1], packed.root
    line = 0
    for t, nodes in enumerate(groups):
        for j, below in enumerate(packed.child[packed.start[t] : packed.start[t + 1]].tolist()):
            child[start[nodes] + j] = groups[below]
            if packed.kind[t] == SUM:
                weight[start[nodes] + j] = packed.weight[line][: nodes.size]
                line += 1
    blocks = tuple(_leaf_block(packed, groups, number, *leaf) for number, leaf in enumerate(leaves))
    return Graph(schema, kind, start, child, weight, blocks)


def _leaf_block(packed: Packed, groups: list[Ints], number: int, family: Family, params: Floats) -> LeafBlock:
    """The leaves of one block, by ascending nodes."""
    mine = np.flatnonzero(packed.block == number).tolist()
    node = np.concatenate([np.zeros(0, dtype=np.int64), *(groups[t] for t in mine)])
    column = np.concatenate(
        [np.zeros(0, dtype=np.int64), *(np.full(groups[t].size, packed.column[t]) for t in mine)]
    )
    if len(params) != node.size:
        raise ValueError(f"the array 'leaf.{number}.params' has {len(params)} lines, not {node.size}")
    order = np.argsort(node)
    return LeafBlock(family, node[order], column[order], params)


def _check(packed: Packed, blocks: int) -> int:
    """The number of nodes of the circuit.

    Raises:
        ValueError: if the arrays do not fit together.
    """
    nodes, edges, components = packed.first.size, packed.child.size, packed.root.size
    sizes = {"step": nodes, "kind": nodes, "start": nodes + 1, "block": nodes, "column": nodes}
    for name, size in sizes.items():
        if getattr(packed, name).size != size:
            raise ValueError(f"the array 'shape.{name}' has {getattr(packed, name).size} entries, not {size}")
    if not nodes or not components:
        raise ValueError("the shape of the components is empty")
    if not is_partition(packed.start, edges):
        raise ValueError("the edges are not divided among the nodes of the shape in order")
    degree = np.diff(packed.start)
    above = np.repeat(np.arange(nodes), degree)
    if ((packed.child < 0) | (packed.child >= above)).any():
        raise ValueError("a child of the shape is not numbered before its parent")
    is_leaf = packed.kind == LEAF
    if not np.isin(packed.kind, (LEAF, PRODUCT, SUM)).all() or (is_leaf != (packed.block >= 0)).any():
        raise ValueError("a node of the shape is of an unknown kind")
    if (packed.block >= blocks).any() or (degree[is_leaf] > 0).any():
        raise ValueError("a leaf of the shape is in no block")
    if packed.weight.shape != (int(degree[packed.kind == SUM].sum()), components):
        raise ValueError("the weights of the shape are not as many as its edges")
    return _check_places(packed)


def _check_places(packed: Packed) -> int:
    """The number of nodes, each of which stands for one node of the shape."""
    components = packed.root.size
    size = int(np.where(packed.step != 0, components, 1).sum()) + 1
    if not (_are_between(packed.step, -size, size) and _are_between(packed.first, -1, size - 1)):
        raise ValueError("a node of the shape is out of range")
    if not _are_between(packed.first + packed.step * (components - 1), -1, size - 1):
        raise ValueError("a node of the shape is out of range")
    count = np.zeros(size - 1, dtype=np.int64)
    for t in range(packed.first.size):
        count[packed.nodes_of(t)] += 1
    if (count != 1).any():
        raise ValueError("the nodes of the shape do not stand for each node once")
    if packed.step[-1] == 0 and components > 1:
        raise ValueError("all components of the shape are the same")
    return size


def _are_between(numbers: Ints, low: int, high: int) -> bool:
    """Whether all of some numbers are above one number and below another."""
    return bool(((numbers > low) & (numbers < high)).all())
