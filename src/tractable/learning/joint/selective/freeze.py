"""The circuit of a selective tree."""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import Builder, Graph
from tractable.learning.joint.selective.filling import count_edges, pass_rows
from tractable.learning.joint.selective.nodes import Arrays, indices, list_nodes
from tractable.learning.joint.selective.rows import CodedRows
from tractable.learning.joint.selective.tree import SelectiveTree


def freeze(tree: SelectiveTree, rows: CodedRows, way: int) -> Graph:
    """The circuit with closed-form weights: relative counts with pseudo-counts, smoothed in one way.

    The rows need not be those that the tree was found on. A sum over a single state is an indicator.
    """
    arrays, nodes, listed = tree.arrays, tree.nodes, list_nodes(tree.arrays, tree.root)
    log_weights = _log_weights(tree, listed, rows, way)
    builder, made = Builder(rows.schema), dict[int, int]()
    for node in listed[::-1].tolist():
        column, first, edges = nodes[["column", "first_edge", "edges"]][node].item()
        if nodes["nodes"][node] > 1:
            below = [made.pop(child) for child in arrays.child[first : first + edges].tolist()]
        else:
            branch = arrays.branch[nodes["first_state"][node] :][: nodes["states"][node]]
            below = [builder.indicator(column, state) for state in np.flatnonzero(branch >= 0).tolist()]
        if column < 0:
            made[node] = builder.product(below)
        else:
            is_sum = len(below) > 1
            made[node] = builder.sum(below, log_weights[first : first + edges]) if is_sum else below[0]
    return builder.freeze(made[tree.root])


def _log_weights(tree: SelectiveTree, listed: Ints, rows: CodedRows, way: int) -> Floats:
    """The logarithms of the weights of all edges of sums."""
    arrays, counts = tree.arrays, _edge_counts(tree.arrays, listed, rows)
    sums = tree.nodes[listed]
    sums = sums[(sums["column"] >= 0) & (sums["edges"] > 0)]
    edge = indices(sums["first_edge"], sums["edges"])
    state = indices(sums["first_state"], sums["states"])
    state_edge = np.repeat(sums["first_edge"], sums["states"]) + arrays.branch[state]
    has_edge = arrays.branch[state] >= 0
    means = np.bincount(state_edge[has_edge], arrays.prior[state[has_edge], way], counts.size)
    even, inherited = tree.smoothing.even[way], tree.smoothing.inherited[way]
    smoothed = counts[edge] + even + inherited * means[edge]
    total = np.bincount(np.repeat(np.arange(sums.size), sums["edges"]), smoothed, sums.size)
    answer: Floats = np.zeros(counts.size)
    answer[edge] = np.log(smoothed / np.repeat(total, sums["edges"]))
    return answer


def _edge_counts(tree: Arrays, listed: Ints, rows: CodedRows) -> Floats:
    """The weight of the rows on each edge of each sum, where all rows reach the first node."""
    many, used = rows.weights.size, -1
    cells = tree.cells._replace(codes=rows.codes, weight=rows.weights, training=many)
    copy = tree._replace(
        nodes=tree.nodes.copy(), counts=tree.counts.copy(), held=tree.held.copy(), cells=cells
    )
    room = 2 * many + 64
    while used < 0:
        room *= 2
        copy = copy._replace(row=np.zeros(room, dtype=np.int32))
        copy.row[:many] = np.arange(many)
        for field, value in (("first_row", 0), ("rows", many), ("all_rows", many)):
            copy.nodes[field][listed[0]] = value
        used = pass_rows(copy, listed, many)
    count_edges(copy, listed)
    return copy.counts
