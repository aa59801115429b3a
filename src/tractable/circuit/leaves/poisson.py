"""A leaf over whole numbers from zero up."""

from functools import cache
from math import e, log, pi
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.late import special
from tractable.circuit.leaves.counts import (
    LARGE,
    LEAST_LOG_RATE,
    TINY,
    far_from,
    moments_within,
    pseudo_means,
)
from tractable.circuit.leaves.family import Family
from tractable.circuit.leaves.finite import overall_shares, quiet_log
from tractable.circuit.leaves.intervals import NEGLIGIBLE, POINTS, SHARES, limits
from tractable.circuit.leaves.moments import LeafMoments, plain_moments
from tractable.data.evidence import Region
from tractable.data.schema import Variable

LEAST_ESTIMATE = -700.0  # in place of the logarithm of a rate of zero, so that no count is impossible
MAX_LOG_RATE = 36.0  # above this, not every whole number near the rate is a double
LAST_UNIFORM = 1 - 2.0**-40  # nearer to one, rounding decides where the distribution function is passed
BUSY = 1e4  # a rate from which on scipy's inverse is not to be trusted
MANY = 200.0  # a rate from which on the entropy's expansion has all the digits that count
LARGEST = 1e100  # stands for an infinite count


@cache
def _log_factorials() -> Floats:
    """The logarithms of the factorials of 0, 1, ..., LARGE."""
    return np.asarray(special.gammaln(np.arange(LARGE + 1) + 1))


@final
class Poisson(Family):
    """A count; the parameter is the log of its rate, -inf where the count is always zero."""

    name: ClassVar[str] = "poisson"

    def accepts(self, variable: Variable) -> bool:
        """Whether the column holds counts."""
        return variable.kind == "count" and variable.role != "potential"

    def width(self, variable: Variable) -> int:
        """One: the log rate."""
        return 1

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless each leaf has one number: -inf, or finite and not too large."""
        if params.shape[1] != 1:
            return f"{params.shape[1]} parameters, not a log rate"
        fine = (params <= MAX_LOG_RATE).all()
        return None if fine else f"a log rate is not a number up to {MAX_LOG_RATE:g}"

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """The log of the weighted mean; `pseudo_rows` says how it is smoothed."""
        overall = float(overall_shares(weight) @ x) if x.size else 1.0
        return self.fit_sums(weight.sum(axis=1), weight @ x, smoothing, overall)[:, None]

    def estimate(
        self, x: Floats, weight: Floats, variable: Variable, smoothing: float, mean: float
    ) -> Floats:
        """As `fit`, with pseudo-rows that are shrunk towards the whole column; no count is impossible."""
        log_rate = self.fit_sums(weight.sum(axis=1), weight @ x, smoothing, mean)
        return np.maximum(log_rate, LEAST_ESTIMATE)[:, None]

    def fit_sums(self, seen: Floats, counted: Floats, smoothing: float, overall: float) -> Floats:
        """The smoothed log rates of groups from their weights and sums of counts. Shape (groups,)."""
        total = seen + smoothing
        empty = total == 0
        near = pseudo_means(seen, counted, smoothing, overall)
        rate = (counted + smoothing * near) / np.where(empty, 1.0, total)
        return np.minimum(quiet_log(np.where(empty, overall, rate)), MAX_LOG_RATE)

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The log-probability, which is -inf for values that are not non-negative whole numbers."""
        count = np.where((x >= 0) & (x == np.floor(x)), x, -1.0)
        return _log_prob(params, count)

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The sum over the whole numbers in the interval."""
        low, high = whole_limits(region)
        return _log_mass(params, np.full(len(params), low), np.full(len(params), high))

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The rate rounded down, or the whole number of the region nearest to it."""
        return np.clip(np.floor(np.exp(params[:, 0])), *whole_limits(region))

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """The quantile at `uniform`."""
        uniform = np.minimum(uniform, LAST_UNIFORM)
        if region is None:
            return _draw(params, uniform)
        return _draw_within(params, uniform, *whole_limits(region))

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """Mean and standard deviation, both from the rate; within a region those of its counts.

        Where the region is impossible they are those of the count nearest the rate.
        """
        if region is None:
            return plain_moments(np.exp(params[:, 0]), np.exp(params[:, 0] / 2))
        return moments_within(params[:, 0], self.mode(params, region), *whole_limits(region))

    def entropy(self, params: Floats) -> Floats:
        """The entropy: a sum, or for a large rate its asymptotic expansion."""
        rate = np.exp(params[:, 0])
        small = np.minimum(rate, MANY)
        count = np.arange(np.ceil(small.max(initial=0.0) + 12 * np.sqrt(small.max(initial=0.0))) + 30)
        log_p = _log_prob(np.minimum(params, log(MANY)), count[None])
        p = np.exp(log_p)
        summed = -(p * np.where(p > 0, log_p, 0.0)).sum(axis=1)
        r = np.maximum(rate, MANY)
        expanded = 0.5 * np.log(2 * pi * e * r) - 1 / (12 * r) - 1 / (24 * r**2) - 19 / (360 * r**3)
        return np.where(rate < MANY, summed, expanded)


def whole_limits(region: Region | None) -> tuple[float, float]:
    """The first and last whole number of a region."""
    low, high = limits(region)
    return max(0.0, float(np.ceil(low))), float(np.floor(high))


