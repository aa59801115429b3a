"""New parameters from expected counts: the M step of EM."""

from dataclasses import replace

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit import SUM, Graph, LeafBlock, remember
from tractable.engine.expectations import Expectations, LeafCounts

LEAST_WEIGHT = 1e-12  # of an edge below a sum, so that no row becomes impossible by rounding


def sum_edges(graph: Graph) -> Bools:
    """Which edges leave a sum. Shape (edges,)."""
    return remember(graph, "sum edges", lambda g: g.kind[g.parent] == SUM)


def normalise_weights(graph: Graph, weight: Floats) -> Floats:
    """Log weights in proportion to non-negative numbers at the edges below each sum; zero below products.

    A sum whose weights are all zero keeps the log weights that it has. Shape (edges,).
    """
    total = np.bincount(graph.parent, weights=weight, minlength=graph.nodes)[graph.parent]
    known = sum_edges(graph) & (total > 0)
    share = np.where(known, np.maximum(weight / np.where(known, total, 1.0), LEAST_WEIGHT), 1.0)
    return np.where(known, np.log(share), graph.log_weight)


def smoothed_weights(graph: Graph, expected: Expectations, smoothing: float) -> Floats:
    """Log weights of maximum likelihood, with a pseudo-count divided evenly among the edges of each sum."""
    degree = np.diff(graph.start)[graph.parent]
    return normalise_weights(graph, np.where(sum_edges(graph), expected.edge + smoothing / degree, 0.0))


def refit_leaves(
    graph: Graph, expected: Expectations, values: Floats, smoothing: float
) -> tuple[LeafBlock, ...]:
    """Leaves of maximum likelihood for the expected counts; `values` are the rows that were counted."""
    return tuple(
        block
        if block.family.is_fixed
        else replace(block, params=_refit_block(graph, block, counts, values, smoothing))
        for block, counts in zip(graph.leaves, expected.leaves, strict=True)
    )


def _refit_block(
    graph: Graph, block: LeafBlock, counts: LeafCounts, values: Floats, smoothing: float
) -> Floats:
    params = block.params.copy()
    for leaves, column in _alike(graph, block):
        variable = graph.schema[column]
        if variable.is_categorical:
            x = np.arange(variable.cardinality, dtype=np.float64)
            weight = counts.states[leaves, : variable.cardinality]
        else:
            seen = ~np.isnan(values[:, column])
            x, weight = values[seen, column], counts.flows[np.ix_(leaves, seen)]
        used = weight.sum(axis=1) > 0
        chosen = leaves[used]
        params[chosen] = block.family.refit(block.params[chosen], x, weight[used], variable, smoothing)
    return params


def _alike(graph: Graph, block: LeafBlock) -> list[tuple[Ints, int]]:
    """Groups of the leaves of a block that can be fitted together, each with one of its columns.

    Leaves over columns with equally many states form a group; each numeric column has a group of its own.
    """
    states = graph.schema.cardinalities[block.column]
    key = np.where(states > 0, -states, block.column)
    return [(leaves := np.flatnonzero(key == k), int(block.column[leaves[0]])) for k in np.unique(key)]
