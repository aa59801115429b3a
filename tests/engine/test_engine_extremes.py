"""Numbers far outside the range of doubles, and circuits of extreme shapes."""

import math

import numpy as np
import oracle
import pytest
import strategies  # noqa: F401 (loads the Hypothesis profile)
from closeness import close
from hypothesis import given, settings
from hypothesis import strategies as st

from tractable.base.arrays import Floats
from tractable.circuit.builder import Builder
from tractable.circuit.graph import Graph
from tractable.data.schema import Schema, Variable, discrete_schema
from tractable.engine import backward, completions, log_values, posteriors, samples
from tractable.engine.compile import compile_graph
from tractable.engine.program import CARRIED, CHECKED

SCHEMA = Schema(
    (
        Variable("a", "categorical", (0, 1)),
        Variable("b", "categorical", (0, 1)),
        Variable("c", "categorical", (0, 1, 2)),
        Variable("d", "real"),
        Variable("e", "real", role="potential"),
        Variable("f", "categorical", (0,)),
    )
)
WEIGHTS = [-math.inf, -3000.0, -900.0, -621.1, -300.0, -221.0, -100.0, -1.0, 0.0, 150.0, 222.5, 2000.0]
TINY = [0.0, -5.0, -150.0, -222.0, -700.0, -5000.0]


@st.composite
def extreme_circuits(draw: st.DrawFn) -> Graph:
    """Smooth and decomposable; columns joined one by one, with weights, leaves and constants of any size."""
    builder = Builder(SCHEMA)
    below = [_leaf(draw, builder, 0) for _ in range(2)]
    for column in draw(st.permutations(range(1, len(SCHEMA)))):
        products = [
            builder.product([draw(st.sampled_from(below)), _leaf(draw, builder, column)]) for _ in range(2)
        ]
        if draw(st.booleans()):
            products[0] = builder.product([products[0], builder.constant(draw(st.sampled_from(WEIGHTS)))])
        below = [builder.sum(products, [draw(st.sampled_from(WEIGHTS)) for _ in products]) for _ in range(2)]
    builder.sum(below, [draw(st.sampled_from(WEIGHTS)) for _ in below])
    return builder.freeze()


def _leaf(draw: st.DrawFn, builder: Builder, column: int) -> int:
    variable = SCHEMA[column]
    if variable.role == "potential":
        return builder.leaf("potential", column, [])
    if not variable.is_categorical:
        deviations = st.sampled_from([-3.0, 0.0, 3.0])
        return builder.leaf("gaussian", column, [draw(st.floats(-2, 2)), draw(deviations)])
    logs = np.array([draw(st.sampled_from(TINY)) for _ in range(variable.cardinality)])
    return builder.leaf("categorical", column, logs - np.logaddexp.reduce(logs))


@st.composite
def extreme_rows(draw: st.DrawFn) -> Floats:
    states = [st.sampled_from([math.nan, *map(float, range(v.cardinality))]) for v in SCHEMA]
    states[3] = st.sampled_from([math.nan, 0.0, 1.5, 40.0, -400.0])
    states[4] = st.sampled_from([math.nan, -2000.0, -300.0, 0.0, 250.0, 2000.0])
    return np.array([[draw(cell) for cell in states] for _ in range(draw(st.integers(1, 12)))])


@given(extreme_circuits(), extreme_rows())
def test_values_of_any_size_agree_with_logarithms(graph: Graph, rows: Floats) -> None:
    assert close(log_values(graph, rows), oracle.log_values(graph, rows))


@given(extreme_circuits(), extreme_rows(), st.sampled_from([0, 10_000]))
def test_posteriors_of_values_of_any_size_agree_with_logarithms(
    graph: Graph, rows: Floats, whole: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backward, "WHOLE", whole)
        patch.setattr(backward, "STRETCH", 3)
        answers = posteriors(graph, rows)
    for row, answer in zip(rows, answers, strict=True):
        total = oracle.log_value(graph, row)
        if total == -math.inf:
            assert np.isnan(answer).all()
            continue
        for column, first in ((0, 0), (1, 2), (2, 4)):
            for state in range(SCHEMA[column].cardinality):
                told = row.copy()
                told[column] = state
                shown = 1.0 if row[column] == state else 0.0
                wanted = math.exp(oracle.log_value(graph, told) - total) if math.isnan(row[column]) else shown
                assert close(answer[first + state], wanted, 1e-7)


