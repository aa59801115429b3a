"""Probabilities, tails and sums of negative binomial counts, accurate far out and for large parameters.

A leaf has a mean m and a dispersion r; parameters are (log m, log r), both finite here. Arrays are (leaves,)
or (leaves, points).
"""

import numpy as np
from scipy.special import betainc, expit, gammaln

from tractable.arrays import Floats
from tractable.leaves.finite import quiet_log
from tractable.leaves.intervals import NEGLIGIBLE, POINTS, SHARES

LARGEST = 1e100  # stands for an infinite count
MODERATE = 1e5  # counts and dispersions up to which scipy's beta integral has nearly all digits
VISIBLE = 1e-200  # a beta integral above this has not lost digits to underflow
CALM = 16.0  # from which on the series of Stirling's formula has all digits
GROWTH = 0.1  # a stretch of counts is at most this share of the distance to where their probability peaks
NEAR = 0.1  # a relative difference below which a logarithm is taken of the difference
HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)


def log_probability(log_mean: Floats, log_r: Floats, count: Floats) -> Floats:
    """The log-probability of counts from zero up, with a smooth curve between whole numbers.

    This is the saddle-point form of Loader (2000): two deviances and the errors of Stirling's formula, none
    of which is a difference of huge terms.
    """
    mean, r = np.exp(log_mean), np.exp(log_r)
    k = np.where(count > 0, count, 1.0)
    log_k, log_both, log_seen = np.log(k), np.logaddexp(log_mean, log_r), np.log(r + k)
    of_r = _deviance(r, (k - mean) / (r + mean), log_both - log_seen)
    of_k = _deviance(k, (mean / k - 1) / (1 + mean / r), log_k - log_mean + log_both - log_seen)
    stirling = _stirling_error(r + k) - _stirling_error(r) - _stirling_error(k)
    positive = stirling - of_r - of_k + 0.5 * (log_r - log_seen - log_k) - HALF_LOG_TAU
    return np.where(count > 0, positive, -r * (log_both - log_r))


def _deviance(x: Floats, excess: Floats, log_ratio: Floats) -> Floats:
    """x log(x / y) + y - x for y = x (1 + excess), of which log_ratio is log(x / y)."""
    near = np.abs(excess) < NEAR
    close = -np.log1p(np.where(near, excess, 0.0))
    return x * (np.where(near, close, log_ratio) + excess)


def _stirling_error(x: Floats) -> Floats:
    """log Gamma(x + 1) less Stirling's formula."""
    calm = np.maximum(x, CALM)
    square = 1 / (calm * calm)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / calm
    small = np.minimum(x, CALM)
    exact = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - HALF_LOG_TAU
    return np.where(x > CALM, series, exact)


def log_mass_between(log_mean: Floats, log_r: Floats, low: Floats, high: Floats) -> Floats:
    """The log-probability of the whole numbers from `low` to `high`. Shapes (leaves,)."""
    mean = np.exp(log_mean)
    first, last = np.clip(low, 0.0, LARGEST), np.minimum(high, LARGEST) + 1
    before, after = _log_tail(log_mean, log_r, first), _log_tail(log_mean, log_r, last)
    right, left = first > mean, last <= mean
    inner, outer = np.where(right, before, after), np.where(right, after, before)
    with np.errstate(divide="ignore", invalid="ignore"):  # of the branches that are not taken
        tail = inner + np.log(-np.expm1(np.minimum(outer - inner, 0.0)))
        middle = np.log1p(-np.minimum(np.exp(before) + np.exp(after), 1.0))
    mass = np.where(right | left, np.where(inner > -np.inf, tail, -np.inf), middle)
    one = log_probability(log_mean, log_r, first)  # of a single count the difference of tails has few digits
    mass = np.where((last == first + 1) | (mass < one), one, mass)
    return np.where(last > first, mass, -np.inf)


def _log_tail(log_mean: Floats, log_r: Floats, split: Floats) -> Floats:
    """The log of P(count >= split) where the split is above the mean, else of P(count < split).

    Both are incomplete beta integrals: scipy's where they are moderate, else by a fixed rule.
    """
    mean, r = np.exp(log_mean), np.exp(log_r)
    possible, split = split > 0, np.maximum(split, 1.0)
    right = split > mean
    odds = log_mean - log_r
    success, failure = expit(odds), expit(-odds)
    calm = (split < MODERATE) & (r < MODERATE) & (r > 1 / MODERATE)
    a, b = np.where(calm, split, 1.0), np.where(calm, r, 1.0)
    found = np.where(right, betainc(a, b, success), betainc(b, a, failure))
    known = calm & (found > VISIBLE)
    answer = quiet_log(found)
    if not known.all():
        rest = ~known
        sign = np.where(right, -1.0, 1.0)[rest]
        answer[rest] = _integrated_tail(log_mean[rest], log_r[rest], split[rest], sign)
    return np.where(possible, np.minimum(answer, 0.0), -np.inf)


