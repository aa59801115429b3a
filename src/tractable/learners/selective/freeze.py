"""The circuit of a selective tree."""

import numpy as np

from tractable.circuit import Builder, Graph
from tractable.learners.selective.kernels import Codes
from tractable.learners.selective.nodes import Decision, Marginal, Node, Product, walk
from tractable.learners.selective.rows import CodedRows
from tractable.learners.selective.smoothing import Smoothing, edge_means


def freeze(root: Node, rows: CodedRows, smoothing: Smoothing, way: int) -> Graph:
    """The circuit with closed-form weights: relative counts with pseudo-counts.

    The rows need not be those that the tree was found on. A sum over a single state is an indicator.
    """
    reached = _rows_below(root, rows)
    chosen = smoothing.choose(way)
    builder = Builder(rows.schema)
    made: dict[int, int] = {}
    for node in reversed(list(walk([root]))):
        if isinstance(node, Product):
            made[id(node)] = builder.product([made[id(child)] for child in node.children])
            continue
        if isinstance(node, Marginal):
            edges = [builder.indicator(node.column, state) for state in node.states]
            counts = rows.counts(reached[id(node)], node.column)[list(node.states)]
        else:
            edges = [made[id(child)] for child in node.children]
            counts = np.array([rows.weights[reached[id(child)]].sum() for child in node.children])
        weights = chosen.weights(counts, edge_means(node.prior[[way]], node.parts))[0]
        made[id(node)] = edges[0] if len(edges) == 1 else builder.sum(edges, np.log(weights))
    return builder.freeze(made[id(root)])


def _rows_below(root: Node, rows: CodedRows) -> dict[int, Codes]:
    """The rows that reach each node."""
    reached = {id(root): np.arange(rows.weights.size, dtype=np.int32)}
    for node in walk([root]):
        here = reached[id(node)]
        if isinstance(node, Decision):
            codes = rows.codes[node.column][here]
            for child, part in zip(node.children, node.parts, strict=True):
                reached[id(child)] = here[np.isin(codes, part)]
        elif not isinstance(node, Marginal):
            reached.update({id(child): here for child in node.children})
    return reached
