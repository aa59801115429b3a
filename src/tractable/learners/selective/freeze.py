"""The circuit of a selective tree."""

import numpy as np

from tractable.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.learners.selective.kernels import Codes
from tractable.learners.selective.nodes import Decision, Marginal, Node, walk
from tractable.learners.selective.rows import CodedRows


def freeze(root: Node, rows: CodedRows, smoothing: float) -> Graph:
    """The circuit with closed-form weights: relative counts with so many pseudo-counts on each edge.

    The rows need not be those that the tree was found on. A sum over a single state is an indicator.
    """
    reached = _rows_below(root, rows)
    builder = Builder(rows.schema)
    made: dict[int, int] = {}
    for node in reversed(list(walk([root]))):
        here = reached[id(node)]
        if isinstance(node, Marginal):
            made[id(node)] = _marginal(builder, node, rows.counts(here, node.column), smoothing)
            continue
        children = [made[id(child)] for child in node.children]
        if isinstance(node, Decision):
            counts = np.array([rows.weights[reached[id(child)]].sum() for child in node.children])
            made[id(node)] = builder.sum(children, _log_weights(counts, smoothing))
        else:
            made[id(node)] = builder.product(children)
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


def _marginal(builder: Builder, node: Marginal, counts: Floats, smoothing: float) -> int:
    indicators = [builder.indicator(node.column, state) for state in node.states]
    if len(indicators) == 1:
        return indicators[0]
    return builder.sum(indicators, _log_weights(counts[list(node.states)], smoothing))


def _log_weights(counts: Floats, smoothing: float) -> Floats:
    smoothed = counts + smoothing
    weights: Floats = np.log(smoothed / smoothed.sum())
    return weights
