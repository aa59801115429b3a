"""Mixtures of components of one shape, and mixtures of several circuits, as their builders declare them.

`Graph.mixture` is such a declaration. It is checked whenever a graph is made, so that no graph carries a
wrong one; whoever makes a graph of another structure leaves it out.
"""

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints
from tractable.circuit.blocks import ConstantBlock, FactorBlock, GateBlock, LeafBlock
from tractable.circuit.facts import remembered
from tractable.circuit.graph import LEAF, SUM, Graph, Members, Shape
from tractable.circuit.reach import reachable

LEAST_COMPONENTS = 8  # from which on a shape is worth declaring


class Template(NamedTuple):
    """One component of a mixture of components of one shape, and the nodes of all."""

    node: Ints  # (nodes, components) of the graph; children before parents, the component's root last
    kind: Bytes  # (nodes,)
    start: Ints  # (nodes + 1,)
    child: Ints  # (edges,) nodes of the template
    block: Ints  # (nodes,) the block of a leaf; -1 for other nodes
    column: Ints  # (nodes,) the column of a leaf; -1 for other nodes

    @property
    def parent(self) -> Ints:
        """The node of the template above each edge. Shape (edges,)."""
        return np.repeat(np.arange(self.kind.size), np.diff(self.start))

    def edges(self, start: Ints) -> Ints:
        """The edges of all components in a graph with these starts. Shape (edges, components)."""
        parent = self.parent
        return np.asarray(start[self.node[parent]] + (np.arange(parent.size) - self.start[parent])[:, None])


def declare_shape(graph: Graph) -> Graph:
    """The mixture with a declaration of the common shape of its components, unless it is small.

    Raises:
        ValueError: if the components differ in structure or numbering.
    """
    roots = _below(graph, graph.root)
    if graph.kind[graph.root] != SUM or roots.size < LEAST_COMPONENTS:
        return graph
    first, second = (reachable(graph.start, graph.child, int(root)) for root in roots[:2])
    declared = _carrying(graph, Shape(first, second - first))
    check_mixture(declared)
    return declared


def declare_members(mixed: Graph, graphs: Sequence[Graph]) -> Graph:
    """The mixture of some circuits, whose nodes it numbers one circuit after the other, with what it carries.

    It carries nothing if no component has a shape that others have, too.
    """
    size, known = graphs[0].nodes, [graph.mixture for graph in graphs]
    mixture: Shape | Members = Members(np.cumsum([graph.nodes for graph in graphs]), tuple(known))
    if not any(known):
        mixture = Shape(np.arange(size), np.full(size, size))
        if len(graphs) < LEAST_COMPONENTS:
            return mixed
    return _carrying(mixed, mixture) if _is_mixture(mixed, mixture, 0, mixed.root) else mixed


def _carrying(graph: Graph, mixture: Shape | Members) -> Graph:
    twin = copy(graph)
    object.__setattr__(twin, "mixture", mixture)
    return twin


def template(graph: Graph, shape: Shape, begin: int = 0, root: int | None = None) -> Template:
    """The template of a mixture, or of one inside a graph, whose nodes are from `begin` to its root."""
    root = graph.root if root is None else root
    node = begin + shape.first[:, None] + shape.step[:, None] * np.arange(_below(graph, root).size)
    first = node[:, 0]
    number = np.full(root - begin, -1)
    number[shape.first] = np.arange(first.size)
    degree = graph.start[first + 1] - graph.start[first]
    start = np.concatenate([[0], np.cumsum(degree)])
    edge = np.repeat(graph.start[first] - start[:-1], degree) + np.arange(start[-1])
    child = number[graph.child[edge] - begin]
    block, column = _leaf_places(graph, begin, root)[:, shape.first]
    return Template(node, graph.kind[first], start, child, block, column)


def _leaf_places(graph: Graph, begin: int, end: int) -> Ints:
    """The block and the column of the leaves among some nodes; -1 for other nodes. Shape (2, nodes).

    Leaves that stand over or read more than one column are left out.
    """
    places = np.full((2, end - begin), -1)
    for number, block in enumerate(graph.blocks):
        if not isinstance(block, LeafBlock | ConstantBlock | FactorBlock):
            continue
        column = block.first_column(graph.schema)
        for some in _inside(block.node, begin, end):
            places[0, block.node[some] - begin] = number
            places[1, block.node[some] - begin] = column[some]
    return places


