"""What is said of a circuit, against the definitions."""

import math

import numpy as np
import oracle
import pytest
from hypothesis import given
from random_circuits import random_graph
from strategies import circuits, deterministic_circuits, wild_graphs

from tractable.circuit import (
    Builder,
    Graph,
    determinism,
    explain_decomposable,
    explain_deterministic,
    explain_regular_selective,
    explain_smooth,
    is_decomposable,
    is_deterministic,
    is_regular_selective,
    is_smooth,
    is_valid_over,
    properties,
)
from tractable.data.schema import Schema, Variable, discrete_schema


@given(circuits(mixed=True, smooth=False, normalised=False) | wild_graphs())
def test_smooth_and_decomposable_are_what_sets_of_columns_say(graph: Graph) -> None:
    assert is_smooth(graph) == oracle.is_smooth(graph)
    assert is_decomposable(graph) == oracle.is_decomposable(graph)
    for column in range(len(graph.schema)):
        expected = oracle.is_smooth(graph, [column]) and oracle.is_decomposable(graph, [column])
        assert is_valid_over(graph, [column]) == expected


@given(circuits(normalised=False) | wild_graphs())
def test_what_is_called_deterministic_has_one_live_child_for_every_row(graph: Graph) -> None:
    if is_deterministic(graph):
        assert oracle.is_deterministic(graph)


@given(deterministic_circuits(normalised=False))
def test_sums_that_split_the_states_of_a_column_are_seen_to_be_deterministic(graph: Graph) -> None:
    assert is_deterministic(graph)
    assert oracle.is_deterministic(graph)


@given(circuits(normalised=False) | wild_graphs())
def test_regular_selective_implies_deterministic(graph: Graph) -> None:
    if is_regular_selective(graph):
        assert is_deterministic(graph)


@given(circuits(mixed=True))
def test_depth_and_variables_are_counted(graph: Graph) -> None:
    found = properties(graph)
    assert found.depth == oracle.depth(graph)
    assert found.variables == len(oracle.scopes(graph)[-1])


def test_a_product_that_shares_a_column_is_named() -> None:
    b = Builder(Schema((Variable("age", states=("young", "old")),)))
    b.product([b.indicator(0, 0), b.indicator(0, 1)])
    assert explain_decomposable(b.freeze()) == "product 2: its children 0 and 1 share column 'age'"


def test_a_sum_that_lacks_a_column_is_named() -> None:
    b = Builder(discrete_schema([2, 2]))
    b.sum([b.product([b.indicator(0, 0), b.indicator(1, 0)]), b.indicator(0, 1)], [0.0, 0.0])
    graph = b.freeze()
    assert explain_smooth(graph) == "sum 4: its child 2 is over column 'x1', its child 3 is not"
    assert is_valid_over(graph, [0])
    assert not is_valid_over(graph, [0, 1])


def test_the_culprit_may_be_over_a_column_beyond_the_first_sixty_four() -> None:
    b = Builder(discrete_schema([2] * 130))
    leaves = [b.indicator(c, 0) for c in range(130)]
    b.product([*leaves, b.indicator(129, 1)])
    assert explain_decomposable(b.freeze()) == "product 131: its children 129 and 130 share column 'x129'"


def test_children_that_no_column_tells_apart_are_named() -> None:
    b = Builder(discrete_schema([2]))
    b.sum([b.leaf("bernoulli", 0, [0.5]), b.indicator(0, 0)], [0.0, 0.0])
    assert explain_deterministic(b.freeze()) == "sum 2: no column tells its children 0 and 1 apart"


def test_an_edge_of_weight_zero_does_not_count_against_determinism() -> None:
    b = Builder(discrete_schema([2]))
    b.sum([b.leaf("bernoulli", 0, [0.5]), b.indicator(0, 0)], [0.0, -math.inf])
    assert is_deterministic(b.freeze())


@pytest.mark.parametrize("states", [63, 64, 65, 128, 200])
def test_columns_of_many_states_are_told_apart(states: int) -> None:
    b = Builder(discrete_schema([2, states, 2]))
    parts = [b.product([b.indicator(0, 0), b.indicator(1, k), b.indicator(2, 0)]) for k in range(states)]
    b.sum(parts, np.zeros(states))
    assert is_deterministic(b.freeze())
    assert is_regular_selective(b.freeze())
    b.sum([*parts, parts[-1]], np.zeros(states + 1))
    assert not is_deterministic(b.freeze())
    assert not is_regular_selective(b.freeze())


def test_different_columns_may_tell_different_pairs_apart() -> None:
    b = Builder(discrete_schema([3, 3]))
    pairs = [(0, 0), (0, 1), (1, 0)]
    b.sum([b.product([b.indicator(0, i), b.indicator(1, j)]) for i, j in pairs], np.zeros(3))
    graph = b.freeze()
    assert is_deterministic(graph)
    assert not is_regular_selective(graph)


def test_a_sum_of_too_many_children_is_not_compared_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(determinism, "MOST_PAIRS", 2)
    b = Builder(discrete_schema([3, 3]))
    pairs = [(0, 0), (0, 1), (1, 0)]
    b.sum([b.product([b.indicator(0, i), b.indicator(1, j)]) for i, j in pairs], np.zeros(3))
    assert explain_deterministic(b.freeze()) == (
        "sum 7: it has too many children to compare, and no column tells them all apart"
    )


def test_a_decision_over_one_column_is_regular_selective() -> None:
    b = Builder(discrete_schema([2, 2]))
    second = [b.sum([b.indicator(1, 0), b.indicator(1, 1)], np.log([p, 1 - p])) for p in (0.2, 0.7)]
    b.sum([b.product([b.indicator(0, k), second[k]]) for k in range(2)], np.log([0.5, 0.5]))
    assert is_regular_selective(b.freeze())


def test_overlapping_leaves_are_not_regular_selective() -> None:
    b = Builder(discrete_schema([2]))
    b.sum([b.leaf("bernoulli", 0, [0.5]), b.leaf("bernoulli", 0, [0.1])], [0.0, 0.0])
    assert explain_regular_selective(b.freeze()) == "column 'x0' has different leaves whose supports overlap"


def test_a_sum_over_numbers_alone_decides_nothing() -> None:
    b = Builder(discrete_schema([2]))
    b.sum([b.constant(0.0), b.constant(1.0)], [0.0, 0.0])
    assert not is_regular_selective(b.freeze())
    assert not is_deterministic(b.freeze())


def test_properties_read_like_a_sentence() -> None:
    b = Builder(discrete_schema([2]))
    b.sum([b.indicator(0, 0), b.indicator(0, 1)], np.log([0.4, 0.6]))
    assert repr(properties(b.freeze())) == (
        "<smooth, decomposable, deterministic, regular selective;"
        " 3 nodes, 2 edges, depth 1, 2 parameters, 1 variables>"
    )


def test_a_random_graph_is_normalised_and_about_as_large_as_asked() -> None:
    graph = random_graph(np.random.default_rng(0), 150, 20_000, states=3)
    found = properties(graph)
    assert found.smooth
    assert found.decomposable
    assert found.variables == 150
    assert found.edges == pytest.approx(20_000, rel=0.2)
    small = random_graph(np.random.default_rng(0), 4, 60)
    assert oracle.log_total(small) == pytest.approx(0.0, abs=1e-9)
