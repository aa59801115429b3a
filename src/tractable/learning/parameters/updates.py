"""New parameters from expected counts: the M step of EM."""

from dataclasses import replace

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.circuit import SUM, Block, Graph, normalise, remembered
from tractable.engine.expectations import Expectations

LEAST_WEIGHT = 1e-12  # of an edge below a sum, so that no row becomes impossible by rounding


@remembered
def sum_edges(graph: Graph) -> Bools:
    """Which edges leave a sum. Shape (edges,)."""
    return np.asarray(graph.kind[graph.parent] == SUM)


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


def refit_blocks(
    graph: Graph, expected: Expectations, values: Floats, smoothing: float, step: float = 1.0
) -> tuple[Block, ...]:
    """Leaves of maximum likelihood for the expected counts; `values` are the rows that were counted.

    With a `step` below one, leaves over numeric columns move so far from what they are towards that.
    """
    return tuple(
        block.refit(counts, values, graph.schema, smoothing, step)
        for block, counts in zip(graph.blocks, expected.blocks, strict=True)
    )


def randomise(graph: Graph, rng: np.random.Generator) -> Graph:
    """The structure of a circuit with random weights and random leaves over categorical columns.

    The weights of a sum, and the probabilities of the states of a leaf, are drawn uniformly from all that sum
    to one. Leaves over numeric columns are kept.
    """
    local = normalise(graph).graph
    weight = rng.exponential(size=local.edges)  # normalised, these are uniform on the simplex
    blocks = tuple(block.randomise(rng) for block in local.blocks)
    return replace(local, log_weight=normalise_weights(local, weight), blocks=blocks)
