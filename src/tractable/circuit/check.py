"""What must hold of every graph, checked once when it is made."""

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.graph import (
    LEAF,
    PRODUCT,
    SUM,
    Block,
    GateBlock,
    Graph,
    JointBlock,
    LeafBlock,
    block_name,
)
from tractable.circuit.shapes import check_mixture

LARGEST_LOG = 1e8  # of a weight or a constant; a double then keeps eight digits behind the point


def check_graph(graph: Graph) -> None:
    """Refuse arrays that are no circuit.

    Raises:
        ValueError: naming the first node, edge or parameter that is wrong.
    """
    _check_shapes(graph)
    _check_edges(graph)
    _check_weights(graph)
    for block in graph.leaves:
        _check_block(graph, block)
    for joint in graph.joints:
        _check_joint(graph, joint)
    for gate in graph.gates:
        _check_gates(graph, gate)
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
    for block in graph.leaves:
        logs = block.params[:, 0] if block.family.is_constant else np.zeros(0)
        for place in np.flatnonzero(is_too_large(logs)):
            raise ValueError(
                f"the logarithm of constant {block.node[place]} is {explain_too_large(logs[place])}"
            )


def is_partition(start: Ints, size: int) -> bool:
    """Whether `start` divides so many things among parts in order: part i has start[i]:start[i + 1].

    Differences of the hugest numbers would wrap around, so that they are compared instead.
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
        raise ValueError("a circuit has at least one node")
    if graph.start.shape != (nodes + 1,) or graph.log_weight.shape != (edges,):
        raise ValueError(f"the arrays of a circuit with {nodes} nodes and {edges} edges do not fit together")
    if not is_partition(graph.start, edges):
        raise ValueError("the edges are not divided among the nodes in order")
    if graph.kind.max() > SUM:
        raise ValueError(f"node {int(graph.kind.argmax())} is of an unknown kind")


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
            f"node {int(parent[edge])} has child {int(graph.child[edge])}:"
            " a child is numbered from 0 up and before its parents"
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


def _check_block(graph: Graph, block: LeafBlock) -> None:
    name = block.family.name
    size = block.node.size
    if block.column.shape != (size,) or block.params.ndim != 2 or len(block.params) != size:
        raise ValueError(f"the arrays of the {name} leaves do not fit together")
    _check_nodes(graph, block)
    if block.family.is_constant:
        if block.params.shape[1] != 1:
            raise ValueError(f"a constant leaf has one parameter, its log value, not {block.params.shape[1]}")
        if (block.column != -1).any() or np.isnan(block.params).any() or (block.params == np.inf).any():
            raise ValueError("a constant leaf is over no column and its log value is finite or -inf")
        return
    outside = np.flatnonzero((block.column < 0) | (block.column >= len(graph.schema)))
    if outside.size:
        raise ValueError(
            f"leaf {int(block.node[outside[0]])} is over column {int(block.column[outside[0]])}, out of range"
        )
    order = np.argsort(block.column, kind="stable")
    columns, first = np.unique(block.column[order], return_index=True)
    for column, leaves in zip(columns.tolist(), np.split(order, first)[1:], strict=True):
        _check_column(graph, block, column, leaves)
    fault = block.family.check_schema(graph.schema)
    if fault is not None:
        raise ValueError(f"{name} leaves: {fault}")


def _check_gates(graph: Graph, block: GateBlock) -> None:
    size, weights = block.node.size, block.regressions.weights
    if block.regression.shape != (size,) or block.outcome.shape != (size,):
        raise ValueError("the arrays of the gates do not fit together")
    _check_nodes(graph, block)
    if not graph.schema.inputs.size:
        raise ValueError("gates depend on inputs, and no column is an input")
    fault = block.regressions.check(graph.schema)
    if fault is not None:
        raise ValueError(f"gates: {fault}")
    inside = (block.regression >= 0) & (block.regression < len(weights)) & (block.outcome >= 0)
    outside = np.flatnonzero(~inside | (block.outcome > weights.shape[1]))
    if outside.size:
        raise ValueError(f"gate {int(block.node[outside[0]])} is of a regression or an outcome out of range")


def _check_nodes(graph: Graph, block: Block) -> None:
    node = block.node
    if node.size and (node.min() < 0 or node.max() >= graph.nodes or (np.diff(node) <= 0).any()):
        raise ValueError(f"the nodes of the {block_name(block)} leaves are not ascending node numbers")


def _check_joint(graph: Graph, block: JointBlock) -> None:
    name, size, columns = block.family.name, block.node.size, block.columns
    if columns.ndim != 2 or len(columns) != size or block.params.ndim != 2 or len(block.params) != size:
        raise ValueError(f"the arrays of the {name} leaves do not fit together")
    _check_nodes(graph, block)
    for line, node in zip(columns.tolist(), block.node.tolist(), strict=True):
        if not line or min(line) < 0 or max(line) >= len(graph.schema) or len(set(line)) < len(line):
            raise ValueError(f"leaf {node} is over the columns {line}: they are out of range or not distinct")
        for column in line:
            if not block.family.accepts(graph.schema[column]):
                raise ValueError(
                    f"leaf {node}: a {name} leaf cannot stand over the {graph.schema[column].kind} column"
                    f" '{graph.schema[column].name}'"
                )
    fault = block.family.check(block.params, columns.shape[1])
    if fault is not None:
        raise ValueError(f"{name} leaves: {fault}")


def _check_column(graph: Graph, block: LeafBlock, column: int, chosen: Ints) -> None:
    """Check the chosen leaves of a block, which are all those over one column."""
    variable = graph.schema[column]
    if not block.family.accepts(variable):
        raise ValueError(
            f"leaf {int(block.node[chosen][0])}: a {block.family.name} leaf cannot stand over the"
            f" {variable.kind} column '{variable.name}'"
        )
    fault = block.family.check(block.params[chosen], variable)
    if fault is not None:
        raise ValueError(f"{block.family.name} leaves over column '{variable.name}': {fault}")


def _check_every_leaf_is_described(graph: Graph) -> None:
    described = np.zeros(graph.nodes, dtype=np.int64)
    for block in graph.blocks:
        np.add.at(described, block.node, 1)
    wrong = np.flatnonzero(described != (graph.kind == LEAF))
    if wrong.size:
        node = int(wrong[0])
        raise ValueError(f"node {node} is described as a leaf {int(described[node])} times")
