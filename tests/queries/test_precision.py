"""Moments and masses against arithmetic with many digits, far from zero, far out, and at every scale."""

from math import inf, log

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tractable import queries
from tractable.base.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.leaves.intervals import log_normal_between
from tractable.circuit.leaves.multivariate.boxes import box_nodes
from tractable.data import Evidence, Interval, Region, Schema, Variable
from tractable.engine import log_values

Bell = tuple[float, float]  # mean and standard deviation


def told_by_a_state(bells: list[Bell], shares: list[float]) -> Graph:
    builder = Builder(Schema((Variable("x", "real"), Variable("k", states=tuple(range(len(bells)))))))
    parts = [
        builder.product([builder.leaf("gaussian", 0, [mean, log(sd)]), builder.indicator(1, k)])
        for k, (mean, sd) in enumerate(bells)
    ]
    builder.sum(parts, np.log(shares))
    return builder.freeze()


def exact_moments(bells: list[Bell], shares: list[float]) -> tuple[float, float]:
    with mp.workdps(700):
        weights = [mp.mpf(float(np.exp(np.log(share)))) for share in shares]
        total = mp.fsum(weights)
        mean = mp.fsum(w * mp.mpf(m) for w, (m, _) in zip(weights, bells, strict=True)) / total
        spread = mp.fsum(
            w * (mp.mpf(float(np.exp(log(sd)))) ** 2 + (mp.mpf(m) - mean) ** 2)
            for w, (m, sd) in zip(weights, bells, strict=True)
        )
        return float(mean), float(mp.sqrt(spread / total))


