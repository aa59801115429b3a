"""Random networks, and their distributions by enumeration."""

import math
from typing import Literal

import numpy as np
from hypothesis import strategies as st
from oracle import all_rows

from tractable.base.arrays import Floats
from tractable.data.schema import Schema, discrete_schema
from tractable.networks import (
    Factor,
    FeatureFactor,
    Network,
    TableFactor,
    TreeFactor,
)


def factor_log_value(factor: Factor, row: tuple[float, ...]) -> float:
    if isinstance(factor, TableFactor):
        return float(factor.log_values[tuple(int(row[c]) for c in factor.columns)])
    if isinstance(factor, FeatureFactor):
        conditions = zip(factor.columns, factor.states, factor.equals, strict=True)
        return factor.log_weight if all((row[c] == s) == e for c, s, e in conditions) else 0.0
    node = 0
    while factor.column[node] >= 0:
        holds = row[factor.column[node]] == factor.state[node]
        node = int(factor.then[node] if holds else factor.otherwise[node])
    return float(factor.log_prob[node, int(row[factor.child])])


def enumerated(network: Network) -> Floats:
    """The log product of all factors for every row."""
    rows = all_rows(network.schema)
    return np.array([sum(factor_log_value(f, row) for f in network.factors) for row in rows])


@st.composite
def tables(draw: st.DrawFn, schema: Schema) -> TableFactor:
    """A table with few different numbers, so that parts of it are equal, and zeros."""
    columns = tuple(draw(st.lists(st.integers(0, len(schema) - 1), max_size=3, unique=True)))
    shape = tuple(schema[c].cardinality for c in columns)
    few = st.sampled_from([-math.inf, 0.0, -0.5, 1.25, -2.0])
    values = draw(st.lists(few, min_size=math.prod(shape), max_size=math.prod(shape)))
    return TableFactor(columns, np.array(values, dtype=np.float64).reshape(shape))


@st.composite
def features(draw: st.DrawFn, schema: Schema) -> FeatureFactor:
    columns = tuple(draw(st.lists(st.integers(0, len(schema) - 1), max_size=4)))
    states = tuple(draw(st.integers(0, schema[c].cardinality - 1)) for c in columns)
    equals = tuple(draw(st.booleans()) for _ in columns)
    return FeatureFactor(columns, states, equals, draw(st.sampled_from([0.7, -1.5, 0.0, -math.inf])))


@st.composite
def trees(draw: st.DrawFn, schema: Schema, child: int, parents: list[int]) -> TreeFactor:
    """A random tree, grown one leaf at a time."""
    lines: list[list[int]] = [[-1, 0, 0, 0]]
    for _ in range(draw(st.integers(0, 4)) if parents else 0):
        leaf = draw(st.sampled_from([i for i, line in enumerate(lines) if line[0] < 0]))
        column = draw(st.sampled_from(parents))
        state = draw(st.integers(0, schema[column].cardinality - 1))
        lines[leaf] = [column, state, len(lines), len(lines) + 1]
        lines += [[-1, 0, 0, 0], [-1, 0, 0, 0]]
    table = np.array(lines, dtype=np.int64)
    weights = st.sampled_from([0.0, 0.2, 0.5, 1.0])
    masses = np.array([[draw(weights) for _ in schema[child].states] for _ in lines])
    masses[masses.sum(axis=1) == 0] = 1.0
    with np.errstate(divide="ignore"):
        logs = np.log(masses / masses.sum(axis=1, keepdims=True))
    column, state, then, otherwise = table.T
    return TreeFactor(child, column, state, then, otherwise, logs)


@st.composite
def networks(draw: st.DrawFn, kind: Literal["bayes", "markov"]) -> Network:
    schema = discrete_schema(draw(st.lists(st.integers(1, 3), min_size=1, max_size=5)))
    if kind == "markov":
        some = draw(st.lists(st.one_of(tables(schema), features(schema)), max_size=5))
        return Network(schema, tuple(some), kind)
    order = draw(st.permutations(range(len(schema))))
    grown = tuple(draw(trees(schema, child, list(order[:i]))) for i, child in enumerate(order))
    return Network(schema, grown, kind)


def conditional(shape: tuple[int, ...], zeros: float, rng: np.random.Generator) -> Floats:
    """The logarithms of a random table of distributions along the first axis, some of whose entries are 0."""
    table = rng.gamma(1.0, size=shape) * (rng.random(shape) >= zeros)
    table[0] = np.where(table.sum(axis=0) == 0, 1.0, table[0])
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(table / table.sum(axis=0))
    return logs


def random_network(columns: int, most_states: int, parents: int, zeros: float, seed: int) -> Network:
    """Each column has random parents among the six columns before it."""
    rng = np.random.default_rng(seed)
    states = rng.integers(1, most_states + 1, size=columns).tolist()
    factors = []
    for child in range(columns):
        before = np.arange(max(child - 6, 0), child)
        scope = (child, *rng.permutation(before)[: rng.integers(0, parents + 1)].tolist())
        factors.append(TableFactor(scope, conditional(tuple(states[c] for c in scope), zeros, rng)))
    return Network(discrete_schema(states), tuple(factors), "bayes")
