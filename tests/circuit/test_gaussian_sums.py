"""Gaussians over rows with missing cells: densities, sums and EM against slow, obvious twins."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, poisson

from tractable.base.arrays import Bools, Floats
from tractable.data import Schema, Table, Variable
from tractable.learning.joint.gaussian_mixture.em import (
    MixtureFit,
    Prior,
    em_rows,
    iterate_em,
    labels_as_shares,
    log_mixture,
    responsibilities,
    start_from,
)
from tractable.learning.joint.gaussian_mixture.rows import mixed_rows
from tractable.learning.joint.gaussian_mixture.sums import (
    Gaussians,
    conditionals,
    expected_sums,
    log_densities,
    sort_patterns,
)
from tractable.learning.statistics.clustering import k_means


def random_gaussians(rng: np.random.Generator, size: int, columns: int) -> Gaussians:
    root = rng.normal(size=(size, columns, columns))
    return Gaussians(rng.normal(size=(size, columns)), root @ root.transpose(0, 2, 1) + np.eye(columns))


def holey(rng: np.random.Generator, rows: int, columns: int, missing: float) -> tuple[Floats, Bools]:
    seen = rng.random((rows, columns)) >= missing
    return np.where(seen, rng.normal(size=seen.shape), 0.0), seen


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.9])
def test_densities_are_those_of_the_observed_cells(missing: float) -> None:
    rng = np.random.default_rng(1)
    gaussians = random_gaussians(rng, 3, 4)
    values, seen = holey(rng, 40, 4, missing)
    rows = sort_patterns(values, seen)
    logs = log_densities(rows, conditionals(rows, gaussians))
    for row, (x, o) in enumerate(zip(values, seen, strict=True)):
        for k in range(3):
            if o.any():
                margin = multivariate_normal(gaussians.mean[k][o], gaussians.covariance[k][np.ix_(o, o)])
                assert logs[row, k] == pytest.approx(margin.logpdf(x[o]))
            else:
                assert logs[row, k] == pytest.approx(0.0)


def slow_sums(values: Floats, seen: Bools, gaussians: Gaussians, share: Floats) -> tuple[Floats, Floats]:
    """One row after the other, with the textbook's formula of a conditional normal distribution."""
    total, square = np.zeros(gaussians.mean.shape), np.zeros(gaussians.covariance.shape)
    for k in range(len(gaussians)):
        mean, cov = gaussians.mean[k], gaussians.covariance[k]
        for x, o, r in zip(values, seen, share[:, k], strict=True):
            expected, spread = x.copy(), np.zeros_like(cov)
            gain = cov[np.ix_(~o, o)] @ np.linalg.inv(cov[np.ix_(o, o)])
            expected[~o] = mean[~o] + gain @ (x[o] - mean[o])
            spread[np.ix_(~o, ~o)] = cov[np.ix_(~o, ~o)] - gain @ cov[np.ix_(o, ~o)]
            total[k] += r * expected
            square[k] += r * (np.outer(expected, expected) + spread)
    return total, square


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.9])
def test_expected_sums_are_those_of_single_rows(missing: float) -> None:
    rng = np.random.default_rng(2)
    gaussians = random_gaussians(rng, 2, 4)
    values, seen = holey(rng, 30, 4, missing)
    share = rng.random((30, 2))
    rows = sort_patterns(values, seen)
    found = expected_sums(rows, conditionals(rows, gaussians), share)
    for mine, twin in zip(found, slow_sums(values, seen, gaussians, share), strict=True):
        np.testing.assert_allclose(mine, twin, rtol=1e-9, atol=1e-9)


MIXED = Schema(
    (
        Variable("a", "real"),
        Variable("n", "count"),
        Variable("b", "real"),
        Variable("c", "categorical", (0, 1, 2)),
    )
)


def mixed_values(rng: np.random.Generator, rows: int, missing: float = 0.2) -> Floats:
    group = rng.integers(0, 2, rows)
    a = rng.normal(3 * group, 1)
    values = np.column_stack([a, rng.poisson(1 + 5 * group), a + rng.normal(0, 0.3, rows), group + 0.0])
    values[rng.random(values.shape) < missing] = np.nan
    return values


