"""Circuits that were pruned, smoothed and normalised, against enumeration."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import oracle
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from same_function import assert_equal_logs, assert_same_function, every_row
from strategies import circuits, rows, tables, wild_graphs

from tractable.circuit import (
    SUM,
    Builder,
    FeatureTable,
    Graph,
    condition,
    is_decomposable,
    is_deterministic,
    is_smooth,
    marginalise,
    normalise,
    smooth,
    to_ac,
)
from tractable.data.schema import Schema, Variable, discrete_schema
from tractable.engine import log_partition_function

close = pytest.approx


@pytest.mark.parametrize("made", [smooth, to_ac])
def test_the_constants_of_a_feature_table_stay(made: Callable[[Graph], Graph]) -> None:
    graph = _markov_network()
    same = made(graph)
    assert same.features is not None
    leaves = oracle.leaves_of(same)
    assert [leaves[int(n)].params[0] for n in same.features.node] == same.features.log_weight.tolist()
    assert_same_function(same, graph, every_row(graph))


def test_a_changed_graph_remembers_nothing_of_the_old_one() -> None:
    graph = _markov_network()
    before = log_partition_function(graph)
    changed = replace(graph, log_weight=np.where(graph.kind[graph.parent] == SUM, 1.0, 0.0))
    assert log_partition_function(changed) != close(before)


@given(circuits(smooth=False, normalised=False))
def test_smoothing_changes_no_complete_row(graph: Graph) -> None:
    even = smooth(graph)
    assert is_smooth(even)
    assert is_decomposable(even)
    assert_same_function(even, graph, every_row(graph))


@given(circuits(smooth=False, normalised=False))
def test_a_smoothed_circuit_sums_to_its_partition(graph: Graph) -> None:
    assume(len(oracle.scopes(graph)[-1]) == len(graph.schema))
    assert log_partition_function(smooth(graph)) == close(oracle.log_total(graph), abs=1e-9)


@given(wild_graphs())
def test_any_graph_can_be_made_smooth(graph: Graph) -> None:
    even = smooth(graph)
    assert is_smooth(even)
    assert_same_function(even, graph, every_row(graph))


def test_a_missing_real_column_cannot_be_made_smooth() -> None:
    b = Builder(Schema((Variable("a", states=("x", "y")), Variable("height", "real"))))
    b.sum([b.product([b.indicator(0, 0), b.leaf("gaussian", 1, [0.0, 0.0])]), b.indicator(0, 1)], [0.0, 0.0])
    with pytest.raises(ValueError, match="column 'height' is real"):
        smooth(b.freeze())


@given(circuits(mixed=True, normalised=False), st.data())
def test_normalising_divides_by_the_partition(graph: Graph, data: st.DataObject) -> None:
    even, log_z = normalise(graph)
    values = data.draw(tables(graph.schema))
    assert log_z == close(log_partition_function(graph), abs=1e-9)
    assert_equal_logs(oracle.log_values(even, values) + log_z, oracle.log_values(graph, values))
    for node in np.flatnonzero(even.kind == SUM).tolist():
        assert oracle.log_sum(w for _, w in oracle.edges_of(even, node)) == close(0.0, abs=1e-9)


@given(circuits(normalised=False))
def test_the_partition_is_the_sum_over_all_rows(graph: Graph) -> None:
    assert log_partition_function(graph) == close(oracle.log_total(graph), abs=1e-9)


def test_a_circuit_that_is_zero_everywhere_cannot_be_normalised() -> None:
    b = Builder(discrete_schema([2]))
    b.sum([b.indicator(0, 0), b.indicator(0, 1)], [-math.inf, -math.inf])
    with pytest.raises(ValueError, match="zero everywhere"):
        normalise(b.freeze())


@given(circuits(), st.data())
def test_the_induced_trees_add_up_to_the_value(graph: Graph, data: st.DataObject) -> None:
    assume(oracle.number_of_trees(graph) < 2000)
    row = data.draw(rows(graph.schema))
    value = oracle.node_log_values(graph, row)
    trees = [t.log_weight + sum(value[leaf] for leaf in t.leaves) for t in oracle.induced_trees(graph)]
    assert oracle.log_sum(trees) == close(value[-1], abs=1e-9)


def test_every_transform_takes_a_chain_of_ten_thousand() -> None:
    graph = _chain(10_000)
    assert log_partition_function(graph) == close(math.log(2_501))
    assert is_smooth(graph)
    assert not is_deterministic(graph)
    for made in (to_ac(graph), smooth(graph), normalise(graph).graph):
        assert made.nodes >= 2
        assert is_decomposable(made)
    assert condition(graph, np.array([0.0])).nodes == 1
    assert marginalise(graph, []).nodes == 1


def _chain(length: int) -> Graph:
    """Sums and products in turn; each sum is the mean of the leaf and of twice the sum before."""
    b = Builder(discrete_schema([2]))
    leaf = b.leaf("bernoulli", 0, [0.3])
    two = b.constant(math.log(2.0))
    top = leaf
    for _ in range(length // 2):
        top = b.sum([b.product([top, two]), leaf], np.log([0.5, 0.5]))
    return b.freeze(top)


def _markov_network() -> Graph:
    """exp(0.7 [a = 1] - 0.2 [b = 0]) over two binary columns, with a detour of single children."""
    b = Builder(discrete_schema([2, 2]))
    first, second = b.constant(0.7), b.constant(-0.2)
    left = b.sum([b.indicator(0, 0), b.product([b.indicator(0, 1), first])], [0.0, 0.0])
    right = b.sum([b.product([b.indicator(1, 0), second]), b.indicator(1, 1)], [0.0, 0.0])
    top = b.sum([b.product([b.sum([left], [0.0]), right])], [0.0])
    features = FeatureTable(
        np.array([first, second]),
        np.array([0.7, -0.2]),
        np.array([0, 1, 2]),
        np.array([0, 1]),
        np.array([1, 0]),
        np.array([True, True]),
    )
    return b.freeze(top, features)