def check_mixture(graph: Graph) -> None:
    """Refuse a graph that is not the mixture that it is declared to be.

    Raises:
        ValueError: saying so.
    """
    if graph.mixture is not None and not _is_mixture(graph, graph.mixture, 0, graph.root):
        raise ValueError("the circuit is not the mixture that it declares")


def _is_mixture(graph: Graph, mixture: Shape | Members | None, begin: int, root: int) -> bool:
    """Whether the nodes from `begin` to a root are of a mixture."""
    if mixture is None:
        return True
    if graph.kind[root] != SUM or graph.features is not None or graph.blocks_of(GateBlock):
        return False
    is_of = _has_shape if isinstance(mixture, Shape) else _has_members
    return is_of(graph, mixture, begin, root)  # type: ignore[arg-type]


def _has_shape(graph: Graph, shape: Shape, begin: int, root: int) -> bool:
    first, step, size = shape.first, shape.step, root - begin
    if not first.size or first.shape != step.shape or (np.abs(step) > size).any():
        return False
    ends = np.stack([first, first + step * (_below(graph, root).size - 1)])
    if (ends < 0).any() or (ends >= size).any():
        return False
    pattern = template(graph, shape, begin, root)
    node, is_shared = pattern.node, step == 0
    nodes = np.sort(np.concatenate([node[~is_shared].ravel(), node[is_shared, 0]]))
    if not np.array_equal(nodes, np.arange(begin, root)) or not np.array_equal(node[-1], _below(graph, root)):
        return False
    if (pattern.child < 0).any() or ((pattern.kind == LEAF) & (pattern.block < 0)).any():
        return False  # a child that is not of the component, or a leaf over several columns
    degree = np.diff(graph.start[begin : root + 1])
    for array in (graph.kind[begin:root], degree, *_leaf_places(graph, begin, root)):
        if (array[node - begin] != array[first][:, None]).any():
            return False
    return np.array_equal(graph.child[pattern.edges(graph.start)], node[pattern.child])


def _has_members(graph: Graph, members: Members, begin: int, root: int) -> bool:
    roots = _below(graph, root)
    ends = begin + np.concatenate([[0], members.end])
    if len(members.mixtures) != members.end.size or not np.array_equal(ends[1:] - 1, roots):
        return False
    if (np.diff(ends) <= 0).any() or ends[-1] != root:
        return False
    edges = slice(int(graph.start[begin]), int(graph.start[root]))
    lowest = np.repeat(ends[:-1], np.diff(graph.start[ends]))
    if (graph.child[edges] < lowest).any():
        return False  # a node belongs to two members
    inside = zip(members.mixtures, ends[:-1].tolist(), roots.tolist(), strict=True)
    return all(_is_mixture(graph, mixture, first, last) for mixture, first, last in inside)


def _below(graph: Graph, node: int) -> Ints:
    """The children of a node."""
    return graph.child[graph.start[node] : graph.start[node + 1]]


def root_weights(graph: Graph) -> Floats:
    """The log-weights of the root."""
    return graph.log_weight[graph.start[graph.root] :]


@remembered
def members_of(graph: Graph) -> tuple[Graph, ...]:
    """The circuits of a declared mixture, or nothing."""
    if not isinstance(graph.mixture, Members):
        return ()
    ends = graph.mixture.end.tolist()
    inside = zip([0, *ends[:-1]], ends, graph.mixture.mixtures, strict=True)
    return tuple(_take(graph, *each) for each in inside)


def _take(graph: Graph, begin: int, end: int, mixture: Shape | Members | None) -> Graph:
    """The circuit of the nodes from `begin` to before `end`, whose root is the last."""
    edges = slice(int(graph.start[begin]), int(graph.start[end]))
    blocks = tuple(
        block.select(some).renumber(block.node[some] - begin)
        for block in graph.blocks
        for some in _inside(block.node, begin, end)
    )
    return Graph(
        graph.schema,
        graph.kind[begin:end],
        graph.start[begin : end + 1] - edges.start,
        graph.child[edges] - begin,
        graph.log_weight[edges],
        blocks,
        mixture=mixture,
    )


def _inside(node: Ints, begin: int, end: int) -> list[slice]:
    """The slice of ascending nodes that are between two numbers; none if there are no such nodes."""
    first, last = np.searchsorted(node, [begin, end]).tolist()
    return [slice(first, last)] if first < last else []