SCALES = st.sampled_from([1e-300, 1e-160, 1e-9, 1.0, 1e6, 1e9, 1e160, 1e300, 1e307])
BELLS = st.lists(
    st.tuples(
        st.builds(lambda scale, x: scale * x, SCALES, st.floats(-9, 9)),
        st.builds(lambda scale, x: scale * x, SCALES, st.floats(0.1, 3)),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(bells=BELLS, data=st.data())
def test_moments_have_all_digits_at_every_scale(bells: list[Bell], data: st.DataObject) -> None:
    share = st.sampled_from([1e-280, 1e-30, 1e-9, 0.1, 0.5, 1.0])
    shares = data.draw(st.lists(share, min_size=len(bells), max_size=len(bells)))
    shares = [s / sum(shares) for s in shares]
    mean, sd = queries.marginals(told_by_a_state(bells, shares), np.full((1, 2), np.nan))[0][0]
    wanted = exact_moments(bells, shares)
    size = sum(s * abs(m) for s, (m, _) in zip(shares, bells, strict=True))  # what a sum of doubles can do
    assert mean == pytest.approx(wanted[0], rel=1e-12, abs=1e-13 * size)
    assert sd == pytest.approx(wanted[1], rel=1e-11)


def test_a_far_component_of_hardly_any_weight_takes_no_digits() -> None:
    for bells in ([(1e6, 1.0), (1e-3, 1e-4)], [(1e-3, 1e-4), (1e6, 1.0)]):
        graph = told_by_a_state(bells, [1e-30, 1.0] if bells[0][0] > 1 else [1.0, 1e-30])
        mean, sd = queries.marginals(graph, np.full((1, 2), np.nan))[0][0]
        assert (mean, sd) == pytest.approx((1e-3, 1e-4), rel=1e-12)


@pytest.mark.parametrize("ends", [None, (-1e-5, 2e-5), (1.3e-5, inf)])
def test_the_spread_of_many_close_components_far_from_zero(ends: tuple[float, float] | None) -> None:
    """Components a few hundred doubles apart: their mean has to be known better than a double knows it."""
    rng = np.random.default_rng(0)
    steps = rng.integers(-60, 60, 40) * 2.0**-22
    shares = rng.dirichlet(np.ones(40)).tolist()
    graphs = [told_by_a_state([(at + s, 6e-6) for s in steps.tolist()], shares) for at in (0.0, 2.0**30)]
    found = []
    for at, graph in zip((0.0, 2.0**30), graphs, strict=True):
        region: dict[int, Region] = (
            {} if ends is None else {0: Interval(*(at + np.round(np.array(ends) * 2**22) / 2**22))}
        )
        found.append(queries.moments(graph, 0, Evidence(np.full(2, np.nan), region)))
    assert found[1].std == pytest.approx(found[0].std, rel=1e-9)
    assert found[1].mean - 2.0**30 == pytest.approx(found[0].mean, abs=2e-7)


def test_a_variance_is_infinite_where_the_deviation_is_a_double() -> None:
    found = queries.moments(told_by_a_state([(1e300, 1e299)], [1.0]), 0, Evidence(np.full(2, np.nan), {}))
    assert (found.mean, found.std) == pytest.approx((1e300, 1e299))
    assert found.variance == inf


def exact_log_mass(first: float, last: float) -> float:
    """The logarithm of the integral of the normal density, from tails with as many digits as that takes."""
    if first > 0:
        first, last = -last, -first
    with mp.workdps(int(min(last, 0.0) ** 2 / 4) + 60):
        below, above = (mp.erfc(-mp.mpf(end) / mp.sqrt(2)) / 2 for end in (first, last))
        return float(mp.log(above - below))


@settings(max_examples=60, deadline=None)
@given(
    out=st.one_of(st.floats(-6, 6), st.floats(-60, 60)),
    length=st.one_of(st.floats(1e-9, 1e-3), st.floats(1e-3, 80.0), st.just(inf)),
    log_sd=st.floats(-9, 9),
)
@example(out=37.5, length=0.02, log_sd=0.0)
@example(out=-59.0, length=inf, log_sd=2.0)
def test_masses_of_intervals_have_all_digits_in_the_tails(out: float, length: float, log_sd: float) -> None:
    expected = exact_log_mass(out, out + length)
    params, region = (
        np.array([[0.0, log_sd]]),
        Interval(out * np.exp(log_sd), (out + length) * np.exp(log_sd)),
    )
    slack = 1e-11 * (1 + out**2 + (0 if length == inf else abs(out) / length * 1e-4))
    assert log_normal_between(np.array(out), np.array(out + length)) == pytest.approx(expected, abs=slack)
    assert FAMILIES["gaussian"].log_mass(params, region)[0] == pytest.approx(expected, abs=slack)


def exact_box(correlation: float, low: Floats, high: Floats) -> float:
    """The log-mass of two intervals of standard normal numbers, on a fine grid where it counts."""
    left = np.sqrt(1 - correlation**2)
    start, end = np.clip((low[0], high[0]), -300.0, 300.0)
    for _ in range(3):  # closer to where the mass is
        z = np.linspace(start, end, 60_001)
        ends = ((bound - correlation * z) / left for bound in (low[1], high[1]))
        value = log_normal_between(*ends) - 0.5 * z**2
        inside = np.flatnonzero(value > value.max() - 45)
        start, end = z[max(inside[0] - 1, 0)], z[min(inside[-1] + 1, z.size - 1)]
    top = value.max()
    return float(top + np.log(np.trapezoid(np.exp(value - top), z)) - 0.5 * np.log(2 * np.pi))


BOXES = [
    (-0.9, (25.0, 20.0), (inf, inf)),  # both far out, against the correlation: about exp(-10,000)
    (0.998, (-0.37, 2.25), (-0.10, 4.18)),
    (0.9743, (7.89, -4.51), (29.8, -4.18)),
    (-0.9997, (11.8, -4.17), (12.3, -3.27)),
    (0.5, (40.0, -inf), (41.0, -39.0)),
    (0.95, (-43.0, 25.0), (inf, 26.0)),
    (0.99, (-inf, 59.0), (1.0, inf)),
    (0.7, (-1.0, -2.0), (0.5, 3.0)),
]


@pytest.mark.parametrize(("correlation", "low", "high"), BOXES)
def test_boxes_far_out_have_the_mass_of_where_both_intervals_meet(
    correlation: float, low: tuple[float, float], high: tuple[float, float]
) -> None:
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])
    ends = np.array(low), np.array(high)
    expected = exact_box(correlation, *ends)
    for turn in (slice(None), slice(None, None, -1)):  # whichever column comes first
        nodes = box_nodes(np.zeros((1, 2)), covariance, ends[0][turn], ends[1][turn])
        assert nodes.log_mass[0] == pytest.approx(expected, abs=1e-6, rel=1e-10)
    builder = Builder(Schema((Variable("a", "real"), Variable("b", "real"))))
    factor = [1.0, correlation, np.sqrt(1 - correlation**2)]
    builder.joint_leaf("multivariate-gaussian", [0, 1], [0.0, 0.0, *factor])
    box = {c: Interval(low[c], high[c]) for c in range(2)}
    found = log_values(builder.freeze(), np.full((1, 2), np.nan), box)
    assert found[0] == pytest.approx(expected, abs=1e-6, rel=1e-10)
