"""Monotone maps: they ascend, they have an inverse and a slope, and moments agree with plain integration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from tractable.base.arrays import Floats
from tractable.circuit.leaves.maps import MAPS, MonotoneMap, PiecewiseLinearMap, YeoJohnsonMap

EXAMPLES: dict[str, Floats] = {
    "identity": np.zeros(0),
    "yeo-johnson": np.array([1.5, 2.0, 0.4]),
    "piecewise-linear": np.array([-2.0, 0.0, 0.5, 4.0, -1.0, 0.2, 0.9, 3.0]),
}
every_map = pytest.mark.parametrize("name", MAPS)


@st.composite
def maps(draw: st.DrawFn) -> tuple[MonotoneMap, Floats]:
    name = draw(st.sampled_from(sorted(MAPS)))
    if name == "identity":
        return MAPS[name], np.zeros(0)
    if name == "yeo-johnson":
        scale = draw(st.floats(0.01, 100))
        return MAPS[name], np.array([draw(st.floats(-10, 10)), scale, draw(st.floats(-2, 3))])
    knots = draw(st.integers(2, 7))
    gaps = st.lists(st.floats(0.05, 3), min_size=2 * knots, max_size=2 * knots)
    steps = np.array(draw(gaps)).reshape(2, knots)
    return MAPS[name], (np.cumsum(steps, axis=1) - 4).ravel()


@given(maps(), st.floats(-60, 60))
def test_the_inverse_undoes_the_map(map_and_params: tuple[MonotoneMap, Floats], out: float) -> None:
    kind, params = map_and_params
    x = np.array([params[0] + params[1] * out if kind.name == "yeo-johnson" else out])
    z = kind.forward(params, x)
    # where the map is flat, many x share the digits of one z
    slack = 1e-14 * (1 + np.abs(z)) / np.exp(kind.log_slope(params, x))
    assert np.abs(kind.inverse(params, z) - x) <= 1e-9 * (1 + np.abs(x)) + slack


@given(maps(), st.lists(st.floats(-50, 50), min_size=2, max_size=9))
def test_maps_ascend(map_and_params: tuple[MonotoneMap, Floats], values: list[float]) -> None:
    kind, params = map_and_params
    assert (np.diff(kind.forward(params, np.sort(values))) >= 0).all()


@given(maps(), st.floats(-50, 50))
def test_the_slope_is_the_derivative(map_and_params: tuple[MonotoneMap, Floats], x: float) -> None:
    kind, params = map_and_params
    step = 1e-6 * (params[1] if kind.name == "yeo-johnson" else 1.0)
    ends = kind.forward(params, np.array([x - step, x, x + step]))
    below, above = np.diff(ends) / step  # a knot has two slopes
    slope = np.exp(kind.log_slope(params, np.array(x)))
    slack = 1e-4 * slope + 1e-14 * np.abs(ends).max() / step
    assert min(below, above) - slack <= slope <= max(below, above) + slack


def integrated_moments(
    kind: MonotoneMap, params: Floats, mean: float, sd: float, low: float, high: float
) -> tuple[float, float]:
    """Mean and variance by a fine trapezoid rule over z."""
    z = np.linspace(max(low, mean - 10 * sd), min(high, mean + 10 * sd), 400_001)
    density = stats.norm.pdf(z, mean, sd)
    x = kind.inverse(params, z)
    total = integrate.trapezoid(density, z)
    first = integrate.trapezoid(density * x, z) / total
    return first, integrate.trapezoid(density * (x - first) ** 2, z) / total


@settings(max_examples=60, deadline=None)
@given(maps(), st.floats(-3, 3), st.floats(0.05, 1.5), st.floats(-4, 1), st.floats(0.1, 8))
def test_moments_agree_with_integration(
    map_and_params: tuple[MonotoneMap, Floats], mean: float, sd: float, start: float, length: float
) -> None:
    kind, params = map_and_params
    low = mean + start * sd if start > -3.5 else -np.inf
    high = mean + (start + length) * sd if length < 7 else np.inf
    found = kind.moments(params, np.array(mean), np.array(sd), np.array(low), np.array(high))
    expected = integrated_moments(kind, params, mean, sd, low, high)
    np.testing.assert_allclose(found[1] ** 2, expected[1], rtol=2e-4)
    assert abs(found[0] - expected[0]) <= 1e-4 * np.sqrt(expected[1])


@every_map
def test_moments_are_those_of_a_point_between_equal_limits(name: str) -> None:
    kind, params = MAPS[name], EXAMPLES[name]
    at = np.array(1.25)
    mean, sd = kind.moments(params, np.array(0.0), np.array(1.0), at, at)
    assert mean == pytest.approx(float(kind.inverse(params, at)))
    assert sd == 0


@pytest.mark.parametrize("low", [5.0, 20.0, 35.0, 100.0, 1e6])
def test_moments_are_accurate_far_out(low: float) -> None:
    exact = stats.truncnorm(low, low + 1).mean() if low < 30 else low + 1 / low - 2 / low**3
    for name, params in (("identity", np.zeros(0)), ("piecewise-linear", np.array([-1.0, 0, 1, -1, 0, 1]))):
        mean, sd = MAPS[name].moments(params, np.array(0.0), np.array(1.0), np.array(low), np.array(low + 1))
        assert mean - low == pytest.approx(exact - low, rel=1e-2 if low >= 30 else 1e-6)
        assert 0 < sd <= 1.005 / low


def test_a_standard_normal_keeps_its_moments_between_no_limits() -> None:
    for name, params in (("identity", np.zeros(0)), ("piecewise-linear", np.array([-1.0, 0, 1, -1, 0, 1]))):
        mean, sd = MAPS[name].moments(
            params, np.array(2.0), np.array(3.0), np.array(-np.inf), np.array(np.inf)
        )
        assert mean == pytest.approx(2.0)
        assert sd == pytest.approx(3.0)


@every_map
def test_parameters_and_values_broadcast(name: str) -> None:
    kind, params = MAPS[name], EXAMPLES[name]
    lines = np.stack([params, params * 1.1])[:, None, :]
    x = np.linspace(-3, 3, 5)[None, :]
    for method in (kind.forward, kind.inverse, kind.log_slope):
        together = method(lines, x)
        assert together.shape == (2, 5)
        for leaf in range(2):
            np.testing.assert_allclose(together[leaf], method(lines[leaf, 0], x[0]), rtol=1e-12)
    zeros = np.zeros((2, 1))
    mean, sd = kind.moments(lines, zeros, zeros + 1, zeros - 1, np.full((1, 4), 2.0))
    assert mean.shape == sd.shape == (2, 4)


@every_map
def test_infinite_and_huge_values_have_no_nan(name: str) -> None:
    kind, params = MAPS[name], EXAMPLES[name]
    huge = np.array([-np.inf, -1e308, -1e200, 1e200, 1e308, np.inf])
    for method in (kind.forward, kind.inverse, kind.log_slope):
        assert not np.isnan(method(params, huge)).any()


def test_densities_of_a_bounded_power_integrate_to_one() -> None:
    kind, params = YeoJohnsonMap(), np.array([0.0, 1.0, -2.0])
    x = np.concatenate([-np.geomspace(1e6, 1e-6, 200_001), np.geomspace(1e-6, 1e12, 400_001)])
    density = stats.norm.pdf(kind.forward(params, x)) * np.exp(kind.log_slope(params, x))
    assert integrate.trapezoid(density, x) == pytest.approx(1.0, abs=1e-6)


def test_wrong_parameters_are_named() -> None:
    assert "none" in str(MAPS["identity"].check(np.ones((1, 1))))
    assert "scale" in str(YeoJohnsonMap().check(np.array([[0.0, -1.0, 1.0]])))
    assert "lambda" in str(YeoJohnsonMap().check(np.array([[0.0, 1.0, 99.0]])))
    assert "knots" in str(PiecewiseLinearMap().check(np.ones((1, 3))))
    assert "ascending" in str(PiecewiseLinearMap().check(np.array([[0.0, 0.0, 1.0, 2.0]])))
    for name, params in EXAMPLES.items():
        assert MAPS[name].check(params) is None