def _integrated_tail(log_mean: Floats, log_r: Floats, split: Floats, sign: Floats) -> Floats:
    """The log of a tail by Gauss and Legendre's rule.

    With t = logistic(log odds -+ s) the integrand of the beta integral is greatest at s = 0 and falls off
    smoothly, so that a fixed rule has all digits however small the tail.
    """
    r, success = np.exp(log_r), expit(log_mean - log_r)
    reach = _tail_reach(np.exp(log_mean), r, success, split, sign)
    s = reach[:, None] * POINTS
    fall = _fall(s, r[:, None], success[:, None], split[:, None], sign[:, None])
    integral = np.log(reach) + np.log(np.exp(-np.maximum(fall, 0.0)) @ SHARES)
    return log_probability(log_mean, log_r, split) + np.log(split) + integral


def _fall(s: Floats, r: Floats, success: Floats, split: Floats, sign: Floats) -> Floats:
    """By how much the logarithm of the tail's integrand has fallen at s; a convex function."""
    return (split + r) * _log_growth(s, success, sign) - sign * split * s


def _log_growth(s: Floats, success: Floats, sign: Floats) -> Floats:
    """log(1 - p + p exp(sign s))."""
    up = np.where(sign > 0, s, 0.0)  # the greater of the two terms is taken out, so that none overflows
    down = np.where(sign > 0, 0.0, s)
    falling = np.log1p(success * np.expm1(-down))
    small = np.log1p(success * np.expm1(np.minimum(up, 1.0)))
    large = up + np.log(success + (1 - success) * np.exp(-up))
    return np.where(sign > 0, np.where(up < 1, small, large), falling)


def _tail_reach(mean: Floats, r: Floats, success: Floats, split: Floats, sign: Floats) -> Floats:
    """An s from which on the tail's integrand is negligible, and not much further.

    The start is beyond the answer by three bounds, and the fall is convex, so that Newton's steps stay there.
    """
    with np.errstate(over="ignore", divide="ignore"):
        slope = np.abs(split - mean) / (1 + mean / r)
        right, left = np.log1p(mean / r) + 1 + NEGLIGIBLE / split, np.log1p(r / mean) + 1 + NEGLIGIBLE / r
        bend = np.sqrt(2 * np.e * NEGLIGIBLE / ((split + r) * success * (1 - success)))
        s = np.minimum(np.where(sign < 0, right, left), NEGLIGIBLE / slope)
    s = np.where((bend < 1) & (sign < 0), np.minimum(s, bend), s)
    for _ in range(30):
        grown = success * np.exp(sign * s - _log_growth(s, success, sign))
        steep = np.maximum(sign * ((split + r) * grown - split), slope)
        surplus = _fall(s, r, success, split, sign) - NEGLIGIBLE
        s = s - np.maximum(surplus, 0.0) / np.maximum(steep, np.finfo(float).tiny)
    return s


def reach_from(log_mean: Floats, log_r: Floats, nearest: Floats, sign: float) -> Floats:
    """How many steps up or down from the most probable counts all others are negligible. Shape (leaves,)."""
    top = log_probability(log_mean, log_r, nearest)
    step = np.ones(nearest.size)
    while True:
        at = nearest + sign * step
        with np.errstate(invalid="ignore"):
            there = log_probability(log_mean, log_r, np.maximum(at, 0.0))
        short = (top - there < NEGLIGIBLE + 5) & (at > 0) & (step < LARGEST)
        if not short.any():
            return step
        step = np.where(short, 2 * step, step)


def stretches(nearest: Floats, first: Floats, last: Floats) -> tuple[Floats, Floats]:
    """Counts from first to last cut into stretches, short near zero and near `nearest`.

    The answers are the steps from `nearest` to the first count of each stretch, and its size, which is zero
    behind the last. Shapes (leaves, stretches).
    """
    least = np.maximum(1.0, np.floor(last * 2.0**-50))
    at, starts, sizes = first, [first - nearest], [np.zeros(first.size)]
    while (at <= last).any():
        size = np.floor(GROWTH * np.minimum(at + 1, np.abs(at - nearest)))
        size = np.minimum(np.maximum(size, least), np.maximum(last - at + 1, 0.0))
        starts.append(at - nearest)
        sizes.append(size)
        at = at + np.where(at <= last, np.maximum(size, least), 0.0)
    return np.stack(starts, axis=1), np.stack(sizes, axis=1)
