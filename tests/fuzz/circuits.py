"""Random circuits over columns of all kinds, with leaves of all families, small enough for brute force."""

from math import inf, log

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.data.schema import Kind, Schema, Variable

KINDS: tuple[Kind, ...] = ("categorical", "ordinal", "real", "integer", "count", "date", "datetime")
LEAVES = {
    "categorical": ("bernoulli", "categorical", "indicator"),
    "ordinal": ("bernoulli", "categorical", "indicator"),
    "real": ("gaussian", "histogram", "piece"),
    "datetime": ("gaussian", "histogram", "piece"),
    "integer": ("rounded-gaussian", "rounded-piece"),
    "date": ("rounded-gaussian", "rounded-piece"),
    "count": ("poisson", "negative-binomial", "rounded-piece"),
}


def random_schema(rng: np.random.Generator, kinds: tuple[Kind, ...] = KINDS) -> Schema:
    """One to four columns of these kinds; at times all other columns than categorical ones are real."""
    if "real" in kinds and rng.random() < 0.3:
        kinds = ("categorical", "real", "real")  # which joint leaves can stand over
    variables = []
    for i in range(rng.integers(1, 5)):
        kind = kinds[rng.integers(len(kinds))]
        states = (
            tuple(f"s{k}" for k in range(rng.integers(1, 4))) if kind in ("categorical", "ordinal") else ()
        )
        variables.append(Variable(f"v{i}", kind, states))
    return Schema(tuple(variables))


def random_circuit(rng: np.random.Generator, schema: Schema) -> Graph:
    """A smooth and decomposable circuit over all columns; its value is above zero somewhere."""
    growth = _Growth(rng, Builder(schema))
    return growth.builder.freeze(growth.node(list(range(len(schema))), depth=int(rng.integers(0, 4))))


class _Growth:
    def __init__(self, rng: np.random.Generator, builder: Builder) -> None:
        self.rng = rng
        self.builder = builder

    def node(self, columns: list[int], depth: int) -> int:
        """A node over some columns."""
        if depth > 0 and self.rng.random() < 0.6:
            children = [self.node(columns, depth - 1) for _ in range(self.rng.integers(1, 4))]
            return self.builder.sum(children, self._log_weights(len(children)))
        if len(columns) == 1:
            return self._scaled(self._leaf(columns[0]))
        if all(self.builder.schema[c].kind == "real" for c in columns) and self.rng.random() < 0.5:
            return self._scaled(self._joint_leaf(columns))
        order = self.rng.permutation(columns).tolist()
        cut = int(self.rng.integers(1, len(columns)))
        return self._scaled(
            self.builder.product([self.node(part, depth - 1) for part in (order[:cut], order[cut:])])
        )

    def _log_weights(self, count: int) -> list[float]:
        """At least one above zero; some of them zero, tiny or huge."""
        weights = [float(self.rng.normal()) for _ in range(count)]
        scale = float(self.rng.choice([0.0, 0.0, 0.0, -700.0, 1e5]))
        for i in range(1, count):
            weights[i] = float(self.rng.choice([weights[i], weights[i], -inf, -800.0]))
        return [w + scale for w in weights]

    def _scaled(self, node: int) -> int:
        if self.rng.random() < 0.85:
            return node
        return self.builder.product([node, self.builder.constant(float(self.rng.choice([-3.0, 0.5, 900.0])))])

    def _joint_leaf(self, columns: list[int]) -> int:
        """Several real columns that are jointly normal: the mean, then the rows of a Cholesky factor."""
        size = len(columns)
        factor = np.tril(self.rng.normal(size=(size, size)), -1) + np.diag(self.rng.uniform(0.2, 3.0, size))
        params = np.concatenate([self.rng.normal(scale=3.0, size=size), factor[np.tril_indices(size)]])
        return self.builder.joint_leaf("multivariate-gaussian", columns, params)

    def _leaf(self, column: int) -> int:
        variable = self.builder.schema[column]
        names = [n for n in LEAVES[variable.kind] if n != "bernoulli" or variable.cardinality == 2]
        name = str(self.rng.choice(names))
        return self.builder.leaf(name, column, _params(self.rng, name, variable))


def _params(rng: np.random.Generator, name: str, variable: Variable) -> Floats:
    if name == "indicator":
        return np.array([float(rng.integers(variable.cardinality))])
    if name == "bernoulli":
        return rng.choice([rng.normal(), -inf, inf, 800.0, -40.0], 1, p=[0.6, 0.1, 0.1, 0.1, 0.1])
    if name == "categorical":
        return _log_shares(rng, variable.cardinality)
    if name in ("gaussian", "rounded-gaussian"):
        return np.array([rng.normal(scale=10.0), rng.uniform(-3.0, 3.0)])
    if name == "poisson":
        return np.array([rng.choice([rng.normal(), 4.0, -inf], p=[0.6, 0.3, 0.1])])
    if name == "negative-binomial":
        return np.array([rng.normal(), rng.uniform(-2.0, 3.0)])
    if name == "histogram":
        edges = np.cumsum(rng.uniform(0.1, 3.0, 4)) - 4.0
        return np.concatenate([edges, _log_shares(rng, 3) - np.log(np.diff(edges))])
    low = float(rng.integers(0, 5)) - (0.5 if name == "rounded-piece" else 0.0)
    high = rng.choice([inf, low + float(rng.integers(1, 9))])
    return np.array([low, high, -abs(rng.normal()) - 0.1 if high == inf else rng.normal()])


def _log_shares(rng: np.random.Generator, count: int) -> Floats:
    """The logarithms of shares that sum to one, some of them zero."""
    logs = np.log(rng.dirichlet(np.ones(count)))
    if count > 1 and rng.random() < 0.3:
        logs[rng.integers(count)] = -inf
    total: Floats = logs - np.logaddexp.reduce(logs)
    return total if np.isfinite(total).any() else np.full(count, -log(count))
