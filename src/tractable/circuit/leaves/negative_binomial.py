"""A leaf over whole numbers from zero up that vary more than Poisson counts."""

from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.circuit.leaves.counts import stretch_points, whole_moments
from tractable.circuit.leaves.dispersion import LEAST_LOG_R, count_groups, fit_counts, preferred_counts
from tractable.circuit.leaves.family import Family
from tractable.circuit.leaves.finite import quiet_log, shares
from tractable.circuit.leaves.moments import LeafMoments, plain_moments
from tractable.circuit.leaves.overdispersed import log_mass_between, log_probability, reach_from, stretches
from tractable.circuit.leaves.poisson import (
    LAST_UNIFORM,
    LEAST_ESTIMATE,
    MAX_LOG_RATE,
    Poisson,
    whole_limits,
)
from tractable.data.evidence import Region
from tractable.data.schema import Variable

MOST_LOG_R = 69.0  # above this the variance exceeds that of a Poisson count by no digit
LEAST_LOG_MEAN = -600.0  # below this all but zero is next to impossible, with any dispersion
LARGEST = 2.0**52  # the table of probabilities is for smaller counts
POISSON = Poisson()


@final
class NegativeBinomial(Family):
    """A count whose variance exceeds its mean; the parameters are (log of the mean m, log of r).

    The variance is m + m^2 / r. Where r is infinite the leaf is a Poisson leaf.
    """

    name: ClassVar[str] = "negative-binomial"
    is_learned: ClassVar[bool] = True
    narrower: ClassVar[Family] = POISSON

    def accepts(self, variable: Variable) -> bool:
        """Whether the column holds counts."""
        return POISSON.accepts(variable)

    def width(self, variable: Variable) -> int:
        """Two: the log mean and the log dispersion."""
        return 2

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless each leaf has a log mean that Poisson leaves can have, and a log dispersion."""
        if params.shape[1] != 2:
            return f"{params.shape[1]} parameters, not a log mean and a log dispersion"
        if not (params[:, 0] <= MAX_LOG_RATE).all():
            return f"a log mean is not a number up to {MAX_LOG_RATE:g}"
        fine = (params[:, 1] >= LEAST_LOG_R).all()
        return None if fine else f"a log dispersion is not a number from {LEAST_LOG_R:g} up"

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """The weighted mean and the dispersion of maximum likelihood, smoothed as `dispersion` says."""
        return fit_counts(count_groups(x, weight), smoothing)

    def estimate(
        self, x: Floats, weight: Floats, variable: Variable, smoothing: float, mean: float
    ) -> Floats:
        """As `fit`, with an infinite r where the rows of all groups do not prefer another."""
        params = preferred_counts(count_groups(x, weight), smoothing, mean)
        params[:, 0] = np.maximum(params[:, 0], LEAST_ESTIMATE)
        return params

    def is_narrow(self, params: Floats) -> Bools:
        """Those of infinite r."""
        return np.isinf(params[:, 1])

    def blend(self, params: Floats, towards: Floats, step: float) -> Floats:
        """Log means and 1 / r between those of two blocks, for r may be infinite."""
        mean = POISSON.blend(params[:, :1], towards[:, :1], step)
        excess = (1 - step) * np.exp(-params[:, 1:]) + step * np.exp(-towards[:, 1:])
        return np.hstack([mean, np.maximum(-quiet_log(excess), LEAST_LOG_R)])

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The log-probability, which is -inf for values that are not non-negative whole numbers."""
        spread = _is_spread(params)
        if not spread.any():
            return POISSON.log_prob(params[:, :1], x)
        if spread.all():
            return _log_prob(params, x)
        answer = np.empty((len(params), x.shape[1]))
        lines = [x if len(x) == 1 else x[part] for part in (spread, ~spread)]
        answer[spread] = _log_prob(params[spread], lines[0])
        answer[~spread] = POISSON.log_prob(params[~spread, :1], lines[1])
        return answer

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The sum over the whole numbers in the interval."""
        spread, answer = _is_spread(params), POISSON.log_mass(params[:, :1], region)
        low, high = (np.full(int(spread.sum()), end) for end in whole_limits(region))
        answer[spread] = log_mass_between(params[spread, 0], params[spread, 1], low, high)
        return answer

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The most probable count, or the whole number of the region nearest to it."""
        return _mode(params, *whole_limits(region))

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """The quantile at `uniform`."""
        spread, answer = _is_spread(params), np.empty(len(params))
        answer[~spread] = POISSON.draw(params[~spread, :1], uniform[~spread], region)
        aim = np.minimum(uniform[spread], LAST_UNIFORM)
        answer[spread] = _draw(params[spread], aim, *whole_limits(region))
        return answer

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """Mean and standard deviation; within a region those of its counts."""
        if region is None:
            mean = np.exp(params[:, 0])
            return plain_moments(mean, np.hypot(np.sqrt(mean), mean * np.exp(-params[:, 1] / 2)))
        spread, answer = _is_spread(params), POISSON.moments(params[:, :1], region)
        low, high = whole_limits(region)
        nearest = _mode(params[spread], low, high)
        step, log_p = _points(params[spread], nearest, low, high)
        for whole, part in zip(answer, whole_moments(nearest, shares(log_p), step, low, high), strict=True):
            whole[spread] = part
        return answer

    def entropy(self, params: Floats) -> Floats:
        """The entropy, a sum over counts."""
        spread, answer = _is_spread(params), POISSON.entropy(params[:, :1])
        part = params[spread]
        nearest = _mode(part, 0.0, np.inf)
        step, log_p = _points(part, nearest, 0.0, np.inf)
        at = np.maximum(nearest[:, None] + step, 0.0)
        answer[spread] = -(shares(log_p) * log_probability(part[:, :1], part[:, 1:], at)).sum(axis=1)
        return answer