def _log_prob(params: Floats, count: Floats) -> Floats:
    """The log-probability of whole numbers; -inf for negative ones. Shape (leaves, rows)."""
    seen = np.maximum(count, 0.0)
    log_rate = np.maximum(params, LEAST_LOG_RATE)
    with np.errstate(over="ignore"):
        log_p = seen * log_rate - np.exp(params) - _log_factorials()[np.minimum(seen, LARGE).astype(np.int64)]
    if (seen > LARGE).any():
        log_p = np.where(seen > LARGE, _log_prob_of_large(params, seen), log_p)
    impossible = (count < 0) | ((seen > 0) & (params == -np.inf))
    return np.where(impossible, -np.inf, log_p)


def _log_prob_of_large(params: Floats, count: Floats) -> Floats:
    """The log-probability of large numbers by Stirling's formula, without cancellation."""
    k = np.maximum(count, LARGE)
    excess = (np.exp(params) - k) / k
    with np.errstate(divide="ignore"):  # at rate zero the deviance is infinite
        deviance = k * (excess - np.log1p(excess))
    return -deviance - 0.5 * np.log(2 * pi * k) - (1 / k) / 12 + (1 / k) ** 3 / 360


def _log_mass(params: Floats, low: Floats, high: Floats) -> Floats:
    """The log-probability of the whole numbers from `low` to `high`. Shapes (leaves,)."""
    rate = np.exp(params[:, 0])
    first, last = np.clip(low, 0.0, LARGEST), np.minimum(high, LARGEST) + 1
    before, after = _log_tail(params, first), _log_tail(params, last)
    right, left = first > rate, last <= rate
    inner, outer = np.where(right, before, after), np.where(right, after, before)
    with np.errstate(divide="ignore", invalid="ignore"):  # of the branches that are not taken
        tail = inner + np.log(-np.expm1(np.minimum(outer - inner, 0.0)))
        middle = np.log1p(-np.minimum(np.exp(before) + np.exp(after), 1.0))
    mass = np.where(right | left, np.where(inner > -np.inf, tail, -np.inf), middle)
    return np.where(last > first, mass, -np.inf)


def _log_tail(params: Floats, split: Floats) -> Floats:
    """The log of P(count >= split) where the split is above the rate, else of P(count < split).

    Shape (leaves,). Both are incomplete gamma integrals. With t = rate * exp(-+s) the integrand is greatest
    at s = 0 and falls off smoothly, so that a fixed rule has all digits however small the tail.
    """
    rate, possible, split = np.exp(params[:, 0]), split > 0, np.maximum(split, 1.0)
    sign = np.where(split > rate, -1.0, 1.0)
    slope = np.maximum(np.abs(split - rate), TINY)
    reach = _reach(rate, slope, sign)
    s = reach[:, None] * POINTS
    fall = slope[:, None] * s + rate[:, None] * _curvature(s, sign[:, None])
    integral = np.log(reach) + np.log(np.exp(-fall) @ SHARES)
    at_split = _log_prob(params, split[:, None])[:, 0] + np.log(split)
    return np.where(possible, np.minimum(at_split + integral, 0.0), -np.inf)


def _curvature(s: Floats, sign: Floats) -> Floats:
    """exp(sign s) - 1 - sign s: what the exponent of the tail's integrand adds to a straight line."""
    return np.expm1(sign * s) - sign * s


def _reach(rate: Floats, slope: Floats, sign: Floats) -> Floats:
    """An s from which on the tail's integrand is negligible, and not much further. Shape (leaves,).

    The exponent is convex, so that Newton's steps from beyond the answer stay beyond it.
    """
    rate = np.maximum(rate, TINY)
    down = (NEGLIGIBLE + np.sqrt(NEGLIGIBLE**2 + 8 * NEGLIGIBLE * rate)) / (2 * rate)
    s = np.minimum(NEGLIGIBLE / slope, np.where(sign < 0, down, np.sqrt(2 * NEGLIGIBLE / rate)))
    for _ in range(6):
        surplus = slope * s + rate * _curvature(s, sign) - NEGLIGIBLE
        s = s - surplus / (slope + rate * sign * np.expm1(sign * s))
    return s


def _draw(params: Floats, uniform: Floats) -> Floats:
    """Quantiles; the continuous inverse may be one too high at a jump."""
    rate = np.exp(params[:, 0])
    busy = rate > BUSY
    calm = np.where(busy, 1.0, rate)
    count = np.maximum(np.ceil(special.pdtrik(uniform, calm)), 0.0)
    below = np.maximum(count - 1, 0.0)
    count = np.where(special.pdtr(below, calm) > uniform, below, count)
    count[busy] = _draw_within(params[busy], uniform[busy], 0.0, np.inf)
    return count


def _draw_within(params: Floats, uniform: Floats, low: float, high: float) -> Floats:
    """Quantiles of the counts between two limits, by bisection where there is mass to speak of."""
    rate = np.exp(params[:, 0])
    nearest = np.clip(np.floor(rate), low, high)
    reach = far_from(nearest, rate)
    lows, first, last = np.full(len(params), low), nearest - reach, nearest + reach
    first, last = np.maximum(first, low), np.minimum(last, high)
    mass = _log_mass(params, lows, np.full(len(params), high))
    aim = quiet_log(uniform) + mass
    while (first < last).any():
        middle = np.floor((first + last) / 2)
        enough = _log_mass(params, lows, middle) > aim
        first, last = np.where(enough, first, np.minimum(middle + 1, last)), np.where(enough, middle, last)
    return np.where(mass > -np.inf, first, nearest)
