"""Means and standard deviations that keep their digits wherever the numbers lie and however large they are.

A standard deviation is a double wherever the numbers are, unlike its square. And a mean far from zero has few
digits of a small distance, so it is kept together with what its rounding takes away.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats


class LeafMoments(NamedTuple):
    """The mean of each leaf, its standard deviation, and what the mean lacks of the exact one."""

    mean: Floats  # (leaves,)
    sd: Floats  # (leaves,)
    rest: Floats  # (leaves,) less than half of the distance between doubles at the mean


def plain_moments(mean: Floats, sd: Floats) -> LeafMoments:
    """The moments where the mean needs no more digits than a double has."""
    return LeafMoments(mean, sd, np.zeros_like(mean))


def moments_from(origin: Floats, step: Floats, sd: Floats) -> LeafMoments:
    """The moments of which the mean lies some step away from a number."""
    mean = origin + step
    back = mean - origin
    rest = (origin - (mean - back)) + (step - back)
    return LeafMoments(mean, sd, np.where(np.isfinite(rest), rest, 0.0))


def weighted_spread(share: Floats, x: Floats) -> tuple[Floats, Floats]:
    """The mean and the standard deviation of numbers with shares that add up to one, over the last axis.

    No square overflows or vanishes, because squares are taken of numbers divided by the largest distance.
    Numbers without a share do not count.
    """
    x = np.where(share > 0, x, 0.0)
    mean = (share * x).sum(axis=-1, keepdims=True)
    away = np.where(share > 0, x - mean, 0.0)
    unit = np.abs(away).max(axis=-1, keepdims=True, initial=0.0)
    unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)
    away /= unit
    variance = (share * away**2).sum(axis=-1) - (share * away).sum(axis=-1) ** 2
    return mean[..., 0], unit[..., 0] * np.sqrt(np.maximum(variance, 0.0))


def quadratic_mean(share: Floats, x: Floats) -> Floats:
    """The root of the mean square of numbers from zero up, with shares, over the last axis."""
    x = np.where(share > 0, x, 0.0)
    unit = x.max(axis=-1, keepdims=True, initial=0.0)
    unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)
    return np.asarray(unit[..., 0] * np.sqrt((share * (x / unit) ** 2).sum(axis=-1)))