def _is_spread(params: Floats) -> Bools:
    """Which leaves are no Poisson leaves. Shape (leaves,)."""
    return (params[:, 1] < MOST_LOG_R) & (params[:, 0] > LEAST_LOG_MEAN)


def _log_prob(params: Floats, x: Floats) -> Floats:
    """The log-probabilities; looked up where there are fewer counts than cells."""
    count = np.where((x >= 0) & (x == np.floor(x)), x, -1.0)
    log_mean, log_r = params[:, :1], params[:, 1:]
    most = count.max(initial=-1.0)
    if most + 2 < count.shape[1] / 2 and most < LARGEST:
        table = log_probability(log_mean, log_r, np.arange(most + 1)[None])
        table = np.hstack([table, np.full((len(table), 1), -np.inf)])  # at -1, the last: no count
        place = count.astype(np.int64)
        return table[:, place[0]] if len(place) == 1 else np.take_along_axis(table, place, axis=1)
    return np.where(count < 0, -np.inf, log_probability(log_mean, log_r, np.maximum(count, 0.0)))


def _mode(params: Floats, low: float, high: float) -> Floats:
    """The most probable count between two limits."""
    mean, less = np.exp(params[:, 0]), np.exp(-params[:, 1])
    return np.clip(np.floor(np.maximum(mean - mean * less, 0.0)), low, high)


def _window(params: Floats, nearest: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """The first and last of the counts within limits that are not negligible. Shapes (leaves,)."""
    left, right = (reach_from(params[:, 0], params[:, 1], nearest, sign) for sign in (-1.0, 1.0))
    first, last = np.maximum(nearest - left, low), np.minimum(nearest + right, high)
    return np.minimum(first, nearest), np.maximum(last, nearest)  # there may be no count within the limits


def _points(params: Floats, nearest: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Points that stand for all counts within limits, as steps from `nearest`, and their log-masses."""
    step, number = stretch_points(*stretches(nearest, *_window(params, nearest, low, high)))
    at = np.maximum(nearest[:, None] + step, 0.0)
    return step, log_probability(params[:, :1], params[:, 1:], at) + quiet_log(np.maximum(number, 0.0))


def _draw(params: Floats, uniform: Floats, low: float, high: float) -> Floats:
    """Quantiles of the counts between two limits, by bisection where there is mass to speak of."""
    distinct, place = np.unique(params, axis=0, return_inverse=True)
    nearest = _mode(distinct, low, high)
    first, last = (end[place] for end in _window(distinct, nearest, low, high))
    lowest, highest = np.full(len(distinct), low), np.full(len(distinct), high)
    mass = log_mass_between(distinct[:, 0], distinct[:, 1], lowest, highest)
    aim = quiet_log(uniform) + mass[place]
    lows, last = np.full(len(params), low), np.maximum(first, last)
    while (first < last).any():
        middle = np.minimum(np.floor((first + last) / 2), np.nextafter(last, -np.inf))
        middle = np.maximum(middle, first)  # of huge neighbours rounding may leave nothing between
        enough = log_mass_between(params[:, 0], params[:, 1], lows, middle) > aim
        after = np.minimum(np.maximum(middle + 1, np.nextafter(middle, np.inf)), last)
        first, last = np.where(enough, first, after), np.where(enough, middle, last)
    return first
