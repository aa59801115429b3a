"""A growing circuit against the Markov network that it computes, enumerated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_linear import all_rows, holds, log_linear
from random_splits import random_splits, singles

from tractable.learning.growing import Evaluator, GrowingCircuit
from tractable.learning.growing.plan import NEVER


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_after_every_split_the_circuit_is_the_network_and_edges_are_as_foretold(
    states: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    circuit = GrowingCircuit(np.array(states))
    rows = all_rows(circuit.states)
    for features in random_splits(circuit, rng, 25):
        weight = rng.normal(size=len(features))
        logs = log_linear(rows, features, weight)
        total = np.logaddexp.reduce(logs)
        log_value, expected = Evaluator(circuit).feature_expectations(weight)
        assert log_value == pytest.approx(total, rel=1e-9, abs=1e-9)
        chances = [np.exp(logs - total) @ holds(rows, f) for f in features]
        np.testing.assert_allclose(expected, chances, atol=1e-9)


def test_hundreds_of_splits_keep_the_circuit_equal_to_the_network() -> None:
    rng = np.random.default_rng(3)
    circuit = GrowingCircuit(np.array([2, 3, 2, 2, 2, 3]))
    rows = all_rows(circuit.states)
    for features in random_splits(circuit, rng, 300):
        weight = 0.3 * rng.normal(size=len(features))
        total = np.logaddexp.reduce(log_linear(rows, features, weight))
        assert Evaluator(circuit).feature_expectations(weight).log_partition == pytest.approx(
            total, rel=1e-9, abs=1e-9
        )


def test_state_probabilities_given_evidence_are_those_of_the_network() -> None:
    rng = np.random.default_rng(1)
    circuit = GrowingCircuit(np.array([2, 3, 2, 2]))
    rows = all_rows(circuit.states)
    features = singles(circuit.states)
    for features in random_splits(circuit, rng, 12):  # noqa: B007 - the last ones count
        pass
    weight = rng.normal(size=len(features))
    allowed = np.ones((9, 3))
    allowed[[0, 3], 1] = 0.0
    allowed[[2, 3, 4], 2] = 0.0  # impossible
    first = np.array([0, 2, 5, 7])
    logs = log_linear(rows, features, weight)
    chances = Evaluator(circuit).state_probabilities(weight, allowed)
    for piece in range(2):
        mass = np.exp(logs) * np.prod([allowed[first[c] + rows[:, c], piece] for c in range(4)], axis=0)
        for column, state in [f[0] for f in singles(circuit.states)]:
            share = (mass @ (rows[:, column] == state)) / mass.sum()
            assert chances[first[column] + state, piece] == pytest.approx(share)
    assert not chances[:, 2].any()


def test_a_cost_above_the_limit_is_given_up() -> None:
    circuit = GrowingCircuit(np.array([2, 2, 2]))
    cost = circuit.edge_cost(np.array([0]), 1)
    assert circuit.edge_cost(np.array([0]), 1, limit=cost) == cost
    assert circuit.edge_cost(np.array([0]), 1, limit=cost - 1) == NEVER


def test_replacing_the_parameters_of_a_leaf_makes_a_bayesian_network() -> None:
    circuit = GrowingCircuit(np.array([2, 3, 2]))
    before = circuit.edges
    cost = circuit.edge_cost(np.array([2, 3, 4]), 0, replace=True)
    fresh = circuit.split(np.array([2, 3, 4]), 0, replace=True)
    assert circuit.edges - before == cost
    assert fresh.shape == (3, 2)
    rng = np.random.default_rng(0)
    weight = np.zeros(circuit.params)
    weight[:2], weight[5:7] = np.log([0.3, 0.7]), np.log([0.1, 0.9])
    weight[2:5] = 99.0  # in no product any more
    tables = rng.dirichlet(np.ones(3), size=2)
    weight[fresh] = np.log(tables.T)
    log_value, expected = Evaluator(circuit).feature_expectations(weight)
    assert log_value == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(expected[fresh], tables.T * [0.3, 0.7])
