"""Random initial parameters."""

from dataclasses import replace

import numpy as np

from tractable.circuit import Graph, normalise
from tractable.learning.parameters.updates import normalise_weights


def randomise(graph: Graph, rng: np.random.Generator) -> Graph:
    """The same structure with random weights and random leaves over categorical columns.

    The weights of a sum, and the probabilities of the states of a leaf, are drawn uniformly from all that sum
    to one. Leaves over numeric columns are kept.
    """
    local = normalise(graph).graph
    weight = rng.exponential(size=local.edges)  # normalised, these are uniform on the simplex
    blocks = tuple(block.randomise(rng) for block in local.blocks)
    return replace(local, log_weight=normalise_weights(local, weight), blocks=blocks)
