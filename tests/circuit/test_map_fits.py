"""Fitted maps: nearer to normal images, and finite slopes whatever the values are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tractable.base.arrays import Floats
from tractable.circuit.leaves.maps import MAPS
from tractable.learning.joint.gaussian_mixture.map_fits import (
    centre_and_scale,
    fit_piecewise,
    fit_yeo_johnson,
    number_of_knots,
)


def test_a_skewed_column_gets_a_small_power_and_a_normal_one_keeps_its_shape() -> None:
    rng = np.random.default_rng(0)
    skewed = fit_yeo_johnson(rng.lognormal(size=2000), np.ones(2000))
    assert skewed[2] < 0.3
    assert fit_yeo_johnson(rng.normal(7, 3, size=2000), np.ones(2000))[2] == pytest.approx(1.0, abs=0.15)


def test_few_rows_keep_the_power_near_one() -> None:
    few = np.array([0.0, 0.1, 3.0])
    many = np.tile(few, 200)
    assert abs(fit_yeo_johnson(few, np.ones(3))[2] - 1) < abs(fit_yeo_johnson(many, np.ones(600))[2] - 1)


def test_weights_count_rows() -> None:
    rng = np.random.default_rng(1)
    x: Floats = rng.gamma(2, size=50)
    times = rng.integers(1, 4, 50)
    for fit in (fit_yeo_johnson, lambda v, w: fit_piecewise(v, w, 9)):
        weighted = fit(x, times.astype(np.float64))
        np.testing.assert_allclose(weighted, fit(np.repeat(x, times), np.ones(times.sum())), rtol=1e-3)


@pytest.mark.parametrize("draw", ["lognormal", "uniform", "standard_t"])
def test_images_of_quantiles_are_near_to_normal(draw: str) -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_t(2, 3000) if draw == "standard_t" else getattr(rng, draw)(size=3000)
    params = fit_piecewise(x, np.ones(3000), number_of_knots(3000))
    z = MAPS["piecewise-linear"].forward(params, x)
    assert stats.kstest(z, "norm").statistic < 0.05


numbers = st.lists(
    st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(-1e6, 1e6, allow_subnormal=False)), max_size=40
)


@settings(deadline=None)
@given(numbers, st.integers(2, 12))
def test_maps_of_any_values_are_valid(values: list[float], knots: int) -> None:
    x = np.array(values)
    weight = np.ones(x.size)
    piecewise, power = fit_piecewise(x, weight, knots), fit_yeo_johnson(x, weight)
    assert piecewise.size == 2 * knots
    assert MAPS["piecewise-linear"].check(piecewise) is None
    assert MAPS["yeo-johnson"].check(power) is None
    scale = centre_and_scale(x, weight)[1]
    slope = np.diff(piecewise[knots:]) / np.diff(piecewise[:knots])
    assert slope.max() * scale < 1e5  # ties are no infinite slopes


def test_a_constant_column_gets_a_scale_of_its_own() -> None:
    assert centre_and_scale(np.full(5, 3.0), np.ones(5)) == (3.0, 3.0)
    assert centre_and_scale(np.zeros(5), np.ones(5)) == (0.0, 1.0)
    assert centre_and_scale(np.zeros(0), np.zeros(0)) == (0.0, 1.0)
