"""Contracts that every family keeps over every kind of column it accepts."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import inf, log

import numpy as np
import pytest
from scipy import stats

from tractable.base.arrays import Floats
from tractable.circuit.leaves import FACTORS, FAMILIES, Family
from tractable.data.evidence import Interval, Region, States
from tractable.data.schema import Variable

COLUMNS = [
    Variable("two states", states=("no", "yes")),
    Variable("four states", states=("a", "b", "c", "d")),
    Variable("real", "real"),
    Variable("count", "count"),
    Variable("integer", "integer"),
]
VALUES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "two states": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "four states": lambda rng, n: rng.choice(4, n, p=[0.1, 0.2, 0.3, 0.4]).astype(float),
    "real": lambda rng, n: np.where(rng.random(n) < 0.4, rng.normal(2, 0.5, n), rng.normal(-1, 1, n)),
    "count": lambda rng, n: rng.poisson(4.0, n).astype(float),
    "integer": lambda rng, n: np.rint(rng.normal(-3.0, 4.0, n)),
}
REGIONS: dict[str, list[Region]] = {
    "two states": [States(np.array([True, False])), States(np.array([True, True]))],
    "four states": [
        States(np.array([True, False, True, False])),
        States(np.array([False, True, True, True])),
    ],
    "real": [Interval(-1.3, 1.7), Interval(0.2, inf), Interval(-inf, 0.4), Interval(-inf, inf)],
    "integer": [Interval(-4.0, 3.0), Interval(-2.5, inf), Interval(-inf, 1.2), Interval(-inf, inf)],
    "count": [Interval(2.0, 5.0), Interval(3.5, inf), Interval(-inf, 2.2), Interval(0.0, inf)],
}


@dataclass(frozen=True)
class Case:
    """Leaves of a family over a column, fitted to rows with random weights."""

    family: Family
    variable: Variable

    def __str__(self) -> str:
        return f"{self.family.name} over {self.variable.name}"

    def fit(self, smoothing: float = 1.0) -> Floats:
        x, weight = self.rows()
        return self.family.fit(x, weight, self.variable, smoothing)

    def rows(self) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(3)
        return VALUES[self.variable.name](rng, 60), rng.integers(1, 4, (5, 60)).astype(float)

    @property
    def regions(self) -> list[Region]:
        return REGIONS[self.variable.name]

    def grid(self) -> tuple[Floats, float]:
        """Points that stand for all values, and the length (or number of states) that each stands for."""
        if self.variable.is_categorical:
            return np.arange(self.variable.cardinality, dtype=float), 1.0
        if self.variable.kind == "count":
            return np.arange(120.0), 1.0
        if self.variable.is_whole:
            return np.arange(-80.0, 80.0), 1.0
        return np.arange(-24.0, 24.0, 2e-4) + 1e-4, 2e-4


def inside(x: Floats, region: Region) -> Floats:
    if isinstance(region, States):
        return region.allowed[x.astype(int)].astype(float)
    return ((x >= region.low) & (x <= region.high)).astype(float)


DENSITIES = ("gaussian", "histogram")  # which accept whole numbers, but have no probabilities of them
CASES = [
    Case(f, v)
    for f in FAMILIES.values()
    for v in COLUMNS
    if f.accepts(v) and not (v.is_whole and f.name in DENSITIES)
]
RANDOM = [
    case for case in CASES if case.family.name != "indicator"
]  # an indicator has no probabilities to fit
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_random_case = pytest.mark.parametrize("case", RANDOM, ids=str)
ACCURACY = 2e-4  # of the sums over a grid that stand for integrals


def test_every_family_over_a_column_is_tested() -> None:
    assert {case.family.name for case in CASES} == set(FAMILIES)


@every_case
def test_fitted_parameters_are_valid(case: Case) -> None:
    params = case.fit()
    assert len(params) == 5
    assert case.family.check(params, case.variable) is None
    assert case.family.check(np.full_like(params, np.nan), case.variable) is not None


@every_random_case
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_the_probability_of_everything_is_one(case: Case, smoothing: float) -> None:
    points, each = case.grid()
    p = np.exp(case.family.log_prob(case.fit(smoothing), points[None]))
    np.testing.assert_allclose(p.sum(axis=1) * each, 1.0, atol=ACCURACY)


@every_case
def test_one_line_of_values_means_the_same_for_every_leaf(case: Case) -> None:
    params, x = case.fit(), case.rows()[0]
    repeated = np.broadcast_to(x, (len(params), x.size))
    np.testing.assert_array_equal(
        case.family.log_prob(params, x[None]), case.family.log_prob(params, repeated)
    )


@every_case
def test_the_mass_of_a_region_is_the_sum_of_its_probabilities(case: Case) -> None:
    params, (points, each) = case.fit(), case.grid()
    p = np.exp(case.family.log_prob(params, points[None])) * each
    for region in case.regions:
        mass = np.exp(case.family.log_mass(params, region))
        np.testing.assert_allclose(mass, p @ inside(points, region), atol=ACCURACY)


@every_case
def test_moments_are_the_mean_and_deviation_over_all_values(case: Case) -> None:
    params, (points, each) = case.fit(), case.grid()
    p = np.exp(case.family.log_prob(params, points[None])) * each
    for region in [None, *case.regions]:
        share = p if region is None else p * inside(points, region)
        if (share.sum(axis=1) == 0).any():
            continue  # an indicator outside
        share = share / share.sum(axis=1, keepdims=True)
        mean, sd, _ = case.family.moments(params, region)
        np.testing.assert_allclose(mean, share @ points, atol=3 * ACCURACY)
        off = points - (share @ points)[:, None]
        np.testing.assert_allclose(sd**2, (share * off**2).sum(axis=1), atol=10 * ACCURACY)


@every_case
def test_entropy_is_the_mean_of_the_negative_log_probability(case: Case) -> None:
    params, (points, each) = case.fit(), case.grid()
    log_p = case.family.log_prob(params, points[None])
    terms = np.exp(log_p) * np.where(np.isfinite(log_p), log_p, 0.0)
    np.testing.assert_allclose(case.family.entropy(params), -terms.sum(axis=1) * each, atol=ACCURACY * 3)


@every_case
def test_no_value_is_more_probable_than_the_mode(case: Case) -> None:
    params, (points, _) = case.fit(), case.grid()
    log_p = case.family.log_prob(params, points[None])
    for region in [None, *case.regions]:
        allowed = np.ones(points.size) if region is None else inside(points, region)
        mode = case.family.mode(params, region)
        if region is not None and case.family.name != "indicator":
            assert inside(mode, region).all()
        best = case.family.log_prob(params, mode[:, None])[:, 0]
        assert (best >= log_p[:, allowed > 0].max(axis=1) - 1e-9).all()


@every_random_case
@pytest.mark.parametrize("smoothing", [0.0, 2.0])
def test_rows_with_weights_fit_like_repeated_rows(case: Case, smoothing: float) -> None:
    x, weight = case.rows()
    for line in weight:
        repeated = np.repeat(x, line.astype(int))
        once = case.family.fit(x, line[None], case.variable, smoothing)
        again = case.family.fit(repeated, np.ones((1, repeated.size)), case.variable, smoothing)
        np.testing.assert_allclose(once, again, atol=1e-12)


@every_random_case
@pytest.mark.parametrize("smoothing", [0.0, 2.0])
def test_many_leaves_with_weights_fit_like_repeated_rows(case: Case, smoothing: float) -> None:
    x, weight = case.rows()
    copies = np.arange(x.size) % 3 + 1
    repeated = case.family.fit(
        np.repeat(x, copies), np.repeat(weight, copies, axis=1), case.variable, smoothing
    )
    np.testing.assert_allclose(
        case.family.fit(x, weight * copies, case.variable, smoothing), repeated, atol=1e-12
    )


@pytest.mark.parametrize("name", ["gaussian", "poisson"])
@pytest.mark.parametrize("smoothing", [0.0, 2.0])
def test_rows_that_weigh_nothing_take_no_part_in_a_number(name: str, smoothing: float) -> None:
    case = next(case for case in RANDOM if case.family.name == name)
    x, weight = case.rows()
    more = np.append(x, [1e8, 0.0])
    with_them = case.family.fit(more, np.pad(weight, ((0, 0), (0, 2))), case.variable, smoothing)
    np.testing.assert_array_equal(with_them, case.family.fit(x, weight, case.variable, smoothing))


@every_case
def test_many_leaves_fit_like_each_alone(case: Case) -> None:
    x, weight = case.rows()
    for smoothing in (0.0, 2.0) if case.variable.is_categorical else (0.0,):
        alone = [case.family.fit(x, line[None], case.variable, smoothing) for line in weight]
        together = case.family.fit(x, weight, case.variable, smoothing)
        np.testing.assert_allclose(together, np.vstack(alone), atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "poisson"])
def test_a_leaf_over_a_number_is_smoothed_towards_all_leaves_together(name: str) -> None:
    case = next(case for case in RANDOM if case.family.name == name)
    x, weight = case.rows()
    overall = case.family.fit(x, weight.sum(axis=0, keepdims=True), case.variable, 0.0)
    np.testing.assert_allclose(
        case.family.fit(x, weight, case.variable, 1e12), np.repeat(overall, 5, axis=0), atol=1e-9
    )


@every_random_case
def test_leaves_without_weight_or_rows_get_the_prior(case: Case) -> None:
    x, _ = case.rows()
    for values in (x, x[:0]):
        for smoothing in (0.0, 1.0):
            params = case.family.fit(values, np.zeros((2, values.size)), case.variable, smoothing)
            assert case.family.check(params, case.variable) is None
            np.testing.assert_array_equal(params[0], params[1])


@every_random_case
def test_maximum_likelihood_beats_every_other_leaf(case: Case) -> None:
    x, weight = case.rows()
    scores = case.family.log_prob(case.fit(0.0), x[None]) @ weight.T  # leaf by weights
    assert (scores.diagonal() >= scores.max(axis=0) - 1e-9).all()


@every_random_case
def test_smoothing_leaves_nothing_impossible(case: Case) -> None:
    x, _ = case.rows()
    params = case.family.fit(x, np.eye(1, x.size), case.variable, 1.0)
    assert np.isfinite(case.family.log_prob(params, x[None])).all()


@every_case
def test_draws_follow_the_distribution(case: Case) -> None:
    params = case.fit()[:1]
    uniform = (np.arange(2000) + 0.5) / 2000
    for region in [None, *case.regions]:
        if region is not None and np.isneginf(case.family.log_mass(params, region)).any():
            continue
        drawn = case.family.draw(np.repeat(params, 2000, axis=0), uniform, region)
        assert (np.diff(drawn) >= 0).all()  # the inverse of a distribution function
        if region is not None:
            assert inside(drawn, region).all()
        _compare_with_masses(case, params, drawn, region)


def _compare_with_masses(case: Case, params: Floats, drawn: Floats, region: Region | None) -> None:
    """Check the share of evenly spaced quantiles below each of a few values."""
    if case.variable.is_categorical:
        return  # compared below, state by state
    low, high = (region.low, region.high) if isinstance(region, Interval) else (-inf, inf)
    total = case.family.log_mass(params, Interval(low, high))[0]
    for value in np.quantile(drawn, [0.1, 0.5, 0.9]):
        below = case.family.log_mass(params, Interval(low, value))[0]
        assert np.mean(drawn <= value) == pytest.approx(np.exp(below - total), abs=2e-3)


@every_random_case
def test_a_chi_square_test_does_not_tell_draws_from_probabilities(case: Case) -> None:
    params = case.fit()[:1]
    uniform = np.random.default_rng(11).random(4000)
    drawn = case.family.draw(np.repeat(params, 4000, axis=0), uniform)
    if case.variable.kind == "real":
        edges = np.array([-inf, -2.0, -1.0, 0.0, 1.0, 2.0, inf])
        masses = [case.family.log_mass(params, Interval(*pair))[0] for pair in pairwise(edges)]
        seen = np.histogram(drawn, np.array([-99, *edges[1:-1], 99]))[0]
    else:
        states = np.arange(-8.0, 12.0) if case.variable.is_numeric else case.grid()[0]
        masses = list(case.family.log_prob(params, states[None])[0])
        seen = (drawn[:, None] == states).sum(axis=0)
        assert not seen[np.isneginf(masses)].any()
        seen, masses = seen[np.isfinite(masses)], [m for m in masses if m > -inf]
    expected = np.exp(masses) * seen.sum() / np.exp(masses).sum()
    assert stats.chisquare(seen, expected).pvalue > 1e-3


def test_a_categorical_draw_splits_the_unit_interval_among_the_states() -> None:
    params = np.log(np.array([[0.25, 0.5, 0.25]]))
    uniform = np.array([0.0, 0.24, 0.26, 0.74, 0.76, 1 - 2**-53])
    drawn = FAMILIES["categorical"].draw(np.repeat(params, 6, axis=0), uniform)
    np.testing.assert_array_equal(drawn, [0, 0, 1, 1, 2, 2])


def test_an_impossible_state_is_never_drawn() -> None:
    params = np.array([[-inf, 0.0, -inf]])
    drawn = FAMILIES["categorical"].draw(np.repeat(params, 2, axis=0), np.array([0.0, 1 - 2**-53]))
    np.testing.assert_array_equal(drawn, [1, 1])


def test_a_constant_column_is_no_point_of_infinite_density() -> None:
    for name in ("gaussian", "histogram"):
        for value in (0.0, 0.1, -5e200):
            x = np.full(20, value)
            params = FAMILIES[name].fit(x, np.ones((1, 20)), COLUMNS[2], 0.0)
            assert FAMILIES[name].check(params, COLUMNS[2]) is None
            assert np.isfinite(FAMILIES[name].log_prob(params, x[None])).all()


def test_a_smoothed_histogram_gives_density_to_values_just_outside() -> None:
    x = np.linspace(0, 1, 50)
    histogram = FAMILIES["histogram"]
    sharp, smooth = (histogram.fit(x, np.ones((1, 50)), COLUMNS[2], s) for s in (0.0, 1.0))
    outside = np.array([[-0.05, 1.05]])
    assert np.isneginf(histogram.log_prob(sharp, outside)).all()
    assert np.isfinite(histogram.log_prob(smooth, outside)).all()


def test_a_bin_holds_its_left_edge_and_the_last_one_both() -> None:
    params = np.array([[0.0, 1.0, 3.0, log(0.5), log(0.25)]])
    values = np.array([[-1e-9, 0.0, 0.99, 1.0, 3.0, 3.0 + 1e-9]])
    np.testing.assert_allclose(
        np.exp(FAMILIES["histogram"].log_prob(params, values)), [[0, 0.5, 0.5, 0.25, 0.25, 0]]
    )


def test_a_potential_is_the_cell_itself() -> None:
    potential, column = FACTORS["potential"], Variable("score", "real", role="potential")
    assert not any(family.accepts(column) for family in FAMILIES.values())
    assert [name for name, factor in FACTORS.items() if factor.accepts(column)] == ["potential"]
    values = potential.log_value(np.zeros((3, 0)), np.array([[-2.0, 7.0]]))
    np.testing.assert_array_equal(values, [[-2.0, 7.0]] * 3)


@pytest.mark.parametrize(
    ("name", "params", "column"),
    [
        ("bernoulli", [[0.0, 0.0]], 0),
        ("categorical", [[log(0.5), log(0.4)]], 0),
        ("categorical", [[0.0, -inf]], 1),
        ("gaussian", [[inf, 0.0]], 2),
        ("gaussian", [[0.0, 800.0]], 2),
        ("poisson", [[37.0]], 3),
        ("histogram", [[0.0, 1.0]], 2),
        ("histogram", [[1.0, 0.0, 0.0]], 2),
        ("histogram", [[0.0, 1.0, 0.5]], 2),
    ],
)
def test_invalid_parameters_are_named(name: str, params: list[list[float]], column: int) -> None:
    assert FAMILIES[name].check(np.array(params), COLUMNS[column])
