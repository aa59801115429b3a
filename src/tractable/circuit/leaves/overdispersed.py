"""Probabilities, tails and sums of negative binomial counts, accurate far out and for large parameters.

A leaf has a mean m and a dispersion r; parameters are (log m, log r), both finite here. Arrays are (leaves,)
or (leaves, points).
"""

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.late import special
from tractable.circuit.leaves.finite import quiet_log
from tractable.circuit.leaves.intervals import NEGLIGIBLE, POINTS, SHARES

LARGEST = 1e100  # stands for an infinite count
HUGE = 1e280  # the probabilities of larger counts are not told apart
MODERATE = 1e5  # a dispersion up to which scipy's beta integral has nearly all digits
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
    k = np.where(count > 0, np.minimum(count, HUGE), 1.0)
    log_k, log_both, log_seen = np.log(k), np.logaddexp(log_mean, log_r), np.log(r + k)
    of_r = _deviance(r, (k - mean) / (r + mean), log_both - log_seen)
    of_k = _deviance(k, (mean / k - 1) / (1 + mean / r), log_k - log_mean + log_both - log_seen)
    stirling = _stirling_error(r + k) - _stirling_error(r) - _stirling_error(k)
    positive = stirling - of_r - of_k + 0.5 * (log_r - log_seen - log_k) - HALF_LOG_TAU
    return np.where(count > 0, positive, -r * np.where(mean < r, np.log1p(mean / r), log_both - log_r))


def _deviance(x: Floats, excess: Floats, log_ratio: Floats) -> Floats:
    """x log(x / y) + y - x for y = x (1 + excess), of which log_ratio is log(x / y)."""
    near = np.abs(excess) < NEAR
    close = -np.log1p(np.where(near, excess, 0.0))
    return x * (np.where(near, close, log_ratio) + excess)


def _stirling_error(x: Floats) -> Floats:
    """log Gamma(x + 1) less Stirling's formula."""
    calm = np.maximum(x, CALM)
    square = (1 / calm) ** 2
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / calm
    small = np.minimum(x, CALM)
    exact = special.gammaln(small + 1) - (small + 0.5) * np.log(small) + small - HALF_LOG_TAU
    return np.where(x > CALM, series, exact)


def log_mass_between(log_mean: Floats, log_r: Floats, low: Floats, high: Floats) -> Floats:
    """The log-probability of the whole numbers from `low` to `high`. Shapes (leaves,)."""
    first, last = np.clip(low, 0.0, LARGEST), np.minimum(high, LARGEST) + 1
    below_first, above_first = _log_tails(log_mean, log_r, first)
    below_last, above_last = _log_tails(log_mean, log_r, last)
    right = above_first < below_first
    inner, outer = np.where(right, above_first, below_last), np.where(right, above_last, below_first)
    with np.errstate(divide="ignore", invalid="ignore"):  # of the branches that are not taken
        tail = np.where(inner > -np.inf, inner + np.log(-np.expm1(np.minimum(outer - inner, 0.0))), -np.inf)
        middle = np.log1p(-np.minimum(np.exp(below_first) + np.exp(above_last), 1.0))
    mass = np.where(right | (below_last < above_last), tail, middle)
    one = log_probability(log_mean, log_r, first)  # of a single count a difference of tails has few digits
    mass = np.where((last == first + 1) | (mass < one), one, mass)
    return np.where(last > first, mass, -np.inf)


def _log_tails(log_mean: Floats, log_r: Floats, split: Floats) -> tuple[Floats, Floats]:
    """The logs of P(count < split) and of P(count >= split).

    Both are incomplete beta integrals: scipy's where r is moderate; else, and where those vanish, the lesser
    tail is integrated by a fixed rule.
    """
    r, odds = np.exp(log_r), log_mean - log_r
    at = np.maximum(split, 1.0)
    moderate = r < MODERATE
    a, b, rare = at, np.where(moderate, r, 1.0), odds < 0
    one, other = np.where(rare, a, b), np.where(rare, b, a)  # the argument is the lesser probability
    less = special.expit(-np.abs(odds))
    found, rest = special.betainc(one, other, less), special.betaincc(one, other, less)
    below, above = quiet_log(np.where(rare, rest, found)), quiet_log(np.where(rare, found, rest))
    right = np.where(moderate, above < below, at > np.exp(log_mean))
    lost = ~moderate | (np.where(right, above, below) < np.log(VISIBLE))
    if lost.any():
        sign = np.where(right, -1.0, 1.0)
        tail = np.zeros(at.size)
        tail[lost] = np.minimum(_integrated_tail(log_mean[lost], log_r[lost], at[lost], sign[lost]), 0.0)
        rest = quiet_log(-np.expm1(tail))
        below = np.where(lost, np.where(right, rest, tail), below)
        above = np.where(lost, np.where(right, tail, rest), above)
    return np.where(split > 0, below, -np.inf), np.where(split > 0, above, 0.0)


def _integrated_tail(log_mean: Floats, log_r: Floats, split: Floats, sign: Floats) -> Floats:
    """The log of a tail by Gauss and Legendre's rule; the split is beyond the mean.

    With t = logistic(log odds -+ s) the integrand of the beta integral is greatest at s = 0 and falls off
    smoothly, so that a fixed rule has all digits however small the tail.
    """
    r, odds = np.exp(log_r), log_mean - log_r
    reach = _tail_reach(r, odds, split, sign)
    s = reach[:, None] * POINTS
    fall = _fall(s, r[:, None], odds[:, None], split[:, None], sign[:, None])
    integral = np.log(reach) + np.log(np.exp(-np.maximum(fall, 0.0)) @ SHARES)
    return log_probability(log_mean, log_r, split) + np.log(split) + integral


def _fall(s: Floats, r: Floats, odds: Floats, split: Floats, sign: Floats) -> Floats:
    """By how much the logarithm of the tail's integrand has fallen at s; a convex function."""
    return split * _log_mean_power(-odds, -sign * s) + r * _log_mean_power(odds, sign * s)


def _log_mean_power(odds: Floats, power: Floats) -> Floats:
    """log(1 - p + p exp(power)) for the probability p of the log odds."""
    small = np.log1p(special.expit(odds) * np.expm1(np.clip(power, -1.0, 1.0)))
    large = np.logaddexp(0.0, odds + power) - np.logaddexp(0.0, odds)
    return np.where(np.abs(power) < 1, small, large)


def _tail_reach(r: Floats, odds: Floats, split: Floats, sign: Floats) -> Floats:
    """An s from which on the tail's integrand is negligible, and not much further.

    The start is beyond the answer by three bounds, and the fall is convex, so that Newton's steps stay there.
    """
    with np.errstate(over="ignore", divide="ignore"):
        slope = np.abs(split * special.expit(-odds) - r * special.expit(odds))
        ahead = np.logaddexp(0.0, -sign * odds) + 1 + NEGLIGIBLE / np.where(sign < 0, split, r)
        bend = np.sqrt(2 * np.e * NEGLIGIBLE / ((split + r) * special.expit(odds) * special.expit(-odds)))
        s = np.minimum(ahead, NEGLIGIBLE / slope)
    s = np.where(bend < 1, np.minimum(s, bend), s)
    for _ in range(8):
        steep = sign * (r * special.expit(odds + sign * s) - split * special.expit(-odds - sign * s))
        surplus = np.maximum(_fall(s, r, odds, split, sign) - NEGLIGIBLE, 0.0)
        s = s - surplus / np.maximum(steep, np.finfo(float).tiny)
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