def test_a_row_of_mixed_columns_has_the_density_of_a_mixture_of_products() -> None:
    rng = np.random.default_rng(3)
    values = mixed_values(rng, 25)
    rows = mixed_rows(Table(MIXED, values))
    probabilities = rng.dirichlet(np.ones(3), 2)
    fit = MixtureFit(
        np.log([0.3, 0.7]),
        random_gaussians(rng, 2, 2),
        np.log(probabilities),
        np.array([[2.0], [5.0]]),
        np.full((2, 1), np.inf),
    )
    found = log_mixture(em_rows(rows, rows.numbers, np.zeros(25)), fit)
    for row, x in enumerate(values):
        total = 0.0
        for k in range(2):
            o = ~np.isnan(x[[0, 2]])
            density = np.exp(fit.log_weight[k])
            if o.any():
                mean, cov = fit.gaussians.mean[k][o], fit.gaussians.covariance[k][np.ix_(o, o)]
                density *= multivariate_normal(mean, cov).pdf(x[[0, 2]][o])
            density *= 1.0 if np.isnan(x[1]) else poisson(fit.rate[k, 0]).pmf(x[1])
            density *= 1.0 if np.isnan(x[3]) else probabilities[k, int(x[3])]
            total += density
        assert found[row] == pytest.approx(np.log(total))


def test_em_with_missing_cells_climbs_and_finds_the_groups() -> None:
    rng = np.random.default_rng(4)
    rows = mixed_rows(Table(MIXED, mixed_values(rng, 400)))
    data = em_rows(rows, rows.numbers, np.full(400, -np.inf))
    prior = Prior(strength=0.0, floor=1e-9)
    fit = start_from(data, labels_as_shares(rng.integers(0, 2, 400), 2), prior)
    scores = []
    for _ in range(30):
        scores.append(responsibilities(data, fit, 0.0)[1])
        fit = iterate_em(data, fit, prior, background=0.0, steps=1, tolerance=0.0)
    assert (np.diff(scores) >= -2e-3).all()  # the pseudo-counts may cost a little likelihood
    assert sorted(np.round(fit.gaussians.mean[:, 0])) == [0.0, 3.0]
    assert sorted(np.round(fit.rate[:, 0])) == [1.0, 6.0]


def test_one_gaussian_without_prior_is_that_of_maximum_likelihood() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(500, 2)) @ np.array([[1.0, 0.5], [0.0, 0.4]])
    values -= values.mean(axis=0)
    rows = mixed_rows(Table(Schema((Variable("a", "real"), Variable("b", "real"))), values))
    data = em_rows(rows, values, np.full(500, -np.inf))
    fit = start_from(data, np.ones((500, 1)), Prior(strength=0.0, floor=0.0))
    np.testing.assert_allclose(fit.gaussians.covariance[0], np.cov(values.T, bias=True), rtol=1e-6)


def test_a_column_of_whole_numbers_keeps_its_least_spread_given_the_others() -> None:
    rng = np.random.default_rng(6)
    a = rng.normal(size=300)
    values = np.column_stack([a, a])  # each tells the other exactly
    rows = mixed_rows(Table(Schema((Variable("a", "real"), Variable("b", "integer"))), values))
    data = em_rows(rows, values, np.full(300, -np.inf))
    fit = start_from(data, np.ones((300, 1)), Prior(unit_floor=np.array([0.0, 0.04])))
    assert 1 / np.linalg.inv(fit.gaussians.covariance[0])[1, 1] >= 0.04


def test_rows_of_weight_two_stand_for_two_rows() -> None:
    rng = np.random.default_rng(7)
    values = mixed_values(rng, 60)
    times = rng.integers(1, 4, 60)
    fits = []
    for table in (
        Table(MIXED, values, times.astype(np.float64)),
        Table(MIXED, np.repeat(values, times, axis=0)),
    ):
        rows = mixed_rows(table)
        label = (np.arange(60) % 2) if len(rows) == 60 else np.repeat(np.arange(60) % 2, times)
        data = em_rows(rows, rows.numbers, np.full(len(rows), -50.0))
        first = start_from(data, labels_as_shares(label, 2), Prior())
        fits.append(iterate_em(data, first, Prior(), background=0.01, steps=5, tolerance=0.0))
    np.testing.assert_allclose(fits[0].gaussians.covariance, fits[1].gaussians.covariance, rtol=1e-8)
    np.testing.assert_allclose(fits[0].log_state, fits[1].log_state, rtol=1e-8)


def test_k_means_finds_clusters_that_lie_apart() -> None:
    rng = np.random.default_rng(8)
    group = rng.integers(0, 3, 300)
    points = rng.normal(10 * group[:, None], 1, (300, 2))
    label = k_means(points, np.ones(300), 3, rng)
    assert len({(int(a), int(b)) for a, b in zip(group, label, strict=True)}) == 3


def test_k_means_takes_fewer_points_than_clusters_and_points_without_weight() -> None:
    rng = np.random.default_rng(9)
    assert k_means(np.zeros((2, 3)), np.ones(2), 5, rng).max() < 5
    assert k_means(np.ones((4, 3)), np.zeros(4), 2, rng).shape == (4,)
