"""Networks for samplers, and their marginals by enumeration."""

import itertools

import numpy as np
from oracle import all_rows
from random_networks import enumerated

from tractable.base.arrays import Floats
from tractable.data.schema import discrete_schema
from tractable.networks import FeatureFactor, Network, TableFactor, TreeFactor


def exact_marginals(network: Network, row: Floats) -> Floats:
    """The distribution of each column given the row, by enumeration. Shape (states of all columns,)."""
    rows, logs = np.array(all_rows(network.schema)), enumerated(network)
    fits = (np.isnan(row) | (rows == row)).all(axis=1)
    weight = np.where(fits, np.exp(logs - logs[fits].max()), 0.0)
    found = [
        [weight[rows[:, c] == k].sum() for k in range(v.cardinality)] for c, v in enumerate(network.schema)
    ]
    return np.concatenate([np.array(line) / weight.sum() for line in found])


def pairs_network(columns: int = 6, seed: int = 0) -> Network:
    """Conjunctive features of one to three columns of two or three states."""
    rng = np.random.default_rng(seed)
    states = [2 + c % 2 for c in range(columns)]
    scopes = [*itertools.combinations(range(columns), 2), *((c,) for c in range(columns)), (0, 2, 4)]
    factors = [
        FeatureFactor(
            scope,
            tuple(int(rng.integers(states[c])) for c in scope),
            tuple(bool(rng.integers(2)) for _ in scope),
            float(rng.normal(0, 0.7)),
        )
        for scope in scopes
    ]
    return Network(discrete_schema(states), tuple(factors), "markov")


def tree_network() -> Network:
    """Five columns of two and three states in trees, the last under all others."""
    schema = discrete_schema([2, 3, 2, 2, 3])
    rng = np.random.default_rng(1)

    def leaf_logs(nodes: int, child: int) -> Floats:
        masses = rng.dirichlet(np.ones(schema[child].cardinality) * 2, nodes)
        return np.log(masses)

    def tree(child: int, tests: list[tuple[int, int, int, int]]) -> TreeFactor:
        column, state, then, otherwise = np.array(tests, dtype=np.int64).T.copy()
        return TreeFactor(child, column, state, then, otherwise, leaf_logs(len(tests), child))

    end = (-1, 0, 0, 0)
    return Network(
        schema,
        (
            tree(0, [end]),
            tree(1, [(0, 1, 1, 2), end, end]),
            tree(2, [(1, 2, 1, 2), end, (0, 0, 3, 4), end, end]),
            tree(3, [(2, 0, 1, 2), (1, 1, 3, 4), end, end, end]),
            tree(4, [(3, 1, 1, 2), (0, 0, 3, 4), (2, 1, 5, 6), end, (1, 0, 7, 8), end, end, end, end]),
        ),
        "bayes",
    )


def table_network() -> Network:
    rng = np.random.default_rng(2)
    schema = discrete_schema([3, 2, 2, 3])
    tables = (
        TableFactor((0, 1), rng.normal(size=(3, 2))),
        TableFactor((3, 1, 2), rng.normal(size=(3, 2, 2))),
    )
    return Network(schema, (*tables, FeatureFactor((0, 3), (2, 0), (True, False), 1.2)), "markov")
