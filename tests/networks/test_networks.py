"""Compiled networks say what their factors say."""

import itertools
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import all_rows, log_values
from random_networks import enumerated, features, networks

from tractable.circuit.blocks import ConstantBlock
from tractable.circuit.graph import Graph
from tractable.circuit.properties import explain_decomposable, explain_deterministic, explain_smooth
from tractable.data.schema import Schema, Variable, discrete_schema
from tractable.networks import (
    Factor,
    FeatureFactor,
    Network,
    TableFactor,
    TreeFactor,
    compile_network,
)
from tractable.networks.compiling.order import min_fill_order


def assert_same_distribution(network: Network, graph: Graph) -> None:
    expected, got = enumerated(network), log_values(graph, all_rows(network.schema))
    np.testing.assert_array_equal(np.isneginf(got), np.isneginf(expected))
    some = ~np.isneginf(expected)
    np.testing.assert_allclose(got[some], expected[some], atol=1e-9)


def assert_well_formed(graph: Graph) -> None:
    assert explain_smooth(graph) is None
    assert explain_decomposable(graph) is None
    assert explain_deterministic(graph) is None


@settings(max_examples=60, deadline=None)
@given(networks("markov"))
def test_a_compiled_markov_network_is_the_product_of_its_factors(network: Network) -> None:
    if np.isneginf(enumerated(network)).all():
        with pytest.raises(ValueError, match="probability zero"):
            compile_network(network)
        return
    graph = compile_network(network)
    assert_same_distribution(network, graph)
    assert_well_formed(graph)


@settings(max_examples=60, deadline=None)
@given(networks("bayes"))
def test_a_compiled_bayesian_network_of_trees_is_normalised_and_equal(network: Network) -> None:
    graph = compile_network(network)
    assert_same_distribution(network, graph)
    assert_well_formed(graph)
    nothing_known = [[np.nan] * len(network.schema)]
    assert log_values(graph, nothing_known)[0] == pytest.approx(0.0, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_network_of_features_keeps_its_feature_table(data: st.DataObject) -> None:
    schema = discrete_schema([2, 3, 2])
    some = data.draw(st.lists(features(schema), min_size=1, max_size=4))
    some = [FeatureFactor(f.columns, f.states, f.equals, max(f.log_weight, -2.0)) for f in some]
    graph = compile_network(Network(schema, tuple(some), "markov"))
    assert graph.features is not None
    for i, feature in enumerate(some):
        conditions = slice(graph.features.start[i], graph.features.start[i + 1])
        assert tuple(graph.features.column[conditions]) == feature.columns
        assert tuple(graph.features.state[conditions]) == feature.states
        assert tuple(graph.features.equals[conditions]) == feature.equals
        assert graph.features.log_weight[i] == feature.log_weight
        if graph.features.node[i] >= 0:
            (constants,) = graph.blocks_of(ConstantBlock)
            at = int(np.searchsorted(constants.node, graph.features.node[i]))
            assert constants.node[at] == graph.features.node[i]
            assert constants.log_value[at] == feature.log_weight


def chain(length: int, states: int, rng: np.random.Generator) -> Network:
    steps = [rng.normal(size=(states, states)) for _ in range(length - 1)]
    factors = tuple(TableFactor((i, i + 1), step) for i, step in enumerate(steps))
    return Network(discrete_schema([states] * length), factors, "markov")


def test_a_chain_of_a_thousand_columns_compiles_to_a_circuit_of_linear_size() -> None:
    network = chain(1000, 3, np.random.default_rng(0))
    graph = compile_network(network)
    assert graph.edges < 30 * 1000
    message = np.zeros(3)
    for factor in network.factors:
        assert isinstance(factor, TableFactor)
        message = np.logaddexp.reduce(message[:, None] + factor.log_values, axis=0)
    nothing_known = [[np.nan] * 1000]
    assert log_values(graph, nothing_known)[0] == pytest.approx(np.logaddexp.reduce(message), rel=1e-10)


def test_zeros_and_equal_entries_make_the_circuit_small() -> None:
    """Twenty parents: a table would have a million entries, the tree asks about one or two of them."""
    schema = discrete_schema([2] * 21)
    tree = TreeFactor(
        20,
        np.array([0, 1, -1, -1, 2, -1, -1]),
        np.array([0, 0, 0, 0, 1, 0, 0]),
        np.array([1, 2, 0, 0, 5, 0, 0]),
        np.array([4, 3, 0, 0, 6, 0, 0]),
        np.log([[0.5, 0.5]] * 2 + [[0.9, 0.1], [0.3, 0.7], [0.5, 0.5], [0.2, 0.8], [0.6, 0.4]]),
    )
    priors = tuple(TableFactor((c,), np.log([0.25, 0.75])) for c in range(20))
    graph = compile_network(Network(schema, (*priors, tree), "bayes"))
    assert graph.edges < 200


def test_a_network_that_would_explode_is_refused_with_estimate_and_limit() -> None:
    rng = np.random.default_rng(0)
    pairs = itertools.combinations(range(40), 2)
    factors = tuple(TableFactor(pair, rng.normal(size=(2, 2))) for pair in pairs)
    network = Network(discrete_schema([2] * 40), factors, "markov")
    with pytest.raises(ValueError, match=r"estimated 2\.2e\+12 table entries, above the limit of 50,000,000"):
        compile_network(network)


def test_the_work_on_features_is_bounded_as_it_happens() -> None:
    rng = np.random.default_rng(0)
    pairs = itertools.combinations(range(25), 2)
    factors = tuple(FeatureFactor(p, (1, 1), (True, True), float(rng.normal())) for p in pairs)
    with pytest.raises(ValueError, match="more than the limit of 10,000"):
        compile_network(Network(discrete_schema([2] * 25), factors, "markov"), limit=10_000)


def test_min_fill_eliminates_a_tree_from_its_leaves() -> None:
    order = list(min_fill_order(7, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]))
    assert sorted(column for column, _ in order) == list(range(7))
    assert all(len(around) <= 1 for _, around in order)


def test_a_cycle_of_parents_is_named() -> None:
    half = np.log(np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match=r"cycle: x[01] -> x[01] -> x[01]"):
        Network(discrete_schema([2, 2]), (TableFactor((0, 1), half), TableFactor((1, 0), half)), "bayes")


@pytest.mark.parametrize(
    ("factors", "kind", "fault"),
    [
        ((), "bayes", "column 'x0' has no distribution"),
        ((TableFactor((0,), np.zeros(2)),), "bayes", "column 'x0' do not sum to 1"),
        ((TableFactor((0,), np.zeros(3)),), "markov", "factor 0 has shape"),
        ((TableFactor((0, 0), np.zeros((2, 2))),), "markov", "factor 0 names a column twice"),
        ((TableFactor((4,), np.zeros(2)),), "markov", "factor 0 is over column 4"),
        ((TableFactor((0,), np.array([0, np.nan])),), "markov", "factor 0 has the log value nan"),
        ((FeatureFactor((1,), (2,), (True,), 0.0),), "markov", "column 'x1' has no state number 2"),
        ((FeatureFactor((1,), (0,), (True,), 0.0),), "bayes", "not of features"),
    ],
)
def test_a_wrong_factor_is_named(
    factors: tuple[Factor, ...], kind: Literal["bayes", "markov"], fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        Network(discrete_schema([2, 2]), factors, kind)


def test_a_network_has_categorical_columns_only() -> None:
    with pytest.raises(ValueError, match="column 'height' is real"):
        Network(Schema((Variable("height", "real"),)), (), "markov")