@given(extreme_circuits(), extreme_rows(), st.integers(0, 99))
def test_draws_and_completions_of_values_of_any_size_are_possible(
    graph: Graph, rows: Floats, seed: int
) -> None:
    potential = np.array([v.role == "potential" for v in SCHEMA])
    for filled in (
        completions(graph, rows, seed),
        completions(graph, rows),
        samples(graph, rows[0], len(rows), seed),
    ):
        source = rows if filled.shape == rows.shape and not np.array_equal(filled, rows) else filled
        for row, answer in zip(source, filled, strict=True):
            if oracle.log_value(graph, row) == -math.inf:
                continue
            assert not np.isnan(answer[~potential]).any()
            assert oracle.log_value(graph, answer) > -math.inf


def test_the_largest_of_values_of_any_size_is_found() -> None:
    builder = Builder(discrete_schema([3]))
    constants = [builder.constant(x) for x in (-4000.0, -3000.0, -3500.0)]
    builder.sum(
        [builder.product([builder.indicator(0, k), c]) for k, c in enumerate(constants)], [0, -10, 900]
    )
    graph = builder.freeze()
    assert completions(graph, np.array([[np.nan]])).tolist() == [[2.0]]
    assert log_values(graph, np.array([[np.nan]]), maximise=True)[0] == pytest.approx(-2600.0, rel=1e-12)


# ---- bounds that a weight brings back ------------------------------------------------------------------


def _two_levels(high: float, weight: float, sign: float) -> Graph:
    """A table of values near exp(high), times a weight, beside an ordinary table."""
    builder = Builder(discrete_schema([3, 3]))
    big = [builder.leaf("categorical", 0, np.log([0.2, 0.3, 0.5])) for _ in range(2)]
    scaled = [builder.product([big[0], builder.constant(sign * high)]), big[1]]
    first = builder.sum(scaled, [0.0, 0.0])
    other = [builder.leaf("categorical", 1, np.log([0.1, 0.1, 0.8])) for _ in range(2)]
    pair = [builder.product([first, other[0]]), builder.product([big[1], other[1]])]
    inner = builder.sum(pair, [sign * weight, 0.0])
    builder.product([inner, builder.constant(1.0)])
    outer = builder.sum([inner, pair[1]], [-1.0, -2.0])
    return builder.freeze(outer)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("high", [200.0, 230.0, 400.0, 900.0])
@pytest.mark.parametrize("weight", [-1000.0, -320.0, -230.0, -100.0, 0.0])
def test_results_come_back_into_range(high: float, weight: float, sign: float) -> None:
    graph = _two_levels(high, weight, sign)
    rows = np.array([*oracle.all_rows(graph.schema), [np.nan, 1.0], [np.nan, np.nan]])
    assert close(log_values(graph, rows), oracle.log_values(graph, rows))
    total = oracle.log_value(graph, rows[-1])
    wanted = [math.exp(oracle.log_value(graph, [k, np.nan]) - total) for k in range(3)]
    assert close(posteriors(graph, rows)[-1, :3], np.array(wanted))


def test_a_light_edge_to_a_dense_value_may_outweigh_a_heavy_one() -> None:
    """Exponents alone do not tell which term is larger: 2**-896 * 2**319 against 2**-319 * 2**-319."""
    schema = Schema(tuple(Variable(n, "real", role="potential") for n in "ab"))
    builder = Builder(schema)
    one, two = builder.leaf("potential", 0, []), builder.leaf("potential", 1, [])
    builder.sum(
        [one, two, builder.constant(-math.inf), builder.constant(-5000.0)],
        np.log(2) * np.array([-319, -896, 0, 0]),
    )
    graph = builder.freeze()
    rows = np.log(2) * np.array([[-319.0, 319.0], [-319.0, 100.0], [319.0, 319.0], [-700.0, 319.0]])
    assert close(log_values(graph, rows), oracle.log_values(graph, rows), 1e-12)


# ---- many variables, much depth, many children ---------------------------------------------------------


