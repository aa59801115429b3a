"""Gibbs sampling: its steps are exact, its marginals close to those of enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marginal_networks import exact_marginals, pairs_network, table_network, tree_network
from oracle import all_rows
from random_networks import enumerated, networks

from tractable.base.arrays import Floats
from tractable.data.schema import discrete_schema
from tractable.networks import Network, TableFactor, log_prob_of_rows
from tractable.networks.gibbs.sampler import GibbsSampler


@pytest.mark.parametrize(
    "network", [pairs_network(), tree_network(), table_network()], ids=["features", "trees", "mixed"]
)
def test_marginals_given_evidence_are_close_to_those_of_enumeration(network: Network) -> None:
    rows = np.full((4, len(network.schema)), np.nan)
    rows[1, 0], rows[2, 1:3], rows[3, :-1] = 1, 1, 0
    found = GibbsSampler(network).marginals(rows, burn_in=200, samples=8000, chains=2, seed=3)
    for got, row in zip(found, rows, strict=True):
        np.testing.assert_allclose(got, exact_marginals(network, row), atol=0.02)


@settings(max_examples=60, deadline=None)
@given(networks("markov") | networks("bayes"), st.integers(0, 5), st.integers(0, 2**31))
def test_a_single_missing_cell_has_its_exact_distribution(network: Network, column: int, seed: int) -> None:
    """With one free column every step draws from the exact conditional, whatever the factors are."""
    free = column % len(network.schema)
    logs, rows = enumerated(network), np.array(all_rows(network.schema))
    possible = np.flatnonzero(~np.isneginf(logs))
    if not possible.size:
        return
    row = rows[possible[seed % possible.size]].copy()
    row[free] = np.nan
    found = GibbsSampler(network).marginals(row[None, :], burn_in=1, samples=2, seed=seed)
    np.testing.assert_allclose(found[0], exact_marginals(network, row), atol=1e-9)


@pytest.mark.parametrize(
    "network", [pairs_network(), tree_network(), table_network()], ids=["features", "trees", "mixed"]
)
def test_what_a_chain_keeps_is_what_the_factors_say_after_many_changes(network: Network) -> None:
    """After some sweeps one more counts alone: its means must be conditionals of some row."""
    row = np.full((1, len(network.schema)), np.nan)
    sampler = GibbsSampler(network)
    last = len(network.schema) - 1
    seen = {tuple(np.round(exact, 6)) for exact in conditionals(network, last)}
    for sweeps in range(1, 60):
        found = sampler.marginals(row, burn_in=sweeps, samples=1, seed=4)
        assert tuple(np.round(found[0, sampler.slots[last] :], 6)) in seen


def conditionals(network: Network, column: int) -> list[Floats]:
    """The distribution of a column given each combination of all others."""
    rows = np.array(all_rows(network.schema))
    rows = rows[rows[:, column] == 0]
    logs = []
    for state in range(network.schema[column].cardinality):
        rows[:, column] = state
        logs.append(log_prob_of_rows(network, rows))
    weight = np.exp(np.array(logs).T - np.max(logs, axis=0)[:, None])
    return list(weight / weight.sum(axis=1, keepdims=True))


def test_a_seed_gives_the_same_marginals_whatever_the_threads() -> None:
    rng = np.random.default_rng(0)
    network = pairs_network()
    rows = rng.integers(0, 2, (150, 6)).astype(np.float64)
    rows[rng.random(rows.shape) < 0.5] = np.nan
    sampler = GibbsSampler(network)
    one = sampler.marginals(rows, burn_in=2, samples=5, seed=9, threads=1)
    np.testing.assert_array_equal(one, sampler.marginals(rows, burn_in=2, samples=5, seed=9, threads=3))
    assert not np.array_equal(one, sampler.marginals(rows, burn_in=2, samples=5, seed=10, threads=1))


def test_what_a_row_holds_stays_and_every_column_sums_to_one() -> None:
    network = table_network()
    sampler = GibbsSampler(network)
    found = sampler.marginals(np.array([[2.0, np.nan, 1.0, np.nan]]), samples=10)[0]
    assert found[:3].tolist() == [0.0, 0.0, 1.0]
    assert found[5:7].tolist() == [0.0, 1.0]
    np.testing.assert_allclose(np.add.reduceat(found, sampler.slots[:-1]), 1.0)
    assert sampler.marginals(np.zeros((0, 4))).shape == (0, 10)


def test_a_value_that_is_no_state_is_refused() -> None:
    with pytest.raises(ValueError, match="column 'x1', row 0: 2 is not a valid value"):
        GibbsSampler(table_network()).marginals(np.array([[0.0, 2.0, 0.0, 0.0]]))


def test_complete_rows_are_worth_what_the_factors_say() -> None:
    for network in (pairs_network(), tree_network(), table_network()):
        rows = np.array(all_rows(network.schema))
        np.testing.assert_allclose(log_prob_of_rows(network, rows), enumerated(network), atol=1e-12)
    with pytest.raises(ValueError, match="row 1 has no value in column 'x2'"):
        log_prob_of_rows(network, np.array([[0, 0, 0, 0], [0, 0, np.nan, 0]]))


def test_batch_means_are_means_of_all_sweeps_together() -> None:
    network, row = pairs_network(), np.array([1.0, *[np.nan] * 5])
    sampler = GibbsSampler(network)
    for samples in (1, 3, 10, 50):
        means = sampler.batch_means(row, {}, burn_in=5, samples=samples, seed=3)
        assert means.sizes.sum() == samples
        whole = sampler.marginals(row[None, :], burn_in=5, samples=samples, seed=3)
        np.testing.assert_allclose(np.average(means.marginals, axis=0, weights=means.sizes), whole[0])
    several = sampler.batch_means(row, {}, samples=10, chains=4)
    assert several.marginals.shape == (12, 15)
    assert several.sizes.sum() == 40


def test_a_query_of_all_but_the_given_columns_is_counted_in_every_sweep() -> None:
    """What a query and its complement are worth together is one, sweep by sweep."""
    network, row = table_network(), np.array([np.nan, 1.0, np.nan, np.nan])
    sampler = GibbsSampler(network)
    yes = sampler.batch_means(row, {0: np.array([True, False, True])}, samples=60, seed=1)
    no = sampler.batch_means(row, {0: np.array([False, True, False])}, samples=60, seed=1)
    np.testing.assert_allclose(yes.query + no.query, 1.0)
    every = {0: np.ones(3, np.bool_), 2: np.ones(2, np.bool_)}
    np.testing.assert_allclose(sampler.batch_means(row, every, samples=60).query, 1.0)
    none = {0: np.zeros(3, np.bool_), 2: np.ones(2, np.bool_)}
    assert not sampler.batch_means(row, none, samples=60).query.any()


def test_drawn_rows_hold_the_evidence_and_a_seed_draws_the_same() -> None:
    sampler, row = GibbsSampler(table_network()), np.array([2.0, np.nan, np.nan, 0.0])
    drawn = sampler.draw(row, 200, seed=4)
    assert set(map(tuple, drawn[:, [0, 3]].tolist())) == {(2.0, 0.0)}
    assert {tuple(line) for line in drawn[:, 1:3].tolist()} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    np.testing.assert_array_equal(drawn, sampler.draw(row, 200, seed=4))
    assert not np.array_equal(drawn, sampler.draw(row, 200, seed=5))
    assert sampler.draw(row, 0).shape == (0, 4)


def test_chains_that_find_nothing_possible_are_not_answered_from() -> None:
    never = TableFactor((0, 1), np.array([[0.0, -np.inf], [0.3, -np.inf]]))
    sampler = GibbsSampler(Network(discrete_schema([2, 2]), (never,), "markov"))
    with pytest.raises(ValueError, match="no row of positive probability"):
        sampler.marginals(np.array([[np.nan, 0.0], [np.nan, 1.0]]))
    assert sampler.marginals(np.array([[np.nan, 0.0]])).shape == (1, 4)
