"""Counts that vary more than Poisson counts: exact values, the fit, and which learners use them."""

from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tractable.base.arrays import Floats
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.leaves.dispersion import (
    CountGroups,
    count_groups,
    most_likely_excess,
    preferred_counts,
)
from tractable.data import Schema, Table, Variable
from tractable.data.evidence import Interval
from tractable.learning.joint import LEARNERS
from tractable.learning.statistics.leaf_choice import disjoint_weights
from tractable.learning.statistics.stack_weights import mean_log_prob

NEGATIVE_BINOMIAL, POISSON = FAMILIES["negative-binomial"], FAMILIES["poisson"]
COUNT = Variable("count", "count")


def draw(rng: np.random.Generator, mean: float, r: float, rows: int) -> Floats:
    return rng.poisson(rng.gamma(r, mean / r, rows)).astype(np.float64)


@settings(max_examples=40, deadline=None)
@given(log_mean=st.floats(-8, 8), log_r=st.floats(-6, 8), ends=st.tuples(*[st.integers(0, 500)] * 2))
def test_probabilities_and_masses_are_those_of_the_recurrence(
    log_mean: float, log_r: float, ends: tuple[int, int]
) -> None:
    m, r = np.exp(log_mean), np.exp(log_r)
    k = np.arange(500)
    steps = np.log((r + k) / (k + 1)) + log_mean - np.log(r + m)
    expected = np.concatenate([[-r * np.log1p(m / r)], -r * np.log1p(m / r) + np.cumsum(steps)])
    params = np.array([[log_mean, log_r]])
    found = NEGATIVE_BINOMIAL.log_prob(params, np.arange(501.0)[None])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    low, high = sorted(ends)
    mass = NEGATIVE_BINOMIAL.log_mass(params, Interval(low, high))[0]
    assert mass == pytest.approx(np.logaddexp.reduce(expected[low : high + 1]), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("log_mean", [5.0, 20.0, 30.0])
def test_a_dispersion_of_one_is_a_geometric_distribution_also_far_out(log_mean: float) -> None:
    step = -np.log1p(np.exp(-log_mean))  # the log of the ratio of a count's probability and the one before
    for low, high in ((0.0, 1e6), (1e9, 2e9), (1e12, inf)):
        expected = low * step + (0.0 if high == inf else np.log(-np.expm1((high + 1 - low) * step)))
        found = NEGATIVE_BINOMIAL.log_mass(np.array([[log_mean, 0.0]]), Interval(low, high))[0]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_an_infinite_dispersion_is_a_poisson_leaf() -> None:
    log_mean, x = np.log([[0.3], [7.0], [1e4]]), np.array([[0.0, 3.0, 1e4, 2.5, -1.0]])
    params = np.hstack([log_mean, np.full((3, 1), inf)])
    np.testing.assert_array_equal(NEGATIVE_BINOMIAL.log_prob(params, x), POISSON.log_prob(log_mean, x))
    np.testing.assert_array_equal(NEGATIVE_BINOMIAL.entropy(params), POISSON.entropy(log_mean))
    assert not np.isnan(NEGATIVE_BINOMIAL.blend(params, params, 1.0)).any()


def test_quantiles_agree_with_scipy() -> None:
    uniform = np.random.default_rng(1).random(100)
    for mean, r in ((0.4, 0.2), (7.0, 0.7), (300.0, 5.0)):
        drawn = NEGATIVE_BINOMIAL.draw(np.full((100, 2), [log(mean), log(r)]), uniform)
        np.testing.assert_array_equal(drawn, stats.nbinom.ppf(uniform, r, r / (r + mean)))


@pytest.mark.parametrize(("mean", "r"), [(7.0, 0.7), (0.2, 0.1), (1e5, 20.0), (1e9, 1e3)])
def test_the_fit_finds_the_dispersion_that_the_rows_have(mean: float, r: float) -> None:
    x = draw(np.random.default_rng(2), mean, r, 4000)
    fitted = NEGATIVE_BINOMIAL.fit(x, np.ones((1, x.size)), COUNT, 0.0)
    assert fitted[0, 0] == pytest.approx(log(x.mean()))
    assert fitted[0, 1] == pytest.approx(log(r), abs=0.2)
    at = NEGATIVE_BINOMIAL.log_prob(fitted, x[None]).sum()
    for change in (-0.01, 0.01):
        assert NEGATIVE_BINOMIAL.log_prob(fitted + np.array([[0, change]]), x[None]).sum() < at


def test_rows_choose_between_the_two_families_together() -> None:
    rng = np.random.default_rng(3)
    plain, spread = rng.poisson(6, 800).astype(float), draw(rng, 6.0, 1.0, 800)
    weight = np.ones((2, 800))
    weight[1, 3:] = 0.0  # a group of three rows
    for x, wide in ((plain, False), (spread, True)):
        params = preferred_counts(count_groups(x, weight), 0.1, 6.0)
        assert np.isfinite(params[:, 1]).all() == wide
    once = NEGATIVE_BINOMIAL.estimate(spread, weight[:1], COUNT, 0.1, 6.0)
    disjoint = disjoint_weights(spread, np.ones(800), np.zeros(800, dtype=np.int64), 1)
    again = NEGATIVE_BINOMIAL.estimate(*disjoint, COUNT, 0.1, 6.0)
    np.testing.assert_allclose(once, again)


@pytest.mark.parametrize("x", [np.zeros(5), np.full(5, 3.0), np.array([1e12]), np.array([0.0, 1e6])])
def test_few_and_constant_counts_have_valid_parameters(x: Floats) -> None:
    params = NEGATIVE_BINOMIAL.estimate(x, np.ones((2, x.size)), COUNT, 0.1, float(x.mean()))
    assert NEGATIVE_BINOMIAL.check(params, COUNT) is None
    assert np.isfinite(NEGATIVE_BINOMIAL.log_prob(params, x[None])).all()


@pytest.mark.parametrize("learner", ["naive-bayes", "learnspn", "gaussian-mixture"])
def test_overdispersed_counts_cost_no_nats(learner: str) -> None:
    x = draw(np.random.default_rng(4), 7.0, 0.7, 1500)
    schema = Schema((Variable("class", states=("a", "b")), COUNT))
    values = np.stack([np.arange(1500) % 2.0, x], axis=1)
    graph = LEARNERS[learner]().learn(Table(schema, values[:1000]), np.random.default_rng(0))
    true = stats.nbinom.logpmf(x[1000:], 0.7, 0.7 / 7.7).mean() - log(2)
    assert mean_log_prob(graph, Table(schema, values[1000:])) > true - 0.05


def test_groups_that_hardly_any_row_belongs_to_have_valid_parameters() -> None:
    value = np.array([0.0, 1.0, 6.0, 9.0])
    weight = np.array([[0.97, 0.0, 3e-14, 0.0], [0.5, 0.2, 2e-10, 0.0], [0.93, 0.0, 7.5e-27, 0.0]])
    for scale in (1.0, 1e-100, 1e-250):
        excess = most_likely_excess(CountGroups(value, weight * scale))
        assert np.isfinite(excess).all()
        assert (excess >= 0).all()
