"""Masses, draws and moments far out in the tails, and laws under extreme parameters."""

from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tractable.base.arrays import Floats
from tractable.circuit.leaves import FAMILIES
from tractable.data.evidence import Interval, Region, States
from tractable.data.schema import Variable

BINARY = Variable("two states", states=("no", "yes"))
FOUR_STATES = Variable("four states", states=("a", "b", "c", "d"))
REAL, COUNT, INTEGER = Variable("real", "real"), Variable("count", "count"), Variable("integer", "integer")


def inside(x: Floats, region: Region) -> Floats:
    if isinstance(region, States):
        return region.allowed[x.astype(int)].astype(float)
    return ((x >= region.low) & (x <= region.high)).astype(float)


@pytest.mark.parametrize(("low", "high"), [(3, 4), (-4, -3), (38, 39), (40, inf), (-inf, -40), (-1, 50)])
def test_gaussian_masses_agree_with_scipy(low: float, high: float) -> None:
    bell = stats.truncnorm(low, high)
    # log pdf - log truncated pdf is the log of the mass
    point = np.clip(0.0, low, high)
    expected = stats.norm.logpdf(point) - bell.logpdf(point)
    assert FAMILIES["gaussian"].log_mass(np.zeros((1, 2)), Interval(low, high))[0] == pytest.approx(
        expected, rel=1e-9
    )


def test_a_gaussian_far_out_is_an_exponential() -> None:
    gaussian = FAMILIES["gaussian"]
    for out in (40.0, 1e3, 1e5, 1e9):
        mean, _, rest = gaussian.moments(np.zeros((1, 2)), Interval(out, inf))
        assert (mean[0] - out) + rest[0] == pytest.approx(1 / out, rel=2e-3)  # 1e9 + 1e-9 has few digits
        drawn = gaussian.draw(np.zeros((3, 2)), np.array([0.1, 0.5, 0.9]), Interval(out, out + 1))
        if out < 1e6:
            np.testing.assert_allclose((drawn - out) * out, -np.log([0.9, 0.5, 0.1]), rtol=3e-3)


@pytest.mark.parametrize("out", [0.0, -3.0, 40.0])
def test_a_short_interval_of_a_gaussian_has_its_density_times_its_length(out: float) -> None:
    region = Interval(out, out + 2.0**-40)
    expected = stats.norm.logpdf(out) - 40 * log(2)
    assert FAMILIES["gaussian"].log_mass(np.zeros((1, 2)), region)[0] == pytest.approx(expected, abs=1e-10)


def test_a_gaussian_is_even_over_an_interval_far_shorter_than_its_sd() -> None:
    params = np.array([[0.0, 600.0]] * 3)
    uniform = np.array([0.0, 0.25, 0.5])
    np.testing.assert_allclose(FAMILIES["gaussian"].draw(params, uniform, Interval(-1, 3)), [-1, 0, 1])


