"""Circuits of extreme shapes: deep and narrow ones, and sums over very many children."""

import numpy as np

from tractable.circuit.builder import Builder
from tractable.circuit.graph import Graph
from tractable.data.schema import discrete_schema


def chain(columns: int, width: int) -> Graph:
    """A hidden Markov model over binary columns with `width` hidden states: two levels for each column."""
    rng = np.random.default_rng(columns)
    builder = Builder(discrete_schema([2] * columns))
    below: list[int] = []
    for column in range(columns):
        leaves = [builder.leaf("bernoulli", column, [x]) for x in rng.normal(0.0, 1.0, width)]
        tops = (
            [builder.product([leaf, node]) for leaf, node in zip(leaves, below, strict=True)]
            if below
            else leaves
        )
        sums = width if column < columns - 1 else 1
        below = [builder.sum(tops, np.log(rng.dirichlet(np.ones(width)))) for _ in range(sums)]
    return builder.freeze()


def wide_sum(children: int, columns: int) -> Graph:
    """A mixture of very many products of binary columns."""
    rng = np.random.default_rng(children)
    builder = Builder(discrete_schema([2] * columns))
    products = [
        builder.product([builder.leaf("bernoulli", c, [x]) for c, x in enumerate(odds)])
        for odds in rng.normal(0.0, 1.0, (children, columns))
    ]
    builder.sum(products, np.log(rng.dirichlet(np.ones(children))))
    return builder.freeze()
