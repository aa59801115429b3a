"""Random schemas, circuits, rows and evidence for Hypothesis; they reach the edges on purpose.

Among what they make: columns of a single state, leaves that are certain or impossible, zero and tiny weights,
children named twice, shared nodes, circuits of one node, constants, branches that are zero everywhere.
Every circuit has at least one row with a value above zero.
"""

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tractable.base.arrays import Floats
from tractable.circuit.builder import Builder
from tractable.circuit.graph import Graph
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.data.evidence import Interval, Region, States
from tractable.data.schema import Schema, Variable

# The first example of a test may have to wait for a kernel to compile.
settings.register_profile(
    "tractable", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tractable")

Allowed: TypeAlias = dict[int, tuple[int, ...]]  # the states that a categorical column may take below a node


@st.composite
def schemas(
    draw: st.DrawFn, *, mixed: bool = False, columns: tuple[int, int] = (1, 5), states: int = 4
) -> Schema:
    """A schema of categorical columns of one to `states` states; with `mixed` also real and count columns."""
    count = draw(st.integers(*columns))
    variables = []
    for i in range(count):
        kind = draw(st.sampled_from(["categorical", "real", "count"])) if mixed else "categorical"
        if kind == "categorical":
            labels = tuple(f"s{k}" for k in range(draw(st.integers(1, states))))
            variables.append(Variable(f"v{i}", "categorical", labels))
        else:
            variables.append(Variable(f"v{i}", "real" if kind == "real" else "count"))
    return Schema(tuple(variables))


@dataclass(frozen=True)
class Shape:
    """What kind of circuits `circuits` makes."""

    normalised: bool = True  # weights add up to one and there are no constants
    deterministic: bool = False  # the children of a sum are told apart by some column
    smooth: bool = True  # else the child of a sum may lack columns that the sum has
    zeros: bool = True  # weights of zero, impossible states, dead branches
    depth: int = 4


@st.composite
def circuits(
    draw: st.DrawFn,
    *,
    mixed: bool = False,
    normalised: bool = True,
    deterministic: bool = False,
    smooth: bool = True,
    zeros: bool = True,
    schema: Schema | None = None,
) -> Graph:
    """A random decomposable circuit over all columns of a random schema (or of the one given)."""
    over = draw(schemas(mixed=mixed)) if schema is None else schema
    shape = Shape(normalised, deterministic, smooth, zeros)
    growth = _Growth(draw, Builder(over), shape)
    allowed = {i: tuple(range(v.cardinality)) for i, v in enumerate(over) if v.is_categorical}
    root = growth.grow(tuple(range(len(over))), allowed, shape.depth)
    return growth.builder.freeze(root)


def arithmetic_circuits() -> st.SearchStrategy[Graph]:
    """Circuits over categorical columns that are not normalised and may hold constants."""
    return circuits(normalised=False)


def deterministic_circuits(*, normalised: bool = True) -> st.SearchStrategy[Graph]:
    """Circuits over categorical columns in which at most one child of a sum is non-zero."""
    return circuits(normalised=normalised, deterministic=True)


@st.composite
def wild_graphs(draw: st.DrawFn) -> Graph:
    """Any graph at all over categorical columns; it is hardly ever smooth or decomposable."""
    schema = draw(schemas())
    builder = Builder(schema)
    for _ in range(draw(st.integers(1, 5))):
        column = draw(st.integers(-1, len(schema) - 1))
        if column < 0:
            builder.constant(draw(st.sampled_from([-math.inf, -1.0, 0.0, 2.0])))
        else:
            builder.indicator(column, draw(st.integers(0, schema[column].cardinality - 1)))
    for _ in range(draw(st.integers(0, 8))):
        children = draw(st.lists(st.integers(0, len(builder) - 1), min_size=1, max_size=4))
        if draw(st.booleans()):
            builder.product(children)
        else:
            weights = st.sampled_from([-math.inf, -700.0, -1.0, 0.0, 1.5])
            builder.sum(children, [draw(weights) for _ in children])
    return builder.freeze()


@dataclass
class _Growth:
    """A circuit while it is drawn; nodes over the same columns and states may be used again."""

    draw: st.DrawFn
    builder: Builder
    shape: Shape
    made: dict[tuple[object, ...], list[int]] = field(default_factory=dict)

    def grow(self, scope: tuple[int, ...], allowed: Allowed, depth: int) -> int:
        """A node over the columns in `scope`, above zero only at allowed states."""
        key = (scope, tuple((c, allowed[c]) for c in scope if c in allowed))
        known = self.made.setdefault(key, [])
        if known and self.draw(st.integers(0, 2)) == 0:
            return self.draw(st.sampled_from(known))
        node = self._scaled(self._new(scope, allowed, depth))
        known.append(node)
        return node

    def _new(self, scope: tuple[int, ...], allowed: Allowed, depth: int) -> int:
        if depth > 0 and self.draw(st.integers(0, 2)) > 0:
            return self._sum(scope, allowed, depth)
        if len(scope) == 1:
            return self._leaf(scope[0], allowed)
        return self._product(scope, allowed, depth)

    def _product(self, scope: tuple[int, ...], allowed: Allowed, depth: int) -> int:
        mixed = self.draw(st.permutations(scope))
        cut = self.draw(st.integers(1, len(scope) - 1))
        parts = [mixed[:cut], mixed[cut:]]
        if len(parts[1]) > 1 and self.draw(st.booleans()):
            parts[1:] = [[c] for c in parts[1]]
        return self.builder.product([self.grow(tuple(sorted(p)), allowed, depth - 1) for p in parts])

    def _sum(self, scope: tuple[int, ...], allowed: Allowed, depth: int) -> int:
        if self.shape.deterministic:
            groups = self._told_apart(scope, allowed)
        else:
            groups = [allowed] * self.draw(st.integers(1, 3))
        children = [self.grow(self._some(scope), group, depth - 1) for group in groups]
        weights = self._weights(len(children))
        if self.shape.zeros and not self.shape.normalised and self.draw(st.integers(0, 5)) == 0:
            children.append(self.builder.product([children[0], self.builder.constant(-math.inf)]))
            weights = np.append(weights, 0.0)
        return self.builder.sum(children, weights)

    def _some(self, scope: tuple[int, ...]) -> tuple[int, ...]:
        """The columns of a sum's child: all, unless the circuit need not be smooth."""
        if self.shape.smooth or self.draw(st.booleans()):
            return scope
        kept = self.draw(st.sets(st.sampled_from(scope), min_size=1))
        return tuple(sorted(kept))

    def _told_apart(self, scope: tuple[int, ...], allowed: Allowed) -> list[Allowed]:
        """The allowed states of some column in two groups; one group when no column has a choice left."""
        open_columns = [c for c in scope if len(allowed.get(c, ())) > 1]
        if not open_columns or not self.shape.smooth:
            return [allowed]
        column = self.draw(st.sampled_from(open_columns))
        states = self.draw(st.permutations(allowed[column]))
        cut = self.draw(st.integers(1, len(states) - 1))
        return [{**allowed, column: tuple(sorted(part))} for part in (states[:cut], states[cut:])]

    def _weights(self, count: int) -> Floats:
        """Log weights of a sum, at least one above zero."""
        usual = st.floats(0.01, 1.0).map(math.log)
        rare = st.sampled_from([-math.inf, -800.0, 0.0]) if self.shape.zeros else usual
        logs = np.array([self.draw(st.one_of(usual, usual, rare)) for _ in range(count)])
        if not self.shape.normalised:
            logs[self.draw(st.integers(0, count - 1))] = self.draw(st.floats(-2.0, 2.0))
            return logs
        if np.isinf(logs).all():
            logs[0] = 0.0
        shares: Floats = logs - np.logaddexp.reduce(logs)
        return shares

    def _scaled(self, node: int) -> int:
        """The node, now and then times a constant."""
        if self.shape.normalised or self.draw(st.integers(0, 3)) > 0:
            return node
        return self.builder.product([node, self.builder.constant(self.draw(st.floats(-3.0, 3.0)))])

    def _leaf(self, column: int, allowed: Allowed) -> int:
        kind = self.builder.schema[column].kind
        if kind == "real":
            return self._real_leaf(column)
        if kind == "count":
            return self.builder.leaf("poisson", column, [self.draw(st.floats(-2.0, 2.0))])
        return self._state_leaf(column, allowed[column])

    def _real_leaf(self, column: int) -> int:
        if self.draw(st.booleans()):
            mean, deviation = self.draw(st.floats(-2.0, 2.0)), self.draw(st.floats(0.3, 2.0))
            return self.builder.leaf("gaussian", column, [mean, math.log(deviation)])
        masses = self._normal(self.draw(st.integers(1, 3)), [0.0, 0.2, 1.0])
        return self.builder.leaf(
            "histogram", column, histogram_params(np.linspace(-2.5, 2.5, masses.size + 1), masses)
        )

    def _state_leaf(self, column: int, states: tuple[int, ...]) -> int:
        """An indicator, or a distribution that is zero outside `states`."""
        count = self.builder.schema[column].cardinality
        if len(states) == 1 and self.draw(st.booleans()):
            return self.builder.indicator(column, states[0])
        if not self.shape.deterministic and self.shape.zeros and self.draw(st.integers(0, 4)) == 0:
            return self.builder.indicator(column, self.draw(st.sampled_from(states)))
        masses = np.zeros(count)
        masses[list(states)] = self._normal(
            len(states), [0.0, 1e-3, 0.3, 1.0] if self.shape.zeros else [0.2, 0.5, 1.0]
        )
        if count == 2 and self.draw(st.booleans()):
            return self.builder.leaf("bernoulli", column, bernoulli_params(masses[1]))
        return self.builder.leaf("categorical", column, categorical_params(masses))

    def _normal(self, count: int, choices: list[float]) -> Floats:
        """Numbers that add up to one."""
        drawn = np.array([self.draw(st.sampled_from(choices)) for _ in range(count)])
        if drawn.sum() == 0:
            drawn[0] = 1.0
        logs: Floats = drawn / drawn.sum()
        return logs


def bernoulli_params(probability: float) -> Floats:
    """The parameters of a Bernoulli leaf whose second state has that probability."""
    with np.errstate(divide="ignore"):
        return np.array([np.log(probability) - np.log1p(-probability)])


def categorical_params(masses: Floats) -> Floats:
    """The parameters of a categorical leaf with the given probabilities."""
    with np.errstate(divide="ignore"):
        return np.log(masses)


def histogram_params(edges: Floats, masses: Floats) -> Floats:
    """The parameters of a histogram leaf."""
    with np.errstate(divide="ignore"):
        return np.concatenate([edges, np.log(masses / np.diff(edges))])


# ---- rows and evidence --------------------------------------------------------------------------------


def cells(variable: Variable, *, missing: bool = True) -> st.SearchStrategy[float]:
    """A value of a column as a table holds it; NaN now and then."""
    if variable.is_categorical:
        known: st.SearchStrategy[float] = st.integers(0, variable.cardinality - 1).map(float)
    elif variable.kind == "count":
        known = st.integers(0, 8).map(float)
    else:
        known = st.floats(-3.0, 3.0)
    return st.one_of(known, known, st.just(math.nan)) if missing else known


def rows(schema: Schema, *, missing: bool = True) -> st.SearchStrategy[Floats]:
    """One row. Shape (columns,)."""
    return st.tuples(*[cells(v, missing=missing) for v in schema]).map(
        lambda r: np.array(r, dtype=np.float64)
    )


@st.composite
def tables(draw: st.DrawFn, schema: Schema, *, missing: bool = True, most: int = 6) -> Floats:
    """A few rows, perhaps none, perhaps repeated. Shape (rows, columns)."""
    drawn = draw(st.lists(rows(schema, missing=missing), max_size=most))
    return np.array(drawn, dtype=np.float64).reshape(len(drawn), len(schema))


def regions_of(variable: Variable) -> st.SearchStrategy[Region]:
    """Some of a column's states (at least one), or an interval of its numbers."""
    if variable.is_categorical:
        some = st.sets(st.integers(0, variable.cardinality - 1), min_size=1)
        return some.map(lambda s: States(np.isin(np.arange(variable.cardinality), list(s))))
    # Quarters: the oracle's difference of two tails has no digits left for an interval of width 1e-300.
    end = st.integers(-12 if variable.kind == "real" else 0, 16).map(lambda quarters: quarters / 4)
    ends = st.tuples(end, end)
    return ends.map(lambda pair: Interval(min(pair), max(pair)))


@st.composite
def evidence(draw: st.DrawFn, schema: Schema) -> tuple[Floats, dict[int, Region]]:
    """A row with missing cells, and regions for some of the columns that are missing in it."""
    row = draw(rows(schema))
    open_columns = [i for i in range(len(schema)) if math.isnan(row[i])]
    return row, {i: draw(regions_of(schema[i])) for i in open_columns if draw(st.booleans())}


# ---- conditional circuits -----------------------------------------------------------------------------


@st.composite
def conditional_circuits(draw: st.DrawFn, *, zeros: bool = True, regressions: bool = True) -> Graph:
    """A circuit that is smooth and decomposable over its targets, and anything at all over its inputs.

    Leaves over inputs, sums of them that are not smooth, and outcomes of regressions are factors of any node:
    of both children of a product, of some children of a sum, of the same node twice. A row of inputs may be
    impossible.
    """
    sizes = [draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)) for _ in range(2)]
    inputs = [Variable(f"x{i}", "categorical", tuple(range(k)), "input") for i, k in enumerate(sizes[0])]
    targets = [Variable(f"y{i}", "categorical", tuple(range(k))) for i, k in enumerate(sizes[1])]
    schema = Schema(tuple(draw(st.permutations(inputs + targets))))
    growth = _GatedGrowth(
        draw, Builder(schema), Shape(normalised=False, zeros=zeros), regressions=regressions
    )
    allowed = {i: tuple(range(v.cardinality)) for i, v in enumerate(schema)}
    return growth.builder.freeze(growth.grow(tuple(schema.targets.tolist()), allowed, 3))


