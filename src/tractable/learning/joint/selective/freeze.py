"""The circuit of a selective tree."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.learning.joint.selective.filling import edge_counts, pass_down
from tractable.learning.joint.selective.nodes import Node
from tractable.learning.joint.selective.rows import CodedRows
from tractable.learning.joint.selective.shapes import Shape
from tractable.learning.joint.selective.smoothing import Smoothing
from tractable.learning.joint.selective.subtrees import Subtree, subtree_of


def freeze(root: Node, rows: CodedRows, smoothing: Smoothing, way: int) -> Graph:
    """The circuit with closed-form weights: relative counts with pseudo-counts.

    The rows need not be those that the tree was found on. A sum over a single state is an indicator.
    """
    whole, top = subtree_of(root)
    assert top == 0  # of the root
    weights = _log_weights(whole, rows, smoothing, way).tolist()
    starts = whole.weights.edge_start.tolist()
    builder = Builder(rows.schema)
    waiting: list[int] = []  # nodes without a parent yet, the first child last
    for node in range(whole.shape.column.size - 1, -1, -1):
        column, first, last = int(whole.shape.column[node]), starts[node], starts[node + 1]
        if whole.shape.many[node] == 1:
            edges = [builder.indicator(column, state) for state in _states(whole.shape, node)]
        else:
            many = last - first if column >= 0 else _child_count(whole.shape, node)
            edges = [waiting.pop() for _ in range(many)]
        if column < 0:
            waiting.append(builder.product(edges))
        else:
            waiting.append(edges[0] if len(edges) == 1 else builder.sum(edges, weights[first:last]))
    return builder.freeze(waiting[0])


def _log_weights(whole: Subtree, rows: CodedRows, smoothing: Smoothing, way: int) -> Floats:
    """The logarithms of the weights of all edges of sums."""
    shape, (edge_start, _, prior) = whole.shape, whole.weights
    everything = np.arange(rows.weights.size, dtype=np.int32)
    counts = edge_counts(shape, edge_start, rows, pass_down(shape, rows, everything))
    states, edges = np.diff(shape.state_start), np.diff(edge_start)
    node = np.repeat(np.arange(states.size), states)
    state = np.arange(node.size) - shape.state_start[node]
    mean = prior[smoothing.ways * shape.state_start[node] + way * states[node] + state]
    counted = (shape.branch >= 0) & (edges[node] > 0)
    place = edge_start[node[counted]] + shape.branch[counted]
    means = np.bincount(place, mean[counted], counts.size)
    chosen = smoothing.choose(way)
    smoothed = counts + chosen.even + chosen.inherited * means
    total = np.bincount(np.repeat(np.arange(edges.size), edges), smoothed, edges.size)
    answer: Floats = np.log(smoothed / np.repeat(total, edges))
    return answer


def _states(shape: Shape, marginal: int) -> list[int]:
    low, high = shape.state_start[marginal], shape.state_start[marginal + 1]
    answer: list[int] = np.flatnonzero(shape.branch[low:high] >= 0).tolist()
    return answer


def _child_count(shape: Shape, node: int) -> int:
    children, child = 0, node + 1
    while child < node + shape.many[node]:
        children, child = children + 1, child + int(shape.many[child])
    return children
