"""Sums over whole numbers within limits, weighted by the probabilities of a Poisson leaf."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.late import special
from tractable.circuit.leaves.finite import quiet_log, shares
from tractable.circuit.leaves.intervals import NEGLIGIBLE
from tractable.circuit.leaves.moments import LeafMoments, moments_from, weighted_spread

STRETCHES = 128  # into which the counts within limits are cut
LARGE = 1e3  # counts from which on Stirling's formula has all the digits that count
LEAST_LOG_RATE = -1e300  # stands for -inf, of which no multiple is NaN
TINY = 1e-300  # stands for zero where we divide


def moments_within(log_rate: Floats, nearest: Floats, low: float, high: float) -> LeafMoments:
    """Mean and standard deviation of the counts within limits, of which `nearest` are the most probable.

    All is reckoned in steps from the nearest count, so that no digit is lost however large
    the counts are.
    """
    step, counts = whole_points(nearest, *_ends(log_rate, nearest, low, high))
    share = shares(_log_ratio(log_rate, nearest, step) + quiet_log(counts))
    return whole_moments(nearest, share, step, low, high)


def whole_moments(nearest: Floats, share: Floats, step: Floats, low: float, high: float) -> LeafMoments:
    """The moments of counts some steps from the nearest; rounding takes no mean out of the limits."""
    middle, sd = weighted_spread(share, step)
    return moments_from(nearest, np.clip(middle, low - nearest, high - nearest), sd)


def far_from(nearest: Floats, rate: Floats) -> Floats:
    """How many steps from the count nearest the rate all others are negligible. Shape (leaves,)."""
    return np.ceil(12 * np.sqrt(np.maximum(nearest, rate)) + 60)


def _ends(log_rate: Floats, nearest: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """The first and last of the counts within the limits that are not negligible. Shapes (leaves,).

    Going away from the nearest one, the first step is the least; its log is a difference to the log rate.
    """
    far = far_from(nearest, np.exp(log_rate))
    rate = np.maximum(log_rate, LEAST_LOG_RATE)
    left = np.minimum(far, _negligible_after(rate - np.log(np.maximum(nearest, TINY))))
    right = np.minimum(far, _negligible_after(np.log(nearest + 1) - rate))
    first, last = np.maximum(nearest - left, low), np.minimum(nearest + right, high)
    return np.minimum(first, nearest), np.maximum(last, nearest)  # there may be no count within the limits


def _negligible_after(fall: Floats) -> Floats:
    """After how many steps, each by a factor of exp(-fall) or less, all is negligible. Shape (leaves,)."""
    return np.ceil(NEGLIGIBLE / np.maximum(fall, TINY))


def whole_points(nearest: Floats, first: Floats, last: Floats) -> tuple[Floats, Floats]:
    """Points that stand for all counts from first to last, as steps from `nearest`, and for how many each.

    Shapes (leaves, points). The counts are cut into stretches, and each has the three points of the Gauss
    rule for equally spaced values: the sum over it is exact for a polynomial of the fifth degree, and for
    anything where it has three counts or fewer.
    """
    size, longer = (part[:, None] for part in np.divmod(last - first + 1, STRETCHES))
    stretch = np.arange(STRETCHES)
    n = size + (stretch < longer)
    return stretch_points((first - nearest)[:, None] + stretch * size + np.minimum(stretch, longer), n)


def stretch_points(start: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Three points for each stretch of n counts from `start`, and how many counts each stands for."""
    middle = start + (n - 1) / 2
    inner, outer = np.maximum(n**2 - 1, 0.0) / 12, np.maximum(n**2 - 4, 0.0) / 15
    side = n * inner / np.maximum(inner + outer, TINY) / 2
    away = np.sqrt(inner + outer)
    return np.hstack([middle - away, middle, middle + away]), np.hstack([side, n - 2 * side, side])


def _log_ratio(log_rate: Floats, nearest: Floats, step: Floats) -> Floats:
    """The log of how probable counts some steps away are beside the nearest one. Shape (leaves, points).

    Between whole numbers a gamma function stands for the factorial; of large ones only the difference of
    two of Stirling's formulas is taken.
    """
    rate, near = np.maximum(log_rate, LEAST_LOG_RATE)[:, None], nearest[:, None]
    step = np.maximum(step, -near)
    small, large = np.minimum(near, LARGE), np.maximum(near, LARGE)
    gamma = special.gammaln(np.maximum(small + step, 0.0) + 1) - special.gammaln(small + 1)
    away = large + step
    stirling = (away + 0.5) * np.log1p(step / large) - step + (1 / away - 1 / large) / 12
    with np.errstate(over="ignore"):
        return np.where(near > LARGE, step * (rate - np.log(large)) - stirling, step * rate - gamma)


# ---- the smoothing of numeric leaves by pseudo-rows -----------------------------------------------------
#
# The pseudo-rows of a group lie at the group's own mean and spread as much as values do within all groups
# together, so that smoothing neither moves a group nor widens it, however far apart the groups are. Mean
# and spread of the pseudo-rows are themselves shrunk towards those of the whole column, by a tenth of the
# pseudo-counts: a group of a row or two has a finite spread, and one of no rows is like the column.
#
# Arrays are (..., groups): the weight of a group's rows, and their sums of values and squares.


SHARE = 0.1  # of the pseudo-counts, by which the pseudo-rows are shrunk towards the whole column


def scatter(seen: Floats, total: Floats, square: Floats) -> Floats:
    """The sum of the squared distances from each group's mean."""
    mean = total / np.where(seen > 0, seen, 1.0)
    return np.maximum(square - total * mean, 0.0)


def pooled_variance(seen: Floats, scattered: Floats) -> Floats:
    """The variance within all groups together, over the last axis, which is kept."""
    weight = seen.sum(axis=-1, keepdims=True)
    return np.asarray(scattered.sum(axis=-1, keepdims=True) / np.where(weight > 0, weight, 1.0))


def pseudo_means(seen: Floats, total: Floats, smoothing: float, overall: Floats | float) -> Floats:
    """The mean of each group's pseudo-rows."""
    weak = SHARE * smoothing
    weight = seen + weak
    return np.where(weight > 0, (total + weak * overall) / np.where(weight > 0, weight, 1.0), overall)


def pseudo_squares(
    seen: Floats, mean: Floats, within: Floats, smoothing: float, variance: Floats | float
) -> Floats:
    """The mean square of each group's pseudo-rows; `variance` is that of the whole column."""
    return mean**2 + pseudo_means(seen, seen * within, smoothing, variance)
