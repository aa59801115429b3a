"""The engine's answers against the definitions, over random circuits."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import oracle
import pytest
import strategies
from closeness import close
from hypothesis import assume, given
from hypothesis import strategies as st
from random_circuits import random_graph

from tractable.base.arrays import Floats
from tractable.circuit.blocks import univariate
from tractable.circuit.builder import Builder
from tractable.circuit.graph import LEAF, PRODUCT, Graph
from tractable.data.evidence import Interval, Region, States
from tractable.data.schema import Schema, Variable, discrete_schema
from tractable.data.table import Table
from tractable.engine import (
    completions,
    draw,
    first_statistics,
    log_values,
    posteriors,
    sweep,
)
from tractable.engine.inputs import ask
from tractable.engine.scaling import split, split_in_place
from tractable.learning.joint.chow_liu import ChowLiuLearner

KINDS: list[dict[str, Any]] = [
    {},
    {"mixed": True},
    {"normalised": False},
    {"mixed": True, "normalised": False, "smooth": False},
    {"deterministic": True},
]


@st.composite
def any_circuit(draw: st.DrawFn) -> Graph:
    return draw(strategies.circuits(**draw(st.sampled_from(KINDS))))


# ---- values -------------------------------------------------------------------------------------------


@given(any_circuit(), st.data())
def test_a_row_has_the_value_that_the_definition_gives_it(graph: Graph, data: st.DataObject) -> None:
    rows = data.draw(strategies.tables(graph.schema))
    assert close(log_values(graph, rows), oracle.log_values(graph, rows))


@given(strategies.wild_graphs(), st.data())
def test_neither_smoothness_nor_decomposability_is_needed_for_complete_rows(
    graph: Graph, data: st.DataObject
) -> None:
    rows = data.draw(strategies.tables(graph.schema, missing=False))
    assert close(log_values(graph, rows), oracle.log_values(graph, rows))


@given(any_circuit(), st.data())
def test_a_region_restricts_what_a_missing_cell_may_be(graph: Graph, data: st.DataObject) -> None:
    row, regions = data.draw(strategies.evidence(graph.schema))
    answer = log_values(graph, row[None], regions)[0]
    assert close(answer, oracle.log_value(graph, row, regions), 1e-9)


@given(any_circuit(), st.data())
def test_merging_sums_over_one_column_changes_no_value(graph: Graph, data: st.DataObject) -> None:
    rows = data.draw(strategies.tables(graph.schema))
    assert close(_unmerged_log_values(graph, rows), log_values(graph, rows))


def _unmerged_log_values(graph: Graph, rows: Floats) -> Floats:
    question = ask(graph, merge=False)
    return sweep.question_log_values(question, rows, maximise=False, threads=1)


def test_no_rows_have_no_values() -> None:
    graph = random_graph(np.random.default_rng(0), 3, 40)
    assert log_values(graph, np.zeros((0, 3))).shape == (0,)
    assert posteriors(graph, np.zeros((0, 3))).shape == (0, 6)
    assert completions(graph, np.zeros((0, 3))).shape == (0, 3)


def test_a_circuit_keeps_no_preparation_for_some_columns_alone() -> None:
    graph = random_graph(np.random.default_rng(0), 4, 60)
    rows = np.full((1, 4), np.nan)
    log_values(graph, rows), log_values(graph, rows, best=frozenset(range(4)))
    kept = set(graph.facts)
    for column in range(4):
        log_values(graph, rows, best=frozenset([column]))
    assert set(graph.facts) == kept
    assert ask(graph) is ask(graph)
    assert ask(graph, best=frozenset(range(4))) is ask(graph, best=frozenset(range(4)))


# ---- single nodes and constants -----------------------------------------------------------------------


@pytest.mark.parametrize("states", [1, 2, 3])
def test_a_single_leaf_is_a_circuit(states: int) -> None:
    builder = Builder(discrete_schema([states]))
    builder.leaf("categorical", 0, np.log(np.arange(1, states + 1) / (states * (states + 1) / 2)))
    graph = builder.freeze()
    rows = np.array([[np.nan], [0.0], [states - 1.0]])
    assert close(log_values(graph, rows), oracle.log_values(graph, rows))
    assert close(posteriors(graph, rows)[0], np.exp(graph.blocks[0].parameters[0]))


@pytest.mark.parametrize("log_value", [-math.inf, -3000.0, 0.0, 4000.0])
def test_a_constant_is_a_circuit(log_value: float) -> None:
    builder = Builder(discrete_schema([2]))
    builder.sum([builder.constant(log_value), builder.constant(log_value)], [0.0, 0.0])
    rows = np.array([[1.0], [np.nan]])
    graph = builder.freeze()
    assert close(log_values(graph, rows), log_value + math.log(2))
    assert np.isnan(posteriors(graph, rows)).all() == (log_value == -math.inf)
    assert np.array_equal(completions(graph, rows), rows, equal_nan=True)
    assert np.array_equal(draw.samples(graph, rows[0], 2, 0), [[1.0], [1.0]])


def test_a_circuit_that_is_zero_everywhere_completes_nothing() -> None:
    builder = Builder(discrete_schema([2, 2]))
    builder.product([builder.indicator(0, 1), builder.indicator(0, 0), builder.indicator(1, 0)])
    graph = builder.freeze()
    rows = np.array([[0.0, np.nan], [1.0, 0.0]])
    assert np.isneginf(log_values(graph, rows)).all()
    assert np.isnan(posteriors(graph, rows)).all()
    assert np.array_equal(completions(graph, rows), rows, equal_nan=True)


def test_an_edge_of_weight_zero_to_another_column_leaves_a_mergeable_sum_alone() -> None:
    builder = Builder(discrete_schema([3, 3]))
    leaves = [builder.leaf("categorical", 0, np.log([0.2, 0.3, 0.5])) for _ in range(2)]
    other = builder.leaf("categorical", 1, np.log([0.1, 0.1, 0.8]))
    builder.sum([*leaves, other], [math.log(0.5), math.log(0.25), -math.inf])
    graph = builder.freeze()
    rows = np.array(oracle.all_rows(graph.schema))
    assert close(log_values(graph, rows), oracle.log_values(graph, rows))


def test_a_child_named_twice_counts_twice() -> None:
    builder = Builder(discrete_schema([2, 2]))
    both = [builder.product([builder.indicator(0, k), builder.indicator(1, k)]) for k in (0, 1)]
    builder.sum([both[0], both[1], both[0]], np.log([0.25, 0.25, 0.5]))
    graph = builder.freeze()
    assert close(posteriors(graph, np.full((1, 2), np.nan))[0], np.array([0.75, 0.25, 0.75, 0.25]))


# ---- posteriors ---------------------------------------------------------------------------------------


@given(st.sampled_from([{}, {"normalised": False}, {"deterministic": True}, {"mixed": True}]), st.data())
def test_posteriors_are_those_of_the_definition(kind: dict[str, Any], data: st.DataObject) -> None:
    graph = data.draw(strategies.circuits(**kind))
    row, regions = data.draw(strategies.evidence(graph.schema))
    answer = posteriors(graph, row[None], regions)[0]
    assume("mixed" not in kind or oracle.log_value(graph, row, regions) > -600 or np.isnan(answer[0]))
    spreads = first_statistics(graph.schema)[:-1][graph.schema.cardinalities == 0] + 1
    answer[spreads] **= 2
    assert close(answer, _statistics(graph, row, regions), 1e-7 if "mixed" in kind else 1e-10)


def _statistics(graph: Graph, row: Floats, regions: dict[int, Region]) -> Floats:
    """The statistics of all columns, with variances in the place of standard deviations."""
    total = oracle.log_value(graph, row, regions)
    if total == -math.inf:
        return np.full(first_statistics(graph.schema)[-1], np.nan)
    parts = [_column_statistics(graph, row, regions, c, total) for c in range(len(graph.schema))]
    return np.concatenate(parts)


def _column_statistics(
    graph: Graph, row: Floats, regions: dict[int, Region], column: int, total: float
) -> Floats:
    variable = graph.schema[column]
    if not math.isnan(row[column]):
        shown = row[column]
        if variable.is_categorical:
            return np.where(np.arange(variable.cardinality) == shown, 1.0, 0.0)
        return np.array([shown, 0.0])
    if not variable.is_categorical:
        mean, square = (_moment(graph, row, regions, column, k) / math.exp(total) for k in (1, 2))
        return np.array([mean, square - mean**2])
    region = regions.get(column)
    answer = np.zeros(variable.cardinality)
    for state in range(variable.cardinality):
        if not isinstance(region, States) or region.allowed[state]:
            told = row.copy()
            told[column] = state
            answer[state] = math.exp(oracle.log_value(graph, told, regions) - total)
    return answer


def _moment(graph: Graph, row: Floats, regions: dict[int, Region], column: int, power: int) -> float:
    """The circuit's value with the column's leaves replaced by their integrals of x ** power."""
    leaves = oracle.leaves_of(graph)
    value: list[float] = []
    for node in range(graph.nodes):
        below = [math.exp(w) * value[child] for child, w in oracle.edges_of(graph, node)]
        if graph.kind[node] == LEAF and leaves[node].column == column:
            value.append(_integral(leaves[node], regions.get(column), power))
        elif graph.kind[node] == LEAF:
            value.append(math.exp(oracle.log_leaf(leaves[node], row, regions)))
        else:
            value.append(math.prod(below) if graph.kind[node] == PRODUCT else sum(below))
    return value[-1]


def _integral(leaf: oracle.Leaf, region: Region | None, power: int) -> float:
    assert region is None or isinstance(region, Interval)
    low, high = (-math.inf, math.inf) if region is None else (region.low, region.high)
    log_prob = oracle.LOG_PROB[leaf.family]
    if leaf.family == "poisson":
        counts = range(math.ceil(max(low, 0)), int(min(high, 200)) + 1)
        return math.fsum(k**power * math.exp(log_prob(leaf.params, k)) for k in counts)
    if leaf.family == "gaussian":
        edges = [
            leaf.params[0] - 12 * math.exp(leaf.params[1]),
            leaf.params[0] + 12 * math.exp(leaf.params[1]),
        ]
    else:
        edges = leaf.params[: len(leaf.params) // 2 + 1]
    ends = np.clip(edges, low, high)
    points, shares = np.polynomial.legendre.leggauss(150)
    total = 0.0
    for left, right in pairwise(ends):
        x = (left + right) / 2 + (right - left) / 2 * points
        density = np.exp([log_prob(leaf.params, float(z)) for z in x])
        total += float((right - left) / 2 * (shares * x**power * density).sum())
    return total


# ---- largest terms ------------------------------------------------------------------------------------


@given(strategies.deterministic_circuits(normalised=False), st.data())
def test_the_most_probable_completion_of_a_deterministic_circuit_is_found(
    graph: Graph, data: st.DataObject
) -> None:
    rows = np.array([data.draw(strategies.rows(graph.schema))])
    best, winners = oracle.mpe(graph, rows[0])
    assert close(log_values(graph, rows, maximise=True), best)
    completed = completions(graph, rows)[0]
    if best == -math.inf:
        assert np.array_equal(completed, rows[0], equal_nan=True)
    else:
        assert tuple(completed) in winners


@given(st.sampled_from([{}, {"normalised": False}, {"mixed": True}]), st.data())
def test_a_completion_is_at_least_as_good_as_any_single_tree(
    kind: dict[str, Any], data: st.DataObject
) -> None:
    graph = data.draw(strategies.circuits(**kind))
    rows = np.array([data.draw(strategies.rows(graph.schema))])
    tree = _best_tree(graph, rows[0])
    answer = log_values(graph, rows, maximise=True)[0]
    completed = completions(graph, rows)[0]
    if tree == -math.inf:
        assert answer == -math.inf
        return
    assert answer >= tree - 1e-9
    assert oracle.log_value(graph, completed) >= answer - 1e-9
    assert np.array_equal(completed[~np.isnan(rows[0])], rows[0][~np.isnan(rows[0])])


def _best_tree(graph: Graph, row: Floats) -> float:
    """The largest log value of an induced tree, each missing leaf at its best."""
    leaves = oracle.leaves_of(graph)
    value: list[float] = []
    for node in range(graph.nodes):
        below = [w + value[child] for child, w in oracle.edges_of(graph, node)]
        if graph.kind[node] == LEAF:
            value.append(_best_value(graph, leaves[node], row))
        else:
            value.append(sum(below) if graph.kind[node] == PRODUCT else max(below))
    return value[-1]


def _best_value(graph: Graph, leaf: oracle.Leaf, row: Floats) -> float:
    if leaf.family == "constant" or not math.isnan(row[leaf.column]):
        return oracle.log_leaf(leaf, row, {})
    if leaf.family == "gaussian":
        tries = [leaf.params[0]]
    elif leaf.family == "histogram":
        tries = [x + 1e-9 for x in leaf.params[: len(leaf.params) // 2]]
    else:
        tries = list(range(graph.schema[leaf.column].cardinality or 40))
    return max(oracle.LOG_PROB[leaf.family](leaf.params, x) for x in tries)


@given(st.lists(st.floats(-1e200, 1e200) | st.floats(-400, 400) | st.just(-math.inf), max_size=20))
def test_many_logarithms_are_split_where_they_stand_as_few_are(logs: list[float]) -> None:
    value, exponent = split(np.array(logs))
    turned = np.array(logs)
    assert split_in_place(turned) == pytest.approx(exponent)
    assert turned == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("regions", [{}, {0: Interval(-1.0, 2.0)}])
def test_leaves_of_one_column_share_its_cells_where_there_are_many(regions: dict[int, Region]) -> None:
    rng = np.random.default_rng(0)
    schema = Schema((Variable("real", "real"), Variable("whole", "integer"), Variable("empty", "real")))
    table = Table(schema, np.column_stack([rng.normal(size=500), rng.poisson(3, 500), rng.random(500)]))
    graph = ChowLiuLearner().learn(table, rng)
    rows = table.values.copy()
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[:, 2] = np.nan
    each = np.concatenate([log_values(graph, rows[i : i + 1], regions) for i in range(len(rows))])
    assert len(rows) < univariate.MANY_CELLS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(univariate, "MANY_CELLS", 0)
        assert log_values(graph, rows, regions) == pytest.approx(each, rel=1e-13)
