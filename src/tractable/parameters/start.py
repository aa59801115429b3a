"""Where parameter learning can begin: a structure whose parameters are drawn at random."""

from dataclasses import replace

import numpy as np

from tractable.circuit import Graph, normalise
from tractable.parameters.updates import normalise_weights


def randomise(graph: Graph, rng: np.random.Generator) -> Graph:
    """The same structure with random weights and random leaves over states; leaves over numbers are kept.

    The weights of a sum, and the probabilities of a leaf's states, are drawn evenly from all that add up to
    one.
    """
    local = normalise(graph).graph
    weight = rng.exponential(size=local.edges)  # in proportion to these, they are evenly distributed
    leaves = tuple(replace(b, params=b.family.randomise(b.params, rng)) for b in local.leaves)
    return replace(local, log_weight=normalise_weights(local, weight), leaves=leaves)
