"""New parameters from expected numbers of rows: the maximising half of EM."""

from dataclasses import replace

import numpy as np

from tractable.arrays import Bools, Floats, Ints
from tractable.circuit import SUM, Graph, LeafBlock, remember
from tractable.engine.expectations import Expectations, LeafCounts

LEAST_WEIGHT = 1e-12  # of a sum's edge and of a leaf's state, so that no row becomes impossible by rounding


def sum_edges(graph: Graph) -> Bools:
    """Which edges leave a sum. Shape (edges,)."""
    return remember(graph, "sum edges", lambda g: g.kind[g.parent] == SUM)


def normalise_weights(graph: Graph, weight: Floats) -> Floats:
    """Log weights of the edges below each sum, in proportion to non-negative numbers; zero below products.

    A sum whose numbers are all zero keeps the weights it has.
    """
    total = np.bincount(graph.parent, weights=weight, minlength=graph.nodes)[graph.parent]
    known = sum_edges(graph) & (total > 0)
    share = np.where(known, np.maximum(weight / np.where(known, total, 1.0), LEAST_WEIGHT), 1.0)
    return np.where(known, np.log(share), graph.log_weight)


def smoothed_weights(graph: Graph, expected: Expectations, smoothing: float) -> Floats:
    """Log weights of maximum likelihood; `smoothing` imaginary rows at each sum are spread over its edges."""
    degree = np.diff(graph.start)[graph.parent]
    return normalise_weights(graph, np.where(sum_edges(graph), expected.edge + smoothing / degree, 0.0))


def refit_leaves(
    graph: Graph, expected: Expectations, values: Floats, smoothing: float
) -> tuple[LeafBlock, ...]:
    """The leaves of maximum likelihood for what they were expected to see; `values` are the rows counted."""
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
    """The leaves of a block that can be fitted together, each lot with one of its columns.

    Columns with equally many states are alike; each column of numbers stands alone.
    """
    states = graph.schema.cardinalities[block.column]
    key = np.where(states > 0, -states, block.column)
    return [(leaves := np.flatnonzero(key == k), int(block.column[leaves[0]])) for k in np.unique(key)]
