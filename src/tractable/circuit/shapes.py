"""Mixtures of components of one shape: the same nodes and columns in each, with other numbers.

Such a circuit is a sum over roots of components. Where the nodes that stand for the same part of the shape
are numbered with equal steps from one component to the next, one component (the *template*) and these steps
tell the whole structure. A node may be shared by all components: its step is zero.
"""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Bytes, Ints
from tractable.circuit.facts import remember
from tractable.circuit.graph import LEAF, SUM, Graph

LEAST_COMPONENTS = 8  # from which on it pays to look for a shape


@dataclass(frozen=True, slots=True, eq=False)
class SharedShape:
    """A template whose node t stands for the nodes `first[t] + step[t] * k` of the components k."""

    size: int  # components
    first: Ints  # (template nodes,) children before parents, the component's root last
    step: Ints  # (template nodes,)
    kind: Bytes  # (template nodes,)
    start: Ints  # (template nodes + 1,)
    child: Ints  # (template edges,) template nodes
    block: Ints  # (template nodes,) the block of a leaf; -1 for other nodes

    def nodes_of(self, template: int) -> Ints:
        """The nodes of all components that a template node stands for. Shape (components,)."""
        return np.asarray(self.first[template] + self.step[template] * np.arange(self.size))


def shared_shape(graph: Graph) -> SharedShape | None:
    """The shape that all components of a mixture have in common; None if there is none."""
    return remember(graph, "shared shape", _find_shape)


def _find_shape(graph: Graph) -> SharedShape | None:
    first, last = int(graph.start[graph.root]), int(graph.start[graph.root + 1])
    if graph.kind[graph.root] != SUM or last - first < LEAST_COMPONENTS:
        return None
    if graph.joints or graph.gates:
        return None
    search = _Search(graph, last - first)
    try:
        search.visit_all(graph.child[first:last])
    except _DifferentShapesError:
        return None
    return search.shape()


class _DifferentShapesError(Exception):
    """Two components differ, or are numbered in different ways."""


class _Search:
    """A walk through all components at the same time, children before parents."""

    def __init__(self, graph: Graph, size: int) -> None:
        self.graph, self.size = graph, size
        self.count = np.arange(size)
        self.block, self.column = (np.full(graph.nodes, -1, dtype=np.int64) for _ in range(2))
        for number, block in enumerate(graph.leaves):
            self.block[block.node], self.column[block.node] = number, block.column
        self.number: dict[tuple[int, int], int] = {}  # of the template node, by its first node and step
        self.order: list[tuple[int, int]] = []
        self.children: list[list[int]] = []

    def visit_all(self, roots: Ints) -> None:
        """Number all template nodes below the roots of the components.

        Raises:
            _DifferentShapesError: if the components differ.
        """
        stack = [(self._key(roots), False)]
        while stack:
            key, is_ready = stack.pop()
            if key in self.number:
                continue
            below = self._below(key)
            if is_ready or all(one in self.number for one in below):
                self.number[key] = len(self.order)
                self.order.append(key)
                self.children.append([self.number[one] for one in below])
            else:
                stack += [(key, True), *((one, False) for one in below)]

    def _key(self, nodes: Ints) -> tuple[int, int]:
        """The first of some nodes and the step between them."""
        first, step = int(nodes[0]), int(nodes[1] - nodes[0])
        if (nodes != first + step * self.count).any():
            raise _DifferentShapesError
        return first, step

    def _below(self, key: tuple[int, int]) -> list[tuple[int, int]]:
        first, step = key
        graph = self.graph
        nodes = first + step * self.count if step else np.array([first])
        degree = graph.start[nodes + 1] - graph.start[nodes]
        alike = (graph.kind[nodes], self.block[nodes], self.column[nodes], degree)
        if any((each != each[0]).any() for each in alike):
            raise _DifferentShapesError
        if not step:  # a shared node has the same children everywhere
            return [(int(c), 0) for c in graph.child[graph.start[first] : graph.start[first + 1]]]
        return [self._key(graph.child[graph.start[nodes] + j]) for j in range(int(degree[0]))]

    def shape(self) -> SharedShape:
        """The shape that was found."""
        first, step = np.array(self.order, dtype=np.int64).reshape(-1, 2).T
        start = np.cumsum([0, *(len(c) for c in self.children)])
        child = np.array([c for some in self.children for c in some], dtype=np.int64)
        block = np.where(self.graph.kind[first] == LEAF, self.block[first], -1)
        return SharedShape(self.size, first, step, self.graph.kind[first], start, child, block)
