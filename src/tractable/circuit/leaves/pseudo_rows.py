"""The smoothing of numeric leaves by pseudo-rows.

The pseudo-rows of a group lie at the group's own mean and spread as much as values do within all groups
together, so that smoothing neither moves a group nor widens it, however far apart the groups are. Mean and
spread of the pseudo-rows are themselves shrunk towards those of the whole column, by a tenth of the
pseudo-counts: a group of a row or two has a finite spread, and one of no rows is like the column.

Arrays are (..., groups): the weight of a group's rows, and their sums of values and squares.
"""

import numpy as np

from tractable.base.arrays import Floats

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