def _chain(depth: int, light: float) -> Graph:
    """A hidden chain of two states over `depth` binary columns, one leaf being as small as exp(light)."""
    builder = Builder(discrete_schema([2] * depth))
    below: list[int] = []
    for column in range(depth):
        leaves = [builder.leaf("bernoulli", column, [x]) for x in (light, 0.3)]
        tops = (
            [builder.product([leaf, b]) for leaf, b in zip(leaves, below, strict=True)] if below else leaves
        )
        below = [builder.sum(tops, np.log(w)) for w in ([0.9, 0.1], [0.2, 0.8])]
    builder.sum(below, np.log([0.5, 0.5]))
    return builder.freeze()


@pytest.mark.parametrize(("depth", "light"), [(2000, -50.6), (2000, -2.0), (5000, -300.0)])
def test_a_deep_chain_of_tiny_values_agrees_with_logarithms(depth: int, light: float) -> None:
    graph = _chain(depth, light)
    rng = np.random.default_rng(0)
    rows = np.stack([np.ones(depth), np.zeros(depth), rng.integers(0, 2, depth), np.full(depth, np.nan)])
    rows[2, ::7] = np.nan
    assert close(log_values(graph, rows), oracle.log_values(graph, rows))
    answer = posteriors(graph, rows[2:3])[0].reshape(depth, 2)
    assert np.allclose(answer.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    for column in (0, 7 * (depth // 14), 7 * ((depth - 1) // 7)):
        told = rows[2].copy()
        told[column] = 1
        wanted = math.exp(oracle.log_value(graph, told) - oracle.log_value(graph, rows[2]))
        assert close(answer[column, 1], wanted, 1e-8)


@st.composite
def narrow_chains(draw: st.DrawFn) -> Graph:
    """Hidden chains whose values fall far below the range of doubles, with zeros among weights and leaves."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    depth, width, states = draw(st.integers(60, 120)), draw(st.integers(2, 3)), draw(st.integers(2, 3))
    light = draw(st.sampled_from([3.0, 40.0, 150.0, 400.0]))
    zeros = draw(st.sampled_from([0.0, 0.1, 0.4]))
    builder = Builder(discrete_schema([states] * depth))
    below: list[int] = []
    for column in range(depth):
        logs = -light * rng.random((width, states))
        logs[rng.random(logs.shape) < zeros] = -math.inf
        logs[np.arange(width), rng.integers(0, states, width)] = 0.0
        leaves = [builder.leaf("categorical", column, x - np.logaddexp.reduce(x)) for x in logs]
        tops = [builder.product([a, b]) for a, b in zip(leaves, below, strict=True)] if below else leaves
        weights = np.log(rng.dirichlet(np.full(width, 0.3), width) + 1e-4)
        weights[rng.random(weights.shape) < zeros] = -math.inf
        below = [builder.sum(tops, w) for w in weights]
    builder.sum(below, np.zeros(width))
    return builder.freeze()


@settings(max_examples=12)
@given(narrow_chains(), st.integers(0, 2**32))
def test_narrow_chains_with_zeros_agree_with_logarithms(graph: Graph, seed: int) -> None:
    rng, states = np.random.default_rng(seed), graph.schema[0].cardinality
    rows = rng.integers(0, states, (12, len(graph.schema))).astype(float)
    rows[rng.random(rows.shape) < 0.5] = np.nan
    rows[0] = np.nan
    rows[1:9] = samples(graph, rows[0], 8, seed % 1000)  # complete rows that are possible, but for one cell
    rows[1:9, 7] = np.nan
    logs = oracle.log_values(graph, rows)
    assert close(log_values(graph, rows), logs)
    answers = posteriors(graph, rows).reshape(12, -1, states)
    drawn, best = completions(graph, rows, seed % 1000), completions(graph, rows)
    for row, log, answer in zip(rows, logs, answers, strict=True):
        assert np.isnan(answer).all() if log == -math.inf else np.allclose(answer.sum(axis=1), 1.0, atol=1e-9)
        if log == -math.inf or not np.isnan(row[7]):
            continue
        told = np.tile(row, (states, 1))
        told[:, 7] = np.arange(states)
        assert close(answer[7], np.exp(oracle.log_values(graph, told) - log), 1e-7)
    possible = np.isfinite(logs)
    for filled in (drawn[possible], best[possible]):
        assert np.isfinite(oracle.log_values(graph, filled)).all()


def test_few_operations_of_a_deep_chain_are_checked() -> None:
    care = compile_graph(_chain(2000, -2.0)).program.care
    assert (care == CHECKED).sum() < 0.05 * care.size
    assert (care == CARRIED).sum() > 0.9 * care.size


def test_a_sum_over_thousands_of_values_of_all_sizes_agrees_with_logarithms() -> None:
    rng = np.random.default_rng(1)
    builder = Builder(discrete_schema([2, 2]))
    parts = [
        builder.product(
            [builder.leaf("bernoulli", 0, [a]), builder.leaf("bernoulli", 1, [b]), builder.constant(c)]
        )
        for a, b, c in zip(
            rng.normal(0, 300, 3000), rng.normal(0, 2, 3000), rng.normal(0, 600, 3000), strict=True
        )
    ]
    builder.sum(parts, rng.normal(0, 300, 3000))
    graph = builder.freeze()
    rows = np.array([*oracle.all_rows(graph.schema), [np.nan, 1.0], [0.0, np.nan], [np.nan, np.nan]])
    assert close(log_values(graph, rows), oracle.log_values(graph, rows))
    total = oracle.log_value(graph, rows[-1])
    wanted = [math.exp(oracle.log_value(graph, [np.nan, k]) - total) for k in range(2)]
    assert close(posteriors(graph, rows)[-1, 2:], np.array(wanted))


def test_a_row_may_be_less_probable_than_exp_of_minus_100000() -> None:
    variables = 2000
    builder = Builder(discrete_schema([2] * variables))
    odds = math.log(1e-22) - math.log1p(-1e-22)
    parts = [
        builder.product([builder.leaf("bernoulli", c, [shift + odds]) for c in range(variables)])
        for shift in (0.0, 0.001, -1.0)
    ]
    builder.sum(parts, np.log([0.2, 0.3, 0.5]))
    graph = builder.freeze()
    rows = np.array([np.ones(variables), np.zeros(variables), np.full(variables, np.nan)])
    rows[2, ::2] = 1.0
    answer = log_values(graph, rows)
    assert answer[0] < -100_000
    assert close(answer, oracle.log_values(graph, rows), 1e-12)


def test_a_chain_of_ten_thousand_levels_can_be_swept_and_drawn_from() -> None:
    graph = _chain(5000, -1.0)  # a sum and a product a column
    everything = np.full(5000, np.nan)
    assert close(log_values(graph, everything[None]), 0.0)
    drawn = samples(graph, everything, 20, 1)
    assert not np.isnan(drawn).any()
    assert not np.isnan(completions(graph, everything[None])).any()


def test_a_wide_product_and_a_wide_sum_of_5000_children_hold() -> None:
    builder = Builder(discrete_schema([2] * 5000))
    rng = np.random.default_rng(0)
    wide = builder.product([builder.leaf("bernoulli", c, [x]) for c, x in enumerate(rng.normal(0, 3, 5000))])
    other = builder.product([builder.leaf("bernoulli", c, [x]) for c, x in enumerate(rng.normal(0, 3, 5000))])
    builder.sum([wide if k % 3 else other for k in range(5000)], rng.normal(-8, 1, 5000))
    graph = builder.freeze()
    rows = rng.integers(0, 2, (3, 5000)).astype(float)
    rows[1, rng.random(5000) < 0.5] = np.nan
    rows[2] = np.nan
    assert close(log_values(graph, rows), oracle.log_values(graph, rows))
    assert np.allclose(posteriors(graph, rows).reshape(3, 5000, 2).sum(axis=2), 1.0, rtol=0, atol=1e-9)


def test_a_column_may_have_a_thousand_states() -> None:
    rng = np.random.default_rng(0)
    builder = Builder(discrete_schema([1000, 2]))
    parts = [
        builder.product(
            [builder.leaf("categorical", 0, np.log(rng.dirichlet(np.ones(1000)))), builder.indicator(1, k)]
        )
        for k in (0, 1)
    ]
    builder.sum(parts, np.log([0.25, 0.75]))
    graph = builder.freeze()
    rows = np.array([[999.0, np.nan], [np.nan, 1.0], [0.0, 0.0]])
    assert close(log_values(graph, rows), oracle.log_values(graph, rows))
    assert close(posteriors(graph, rows)[1, :1000], np.exp(graph.blocks[0].parameters[1]))
