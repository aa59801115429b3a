"""A small mixture."""

import numpy as np

from tractable.circuit.builder import Builder
from tractable.circuit.graph import Graph
from tractable.data.schema import discrete_schema


def mixture() -> Graph:
    builder = Builder(discrete_schema([2, 2]))
    parts = [builder.product([builder.leaf("bernoulli", c, [0.5 * c + i]) for c in (0, 1)]) for i in (0, 1)]
    builder.sum(parts, np.log([0.4, 0.6]))
    return builder.freeze()
