"""Means and standard deviations without loss of precision for large numbers.

A standard deviation is a double wherever the numbers are, unlike its square. And a mean far from zero has few
digits of a small distance, so it is kept together with what its rounding takes away.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.late import special
from tractable.circuit.leaves.intervals import NEGLIGIBLE, POINTS, SHARES


class LeafMoments(NamedTuple):
    """The mean of each leaf, its standard deviation, and the rounding error of the mean."""

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


# ---- Moments of a mapped normal distribution that is limited to an interval, accurate far out and in
#      short ones.
#
# All lengths are counted in sd from the anchor, the point of the interval that is nearest to the mean,
# and all densities relative to that of the anchor.


MAX_SD_OUT = 1e300  # stands for an overflow
SHORT = 2.0  # pieces of at most so many sd are integrated by few points, because differences lose digits

_points, _weights = np.polynomial.legendre.leggauss(28)
_FEW_POINTS: Floats = (_points + 1) / 2
_FEW_SHARES: Floats = _weights / 2


class _Window(NamedTuple):
    """The part of an interval that counts, in sd from its anchor."""

    anchor: Floats
    out: Floats  # how many sd the anchor lies above the mean
    start: Floats  # at most zero
    end: Floats  # at least zero


def _window(mean: Floats, sd: Floats, low: Floats, high: Floats) -> _Window:
    anchor = np.clip(mean, low, high)
    with np.errstate(over="ignore"):
        out = np.clip((anchor - mean) / sd, -MAX_SD_OUT, MAX_SD_OUT)
        reach = 2 * NEGLIGIBLE / (np.hypot(out, np.sqrt(2 * NEGLIGIBLE)) + np.abs(out))
        start = np.maximum((low - anchor) / sd, -reach)
        end = np.minimum((high - anchor) / sd, reach)
    return _Window(anchor, out, start, end)


def _density(out: Floats, step: Floats) -> Floats:
    """The density at `step` sd from an anchor that is `out` sd above the mean, relative to the anchor's."""
    return np.exp(-(out + 0.5 * step) * step)


def quadrature_moments(
    inverse: Callable[[Floats], Floats], breaks: Floats, mean: Floats, sd: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Mean and standard deviation of inverse(z), where z is normal and limited to [low, high].

    `inverse` takes (..., pieces, points) and is smooth between the ascending `breaks` (..., pieces - 1).
    """
    mean, sd, low, high = np.broadcast_arrays(mean, sd, low, high)
    window = _window(mean, sd, low, high)
    start, end = _divide(window, (breaks - window.anchor[..., None]) / sd[..., None])
    step = start[..., None] + (end - start)[..., None] * POINTS
    share = _density(window.out[..., None, None], step) * SHARES * (end - start)[..., None]
    total = share.sum(axis=(-2, -1))
    share /= np.where(total > 0, total, 1.0)[..., None, None]
    centre = inverse(window.anchor[..., None, None])
    x = inverse(window.anchor[..., None, None] + sd[..., None, None] * step) - centre
    flat = (*total.shape, -1)
    mean_x, sd = weighted_spread(np.reshape(share, flat), np.reshape(x, flat))
    return centre[..., 0, 0] + mean_x, sd


def _divide(window: _Window, breaks: Floats) -> tuple[Floats, Floats]:
    """Starts and ends of the parts of a window between breaks, all in sd. Shapes (..., pieces)."""
    inner = np.clip(breaks, window.start[..., None], window.end[..., None])
    shape = (*inner.shape[:-1], 1)
    first = np.broadcast_to(window.start[..., None], shape)
    last = np.broadcast_to(window.end[..., None], shape)
    return np.concatenate([first, inner], axis=-1), np.concatenate([inner, last], axis=-1)


def piece_moments(
    at: Floats, value: Floats, slope: Floats, mean: Floats, sd: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Mean and standard deviation of a broken line of z, where z is normal and limited to [low, high].

    Piece i is the line through (at, value) with that slope; it begins at `at`, and the first piece at minus
    infinity. Shapes (..., pieces).
    """
    mean, sd, low, high = np.broadcast_arrays(mean, sd, low, high)
    window = _window(mean, sd, low, high)
    start, end = _divide(window, (at[..., 1:] - window.anchor[..., None]) / sd[..., None])
    mass, first, second = _piece_integrals(window.out[..., None], start, end)
    total = mass.sum(axis=-1)
    safe = np.where(total > 0, total, 1.0)
    line = value + slope * (window.anchor[..., None] - at)  # of each piece, continued to the anchor
    home = (at[..., 1:] <= window.anchor[..., None]).sum(axis=-1, keepdims=True)
    centre = np.take_along_axis(np.broadcast_to(line, mass.shape), home, axis=-1)
    rise = slope * sd[..., None]
    mean_x = ((line - centre) * mass + rise * first).sum(axis=-1) / safe
    gap = np.where(mass > 0, line - centre - mean_x[..., None], 0.0)
    unit = np.maximum(np.abs(gap), np.abs(rise) * (mass > 0)).max(axis=-1, keepdims=True)
    unit = np.where(unit > 0, unit, 1.0)
    gap, rise = gap / unit, rise / unit  # so that their squares are doubles
    variance = (gap**2 * mass + 2 * gap * rise * first + rise**2 * second).sum(axis=-1) / safe
    return centre[..., 0] + mean_x, unit[..., 0] * np.sqrt(np.maximum(variance, 0.0))


def _piece_integrals(out: Floats, start: Floats, end: Floats) -> tuple[Floats, Floats, Floats]:
    """Integrals of the relative density, and of it times the step and the step's square."""
    step = start[..., None] + (end - start)[..., None] * _FEW_POINTS
    share = _density(out[..., None], step) * _FEW_SHARES * (end - start)[..., None]
    few = [(share * step**power).sum(axis=-1) for power in (0, 1, 2)]
    near = np.clip(out, -30.0, 30.0)  # a window further out is short
    side = np.where(near + start > 0, -1.0, 1.0)  # a right tail is a left one, mirrored
    upper, lower = special.ndtr(side * (near + end)), special.ndtr(side * (near + start))
    mass = np.sqrt(2 * np.pi) * side * (upper - lower) * np.exp(0.5 * near**2)
    left, right = _density(near, start), _density(near, end)
    first = left - right - near * mass
    second = mass + start * left - end * right - near * first
    is_short = end - start <= SHORT
    closed = (mass, first, second)
    mass, mean, spread = (np.where(is_short, f, c) for f, c in zip(few, closed, strict=True))
    return mass, mean, spread