@pytest.mark.parametrize("rate", [0.01, 1.0, 30.0, 1e3, 1e6])
def test_poisson_masses_agree_with_the_sum_over_counts(rate: float) -> None:
    poisson, params = FAMILIES["poisson"], np.array([[log(rate)]])
    for sd in (-25.0, -5.0, 0.0, 5.0, 60.0):
        first = max(0.0, np.floor(rate + sd * rate**0.5))
        counts = np.arange(first, first + 50)
        region = Interval(counts[0], counts[-1])
        log_p = poisson.log_prob(params, counts[None])[0]
        assert poisson.log_mass(params, region)[0] == pytest.approx(
            np.logaddexp.reduce(log_p), rel=1e-9, abs=1e-9
        )
        share = np.exp(log_p - np.logaddexp.reduce(log_p))
        mean, spread, _ = poisson.moments(params, region)
        assert mean[0] == pytest.approx(share @ counts, rel=1e-12)
        assert spread[0] ** 2 == pytest.approx(share @ (counts - share @ counts) ** 2, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("rate", [0.4, 30.0, 900.0, 1.1e3, 3e4, 1e6])
@pytest.mark.parametrize(
    "ends", [(-inf, inf), (-3.0, 0.5), (1.0, inf), (-inf, -4.0), (9.0, inf), (-0.01, 7.0)]
)
def test_poisson_moments_are_those_of_all_counts(rate: float, ends: tuple[float, float]) -> None:
    params = np.array([[log(rate)]])
    low, high = (max(0.0, np.floor(rate + sd * rate**0.5)) for sd in np.clip(ends, -40, 40))
    counts = np.arange(low, high + 60)
    log_p = FAMILIES["poisson"].log_prob(params, counts[None])[0]
    share = np.exp(log_p - np.logaddexp.reduce(log_p))
    off = share @ (counts - counts[0])
    mean, sd, _ = FAMILIES["poisson"].moments(params, Interval(low, high + 59))
    assert mean[0] == pytest.approx(counts[0] + off, rel=1e-9)
    assert sd[0] ** 2 == pytest.approx(share @ (counts - counts[0] - off) ** 2, rel=1e-7)


def test_a_huge_count_far_above_its_rate_falls_off_like_a_geometric_one() -> None:
    for rate, low in ((1e9, 1.5e9), (1e12, 1.01e12), (1e15, 1.5e15)):
        ratio = rate / low
        mean, sd, _ = FAMILIES["poisson"].moments(np.array([[log(rate)]]), Interval(low, inf))
        assert mean[0] - low == pytest.approx(ratio / (1 - ratio), rel=1e-4, abs=0.3)
        assert sd[0] ** 2 == pytest.approx(ratio / (1 - ratio) ** 2, rel=1e-4)


FAR_AWAY = 1.7e9


@pytest.mark.parametrize("ends", [None, (-1.0, 2.0), (0.5, inf), (-inf, -7.0)])
def test_the_spread_of_a_gaussian_does_not_depend_on_where_it_stands(
    ends: tuple[float, float] | None,
) -> None:
    here, there = np.array([[0.0, log(2.7)]]), np.array([[FAR_AWAY, log(2.7)]])
    near = None if ends is None else Interval(*ends)
    far = None if ends is None else Interval(FAR_AWAY + ends[0], FAR_AWAY + ends[1])
    wanted, found = FAMILIES["gaussian"].moments(here, near), FAMILIES["gaussian"].moments(there, far)
    assert found[0][0] - FAR_AWAY == pytest.approx(wanted[0][0], abs=1e-6)
    assert found[1][0] == pytest.approx(wanted[1][0], rel=1e-9)


def test_the_spread_of_a_histogram_does_not_depend_on_where_it_stands() -> None:
    edges, log_density = np.array([0.0, 1.0, 2.0, 6.0]), np.log([0.25, 0.25, 0.125])
    for ends in (None, (0.5, 4.0)):
        moments = [
            FAMILIES["histogram"].moments(
                np.array([[*(edges + at), *log_density]]), ends and Interval(ends[0] + at, ends[1] + at)
            )
            for at in (0.0, FAR_AWAY)
        ]
        assert moments[1][1][0] == pytest.approx(moments[0][1][0], rel=1e-9)


@pytest.mark.parametrize("rate", [0.3, 5.0, 1e3, 1e5])
def test_poisson_quantiles_agree_with_scipy(rate: float) -> None:
    uniform = np.random.default_rng(1).random(200)
    drawn = FAMILIES["poisson"].draw(np.full((200, 1), log(rate)), uniform)
    np.testing.assert_array_equal(drawn, stats.poisson.ppf(uniform, np.exp(log(rate))))


LOGITS = st.one_of(st.sampled_from([-inf, inf, -800.0, 800.0, 0.0]), st.floats(-1e6, 1e6))
LOG_RATES = st.one_of(st.sampled_from([-inf, -800.0, 36.0]), st.floats(-800.0, 36.0), st.floats(-3.0, 12.0))
LOG_DISPERSIONS = st.one_of(st.sampled_from([-20.0, inf]), st.floats(-20.0, 80.0), st.floats(-3.0, 5.0))
MEANS = st.one_of(st.sampled_from([0.0, 1e308, -1e308]), st.floats(-1e6, 1e6))
LOG_SDS = st.one_of(st.sampled_from([-700.0, 700.0]), st.floats(-700.0, 700.0), st.floats(-3.0, 3.0))
NUMBERS = st.one_of(st.floats(-1e3, 1e3), st.sampled_from([-1e300, -1e9, 0.0, 1e9, 1e300]))
UNIFORMS = st.one_of(st.sampled_from([0.0, 1 - 2.0**-53]), st.floats(0, 1, exclude_max=True))


@st.composite
def log_probabilities(draw: st.DrawFn, states: int = 4) -> Floats:
    """Logarithms of probabilities, some of them zero and some minute."""
    raw = draw(st.lists(st.one_of(st.just(-inf), st.floats(-900, 0)), min_size=states, max_size=states))
    raw[draw(st.integers(0, states - 1))] = 0.0
    return np.array([raw]) - np.logaddexp.reduce(raw)


@st.composite
def histograms(draw: st.DrawFn) -> Floats:
    """Bins of very different lengths."""
    edges = np.array(sorted(draw(st.sets(NUMBERS, min_size=5, max_size=5))))
    log_mass = draw(log_probabilities())
    with np.errstate(over="ignore"):
        return np.hstack([edges[None], log_mass - np.log(np.diff(edges))])


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    ends = st.one_of(NUMBERS, st.sampled_from([-inf, inf]))
    low, high = sorted((draw(ends), draw(NUMBERS)))
    return Interval(low, high)


@st.composite
def pieces(draw: st.DrawFn, *, whole: bool = False) -> Floats:
    """Intervals of very different lengths, some of them open, with any slope."""
    ends = st.one_of(NUMBERS, st.sampled_from([-inf, inf]))
    if whole:
        ends = st.one_of(st.integers(-1000, 1000).map(lambda k: k + 0.5), st.sampled_from([-inf, inf]))
    low, high = sorted(draw(st.sets(ends, min_size=2, max_size=2)))
    slope = draw(st.one_of(st.floats(-1e3, 1e3), st.sampled_from([0.0, 1e-300, 1e250, -1e250])))
    if low == -inf and high == inf:
        low = 0.5
    if low == -inf:
        slope = abs(slope) or 1.0
    if high == inf:
        slope = -abs(slope) or -1.0
    return np.array([[low, high, slope]])


EXTREMES: dict[str, tuple[st.SearchStrategy[Floats], Variable]] = {
    "bernoulli": (st.builds(lambda a: np.array([[a]]), LOGITS), BINARY),
    "categorical": (log_probabilities(), FOUR_STATES),
    "gaussian": (st.builds(lambda a, b: np.array([[a, b]]), MEANS, LOG_SDS), REAL),
    "poisson": (st.builds(lambda a: np.array([[a]]), LOG_RATES), COUNT),
    "negative-binomial": (st.builds(lambda a, b: np.array([[a, b]]), LOG_RATES, LOG_DISPERSIONS), COUNT),
    "histogram": (histograms(), REAL),
    "piece": (pieces(), REAL),
    "rounded-piece": (pieces(whole=True), INTEGER),
    "rounded-gaussian": (
        st.builds(lambda a, b: np.array([[a, b]]), st.floats(-1e6, 1e6), st.floats(-1.3, 30.0)),
        INTEGER,
    ),
    "indicator": (st.builds(lambda a: np.array([[float(a)]]), st.integers(0, 3)), FOUR_STATES),
}
every_extreme = pytest.mark.parametrize("name", EXTREMES)


@st.composite
def leaves_and_regions(draw: st.DrawFn, name: str) -> tuple[Floats, Region]:
    strategy, variable = EXTREMES[name]
    params = draw(strategy)
    if not variable.is_categorical:
        return params, draw(intervals())
    allowed = draw(st.lists(st.booleans(), min_size=variable.cardinality, max_size=variable.cardinality))
    allowed[draw(st.integers(0, variable.cardinality - 1))] = True
    return params, States(np.array(allowed))


def holds_a_value(region: Region, variable: Variable) -> bool:
    """Whether a column can take a value in the region at all: 0.5 is no count."""
    return (
        isinstance(region, States)
        or variable.kind == "real"
        or np.ceil(max(0, region.low) if variable.kind == "count" else region.low) <= np.floor(region.high)
    )


@every_extreme
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_answers_stay_in_the_region_whatever_the_parameters(name: str, data: st.DataObject) -> None:
    family, variable = FAMILIES[name], EXTREMES[name][1]
    params, region = data.draw(leaves_and_regions(name))
    assert family.check(params, variable) is None
    log_mass = family.log_mass(params, region)[0]
    assert log_mass <= 1e-6
    if not holds_a_value(region, variable):
        assert log_mass == -inf
    elif name != "indicator" or log_mass == 0:
        assert inside(family.mode(params, region), region).all()
        assert inside(family.draw(params, np.array([data.draw(UNIFORMS)]), region), region).all()
        mean, sd, rest = family.moments(params, region)
        assert sd[0] >= 0
        assert abs(rest[0]) <= np.spacing(abs(mean[0]))
        if isinstance(region, Interval):
            slack = 1e-9 * abs(mean[0])
            assert region.low - slack <= mean[0] <= region.high + slack


@every_extreme
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_answers_without_a_region_are_numbers_whatever_the_parameters(name: str, data: st.DataObject) -> None:
    family, (strategy, variable) = FAMILIES[name], EXTREMES[name]
    params = data.draw(strategy)
    value = family.draw(params, np.array([data.draw(UNIFORMS)]))
    assert not np.isnan([value, family.mode(params), *family.moments(params), family.entropy(params)]).any()
    assert not np.isnan(family.log_prob(params, value[None])).any()
    cells = [0.0, 1.0] if variable.is_categorical else [0.0, 1.0, 1e9, 1e300]
    assert not np.isnan(family.log_prob(params, np.array([cells]))).any()


@pytest.mark.parametrize("name", ["gaussian", "histogram", "piece"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_masses_of_two_halves_add_up(name: str, data: st.DataObject) -> None:
    params = data.draw(EXTREMES[name][0])
    low, middle, high = sorted(data.draw(st.tuples(NUMBERS, NUMBERS, NUMBERS)))
    halves = [FAMILIES[name].log_mass(params, Interval(*ends))[0] for ends in ((low, middle), (middle, high))]
    whole = FAMILIES[name].log_mass(params, Interval(low, high))[0]
    assert np.logaddexp(*halves) == pytest.approx(whole, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(log_rate=st.floats(-20, 20), counts=st.tuples(*[st.integers(0, 10**6)] * 3))
def test_the_masses_of_counts_add_up(log_rate: float, counts: tuple[int, int, int]) -> None:
    low, middle, high = sorted(counts)
    pieces = [(low, middle), (middle + 1, high + 1)]
    params, poisson = np.array([[log_rate]]), FAMILIES["poisson"]
    halves = [poisson.log_mass(params, Interval(*ends))[0] for ends in pieces]
    whole = poisson.log_mass(params, Interval(low, high + 1))[0]
    assert np.logaddexp(*halves) == pytest.approx(whole, rel=1e-9, abs=1e-9)


WHOLE_LEAVES = {
    "rounded-gaussian": st.builds(lambda a, b: np.array([[a, b]]), st.floats(-50, 50), st.floats(-1.2, 2.5)),
    "rounded-piece": st.builds(
        lambda first, cells, slope: np.array([[first - 0.5, first - 0.5 + cells, slope]]),
        st.integers(-40, 40), st.integers(1, 90), st.floats(-2, 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE_LEAVES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whole_numbers_have_probabilities_that_sum_to_one(name: str, data: st.DataObject) -> None:
    family, params = FAMILIES[name], data.draw(WHOLE_LEAVES[name])
    k = np.arange(-400.0, 401.0)
    p = np.exp(family.log_prob(params, k[None]))[0]
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    mean, sd, _ = family.moments(params)
    assert mean[0] == pytest.approx(p @ k, abs=1e-6)
    assert sd[0] ** 2 == pytest.approx(p @ (k - p @ k) ** 2, rel=1e-5, abs=1e-9)
    assert family.entropy(params)[0] == pytest.approx(-(p[p > 0] @ np.log(p[p > 0])), rel=1e-5, abs=1e-7)
    assert family.mode(params)[0] in k[p >= p.max() * (1 - 1e-9)]
    low, high = sorted(data.draw(st.tuples(st.floats(-60, 60), st.floats(-60, 60))))
    within = p[(k >= low) & (k <= high)].sum()
    assert np.exp(family.log_mass(params, Interval(low, high)))[0] == pytest.approx(within, abs=1e-9)


@settings(max_examples=80, deadline=None)
@given(mean=st.floats(-5, 5), log_sd=st.floats(-3, 8), k=st.integers(-3000, 3000))
def test_a_cell_of_a_gaussian_is_the_difference_of_two_tails(mean: float, log_sd: float, k: int) -> None:
    found = FAMILIES["rounded-gaussian"].log_prob(np.array([[mean, log_sd]]), np.array([[float(k)]]))[0, 0]
    again = FAMILIES["gaussian"].log_mass(np.array([[mean, log_sd]]), Interval(k - 0.5, k + 0.5))[0]
    assert found == pytest.approx(again, rel=1e-9, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(
    low=st.floats(-1e3, 1e3), width=st.floats(1e-3, 1e3), tilt=st.floats(-60, 60), share=st.floats(0.01, 0.99)
)
def test_a_piece_is_an_exponential_limited_to_its_interval(
    low: float, width: float, tilt: float, share: float
) -> None:
    high, slope = low + width, tilt / width
    piece, params = FAMILIES["piece"], np.array([[low, high, slope]])
    x = low + width * (np.arange(20000) + 0.5) / 20000
    p = np.exp(piece.log_prob(params, x[None]))[0] * width / 20000
    assert p.sum() == pytest.approx(1.0, abs=1e-4)
    mean, sd, _ = piece.moments(params)
    assert mean[0] == pytest.approx(p @ x / p.sum(), abs=1e-3 * width)
    assert sd[0] ** 2 == pytest.approx(p @ (x - p @ x / p.sum()) ** 2 / p.sum(), rel=1e-2)
    middle = low + share * width
    mass = np.exp(piece.log_mass(params, Interval(low, middle)))[0]
    assert mass == pytest.approx(p[x <= middle].sum(), abs=5e-3)
    if 1e-6 < mass < 1 - 1e-6:
        assert piece.draw(params, np.array([mass]))[0] == pytest.approx(middle, abs=1e-6 * width)
    again = piece.refit(params, x, p[None], REAL, 0.0)
    assert again[0, 2] * width == pytest.approx(tilt, abs=1e-2 * (1 + abs(tilt)))
    assert np.isneginf(piece.log_prob(params, np.array([[low - 1.0, high]]))).all()
