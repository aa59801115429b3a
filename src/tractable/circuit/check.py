"""Validation of graphs, once when they are created."""

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.blocks import ConstantBlock
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.shapes import check_mixture

LARGEST_LOG = 1e8  # of a weight or a constant; a double then keeps eight digits behind the point


def check_graph(graph: Graph) -> None:
    """Refuse arrays that do not form a valid circuit.

    Raises:
        ValueError: naming the first node, edge or parameter that is wrong.
    """
    _check_shapes(graph)
    _check_edges(graph)
    _check_weights(graph)
    for block in graph.blocks:
        node = block.node
        if node.size and (node.min() < 0 or node.max() >= graph.nodes or (np.diff(node) <= 0).any()):
            raise ValueError(f"the nodes of the {block.name} leaves are not in ascending order")
        block.check(graph.schema)
    _check_every_leaf_is_described(graph)
    check_mixture(graph)


def check_magnitudes(graph: Graph) -> None:
    """Refuse a circuit whose numbers have logarithms so large that nothing can be computed with them.

    A logarithm of 1e16 is the same number as itself plus one, so that a sum cannot tell its terms apart. What
    counts is the largest weight of each sum: a smaller one, however small, is just negligible beside it.
    Circuits that are built, read or written are checked; those that queries make of others need not be.

    Raises:
        ValueError: naming the node.
    """
    inner = np.flatnonzero(graph.kind != LEAF)
    tops = np.maximum.reduceat(graph.log_weight, graph.start[inner]) if inner.size else np.zeros(0)
    for place in np.flatnonzero(is_too_large(tops)):
        raise ValueError(f"the largest log weight of sum {inner[place]} is {explain_too_large(tops[place])}")
    for block in graph.blocks_of(ConstantBlock):
        for place in np.flatnonzero(is_too_large(block.log_value)):
            size = explain_too_large(block.log_value[place])
            raise ValueError(f"the logarithm of constant {block.node[place]} is {size}")


def is_partition(start: Ints, size: int) -> bool:
    """Whether `start` divides a number of items among groups in order: group i has start[i]:start[i + 1].

    Numbers are compared, because differences of huge numbers would wrap around.
    """
    ends = start.size > 0 and start[0] == 0 and start[-1] == size
    return bool(ends and (start[1:] >= start[:-1]).all())


def is_too_large(logs: Floats) -> Bools:
    """Which logarithms are finite and too large to compute with."""
    size = np.abs(logs)
    return (size > LARGEST_LOG) & (size < np.inf)


def explain_too_large(log: float) -> str:
    """A logarithm that is too large, and what can be done about it, in words."""
    return (
        f"{log:g}: beyond {LARGEST_LOG:g} either way sums lose their digits (-inf is the logarithm of zero)"
    )


def _check_shapes(graph: Graph) -> None:
    nodes, edges = graph.kind.size, graph.child.size
    if nodes == 0:
        raise ValueError("a circuit must have at least one node")
    if graph.start.shape != (nodes + 1,) or graph.log_weight.shape != (edges,):
        raise ValueError(f"the arrays of a circuit with {nodes} nodes and {edges} edges do not fit together")
    if not is_partition(graph.start, edges):
        raise ValueError("the edges are not divided among the nodes in order")
    if graph.kind.max() > SUM:
        raise ValueError(f"node {int(graph.kind.argmax())} has an unknown kind")


def _check_edges(graph: Graph) -> None:
    degree = np.diff(graph.start)
    childless = np.flatnonzero((degree == 0) != (graph.kind == LEAF))
    if childless.size:
        node = int(childless[0])
        raise ValueError(
            f"node {node} is {'a leaf with' if graph.kind[node] == LEAF else 'inner and has no'} children"
        )
    parent = graph.parent
    wrong = np.flatnonzero((graph.child < 0) | (graph.child >= parent))
    if wrong.size:
        edge = int(wrong[0])
        raise ValueError(
            f"node {int(parent[edge])} has child {int(graph.child[edge])}: the number of a child must be at"
            " least 0 and below those of its parents"
        )


def _check_weights(graph: Graph) -> None:
    wrong = np.flatnonzero(np.isnan(graph.log_weight) | (graph.log_weight == np.inf))
    if wrong.size:
        edge = int(wrong[0])
        raise ValueError(
            f"the log weight of node {int(graph.parent[edge])} to its child is {graph.log_weight[edge]:g}"
        )
    weighted = np.flatnonzero((graph.log_weight != 0) & (graph.kind[graph.parent] == PRODUCT))
    if weighted.size:
        raise ValueError(f"product {int(graph.parent[weighted[0]])} has a weighted edge")


def _check_every_leaf_is_described(graph: Graph) -> None:
    described = np.zeros(graph.nodes, dtype=np.int64)
    for block in graph.blocks:
        np.add.at(described, block.node, 1)
    wrong = np.flatnonzero(described != (graph.kind == LEAF))
    if wrong.size:
        node = int(wrong[0])
        raise ValueError(f"node {node} is described as a leaf {int(described[node])} times")