@dataclass
class _GatedGrowth(_Growth):
    """Any node may be multiplied by factors over inputs."""

    regressions: bool = True

    def _scaled(self, node: int) -> int:
        gates = [self._gate() for _ in range(self.draw(st.integers(0, 2)))]
        return self.builder.product([node, *gates]) if gates else node

    def _gate(self) -> int:
        column = self.draw(st.sampled_from(self.builder.schema.inputs.tolist()))
        states = self.builder.schema[column].cardinality
        kind = self.draw(st.sampled_from([0, 1] + [2] * self.shape.zeros + [3] * self.regressions))
        if kind == 3:
            nodes = self.builder.gates(self.draw(regressions(self.builder.schema)))
            return int(self.draw(st.sampled_from(nodes.ravel().tolist())))
        if kind == 0:
            masses = self._normal(states, [0.2, 0.5, 1.0])
            return self.builder.leaf("categorical", column, categorical_params(masses))
        indicator = self.builder.indicator(column, self.draw(st.integers(0, states - 1)))
        if kind == 2:
            return indicator
        one = self.builder.constant(self.draw(st.floats(-2.0, 2.0)))
        return self.builder.sum([indicator, one], [self.draw(st.floats(-2.0, 2.0)), 0.0])


@st.composite
def regressions(draw: st.DrawFn, schema: Schema) -> SoftmaxRegressions:
    """Regressions on some states of inputs, also none, also with scores of hundreds."""
    states = [(c, k) for c in schema.inputs.tolist() for k in range(schema[c].cardinality)]
    seen = draw(st.lists(st.sampled_from(states), max_size=3, unique=True))
    column, state = np.array(seen, dtype=np.int64).reshape(-1, 2).T
    shift = np.array(
        draw(st.lists(st.floats(-1, 1), min_size=len(seen), max_size=len(seen))), dtype=np.float64
    )
    features = InputFeatures(column, state, shift, np.full(len(seen), draw(st.sampled_from([0.5, 1.0]))))
    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), len(seen) + 1)
    number = st.floats(-3, 3) | st.sampled_from([0.0, -300.0, 300.0])
    size = int(np.prod(shape))
    weights = np.array(draw(st.lists(number, min_size=size, max_size=size))).reshape(shape)
    return SoftmaxRegressions(features, weights)
