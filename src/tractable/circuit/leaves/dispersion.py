"""The maximum likelihood estimate of the dispersion of counts, and its significance.

A negative binomial count of mean m and dispersion r has the variance m + m^2 / r. Its excess, 1 / r, is zero
for a Poisson count, and it is what smoothing averages: a pseudo-count has the excess within all groups
together, by the rule of `pseudo_rows`.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.late import special
from tractable.circuit.leaves.counts import pseudo_means
from tractable.circuit.leaves.finite import overall_shares, quiet_log, state_weights
from tractable.circuit.leaves.overdispersed import log_probability
from tractable.circuit.leaves.poisson import MAX_LOG_RATE, Poisson

LEAST_LOG_R = -20.0
SLIGHT = 14.0  # a log r that exceeds the log mean by this is taken to be infinite: rows cannot tell
LARGE = 50.0  # from which on the differences of digamma functions are taken from a series
STEPS = 100  # at most, to find a dispersion


class CountGroups(NamedTuple):
    """The distinct counts of a column, and their weights in each group of rows."""

    value: Floats  # (values,) ascending
    weight: Floats  # (groups, values)

    @property
    def seen(self) -> Floats:
        """The weight of each group."""
        return np.asarray(self.weight.sum(axis=1))

    @property
    def total(self) -> Floats:
        """The sum of the counts of each group."""
        return np.asarray(self.weight @ self.value)


def count_groups(x: Floats, weight: Floats) -> CountGroups:
    """Counts `x` (rows,) that weigh `weight` (groups, rows) in each group."""
    value, place = np.unique(x, return_inverse=True)
    return CountGroups(value, state_weights(place, weight, value.size))


def fit_counts(groups: CountGroups, smoothing: float) -> Floats:
    """Smoothed parameters (log mean, log r) of each group. Shape (groups, 2)."""
    return _parameters(groups, most_likely_excess(groups), smoothing, _overall_mean(groups))


def preferred_counts(groups: CountGroups, smoothing: float, overall: float) -> Floats:
    """Negative binomial parameters of groups, with an infinite r (Poisson) unless the rows prefer another.

    `overall` is the mean of the whole column, to which means are shrunk. All groups decide together, by the
    Bayesian information criterion (BIC): a group of a few rows that cannot tell has the dispersion of the
    others.
    """
    excess = most_likely_excess(groups)
    spread = np.flatnonzero(excess > 0)
    if spread.size and _gain(groups, excess, spread) <= 0.5 * np.log(np.maximum(groups.seen, 1.0)).sum():
        excess = np.zeros(excess.size)
    return _parameters(groups, excess, smoothing, overall)


def _gain(groups: CountGroups, excess: Floats, spread: Ints) -> float:
    """By how many nats the rows of some groups are likelier than under Poisson distributions."""
    weight = groups.weight[spread]
    log_mean = quiet_log(groups.total[spread] / groups.seen[spread])[:, None]
    log_p = log_probability(log_mean, -quiet_log(excess[spread])[:, None], groups.value[None])
    return float((weight * (log_p - Poisson().log_prob(log_mean, groups.value[None]))).sum())


def _parameters(groups: CountGroups, excess: Floats, smoothing: float, overall: float) -> Floats:
    """Smoothed means and dispersions from those of maximum likelihood. Shape (groups, 2)."""
    seen = groups.seen
    everything = seen.sum()
    pooled = float(excess @ seen) / everything if everything > 0 else 0.0
    column = pooled
    if smoothing > 0 and len(seen) > 1 and pooled > 0:
        column = float(most_likely_excess(CountGroups(groups.value, groups.weight.sum(axis=0)[None]))[0])
    near = pseudo_means(seen, seen * pooled, smoothing, column)
    total = seen + smoothing
    smoothed = np.where(total > 0, (excess * seen + smoothing * near) / np.where(total > 0, total, 1.0), near)
    log_mean = Poisson().fit_sums(seen, groups.total, smoothing, overall)
    log_r = np.maximum(-quiet_log(smoothed), LEAST_LOG_R)
    return np.stack([log_mean, np.where(log_r > log_mean + SLIGHT, np.inf, log_r)], axis=1)


def _overall_mean(groups: CountGroups) -> float:
    return float(overall_shares(groups.weight) @ groups.value) if groups.value.size else 1.0


def most_likely_excess(groups: CountGroups) -> Floats:
    """The excess 1 / r of maximum likelihood; zero where the variance is not above the mean. (groups,).

    The mean of maximum likelihood is that of the rows whatever r is, and what is left has a single maximum
    (Levin and Reeds, 1977). Its slope, scaled to have a limit at both ends, is set to zero by false position.
    """
    seen = np.where(groups.seen > 0, groups.seen, 1.0)
    log_mean = np.minimum(quiet_log(groups.total / seen), MAX_LOG_RATE)
    answer = np.zeros(len(seen))
    varied = np.flatnonzero(_variance(groups) > np.exp(log_mean))
    part = CountGroups(groups.value, groups.weight[varied])
    low, high = np.full(varied.size, LEAST_LOG_R), log_mean[varied] + SLIGHT
    below, above = _slope(part, low), _slope(part, high)
    spread = above < 0
    if spread.any():
        chosen = varied[spread]
        part = CountGroups(groups.value, groups.weight[chosen])
        roots = _root(part, (low[spread], high[spread]), (below[spread], above[spread]))
        answer[chosen] = np.exp(-roots)
    return answer


def _variance(groups: CountGroups) -> Floats:
    seen = np.where(groups.seen > 0, groups.seen, 1.0)
    mean = groups.total / seen
    away = groups.value[None, :] - mean[:, None]
    return np.asarray((groups.weight * away**2).sum(axis=1) / seen)


def _root(groups: CountGroups, ends: tuple[Floats, Floats], slopes: tuple[Floats, Floats]) -> Floats:
    """Where the slope passes zero between two ends, by false position in the Illinois form. (groups,)."""
    (low, high), (below, above) = ends, slopes
    side = np.zeros(low.size)
    for _ in range(STEPS):
        apart = above != below  # slopes of groups that hardly any row belongs to underflow to the same zero
        where = (low * above - high * below) / np.where(apart, above - below, 1.0)
        middle = np.clip(np.where(apart, where, (low + high) / 2), low, high)
        slope = _slope(groups, middle)
        up = slope > 0
        above = np.where(up & (side > 0), above / 2, above)
        below = np.where(~up & (side < 0), below / 2, below)
        low, below = np.where(up, middle, low), np.where(up, slope, below)
        high, above = np.where(up, high, middle), np.where(up, above, slope)
        moved = np.abs(middle - np.where(up, high, low))
        side = np.where(up, 1.0, -1.0)
        if ((np.abs(slope) <= 1e-14 * groups.seen) | (moved < 1e-12)).all():
            break
    return np.asarray(middle)


def _slope(groups: CountGroups, log_r: Floats) -> Floats:
    """The derivative of the log-likelihood by r, times r (r + m). Shape (groups,)."""
    r = np.exp(log_r)[:, None]
    seen, mean = groups.seen, groups.total / groups.seen
    grown = (groups.weight * _digamma_difference(groups.value[None, :], r)).sum(axis=1)
    return np.asarray(r[:, 0] * (r[:, 0] + mean) * (grown - seen * np.log1p(mean / r[:, 0])))


def _digamma_difference(x: Floats, r: Floats) -> Floats:
    """digamma(x + r) - digamma(r) for x >= 0."""
    small, large = np.minimum(r, LARGE), np.maximum(r, LARGE)
    a, b = 1 / large, 1 / (large + x)
    series = np.log1p(x / large) + (a - b) / 2 + (a**2 - b**2) / 12 - (a**4 - b**4) / 120
    return np.where(
        r < LARGE, special.digamma(x + small) - special.digamma(small), series + (a**6 - b**6) / 252
    )
