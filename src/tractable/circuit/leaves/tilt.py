"""The exponential density on an interval, measured from its denser end.

`rate` is at least zero and `width` may be infinite; all functions are of arrays of the same shape. Where
their product is tiny the exponential is as good as flat, and the formulas become series.
"""

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.base.compiled import njit

# ---- compiled loops over leaves and rows. Every kernel fills an array that its caller made --------------


@njit(cache=True, nogil=True)
def piece_values(params: Floats, dense: Floats, norm: Floats, x: Floats, value: Floats) -> None:
    """Fill the log-densities of pieces, (leaves, rows); `x` has a line for each leaf or a single one.

    `dense` are the denser ends of the intervals, `norm` the logarithms of the integrals.
    """
    for leaf in range(value.shape[0]):
        low, high, slope = params[leaf, 0], params[leaf, 1], params[leaf, 2]
        top, less = dense[leaf], norm[leaf]
        cells, line = x[leaf if x.shape[0] > 1 else 0], value[leaf]
        for row in range(line.size):  # without a branch, so that it fills vector lanes
            inside = (low <= cells[row]) & (cells[row] < high)
            found = slope * (cells[row] - top) - less
            line[row] = found if inside else -np.inf


MAX_TILT = 500.0  # rate times width at most, of a fitted interval
STEEP = 40.0  # rate times width from which on the end of the interval is not felt
FLAT = 0.3  # rate times width below which series have all digits
STEPS = 60  # of Newton's method at most
TINY = 1e-300  # stands for zero where we divide


def log_integral(rate: Floats, width: Floats) -> Floats:
    """The log of the integral of exp(-rate u) for u from zero to the width; -inf where that is zero."""
    tilt, steep = _tilt(rate, width)
    bent = np.where(tilt > TINY, -np.expm1(-tilt) / np.maximum(tilt, TINY), 1.0)
    with np.errstate(divide="ignore"):
        return np.where(steep, -np.log(np.maximum(rate, TINY)), np.log(_finite(width, steep)) + np.log(bent))


def quantile(rate: Floats, width: Floats, uniform: Floats) -> Floats:
    """The distance from the denser end below which there is the share `uniform` of the mass."""
    tilt, steep = _tilt(rate, width)
    with np.errstate(divide="ignore"):
        into = np.where(tilt > TINY, -np.log1p(uniform * np.expm1(-tilt)) / np.maximum(tilt, TINY), uniform)
        open_ended = -np.log1p(-uniform) / np.maximum(rate, TINY)
    return np.minimum(np.where(steep, open_ended, into * _finite(width, steep)), width)


def distance_moments(rate: Floats, width: Floats) -> tuple[Floats, Floats]:
    """The mean and the standard deviation of the distance from the denser end."""
    tilt, steep = _tilt(rate, width)
    length = np.where(steep, 1 / np.maximum(rate, TINY), _finite(width, steep))
    mean = np.where(steep, 1.0, mean_share(tilt))
    return length * mean, length * np.sqrt(np.where(steep, 1.0, variance_share(tilt)))


def mean_share(tilt: Floats) -> Floats:
    """The mean distance as a share of the width: one half for a tilt of zero, falling to zero."""
    t, s = np.maximum(tilt, FLAT), np.minimum(tilt, FLAT)
    series = 0.5 - s / 12 + s**3 / 720 - s**5 / 30240 + s**7 / 1209600 - s**9 / 47900160
    with np.errstate(over="ignore"):
        return np.where(tilt < FLAT, series, 1 / t - 1 / np.expm1(t))


def variance_share(tilt: Floats) -> Floats:
    """The variance of the distance as a share of the squared width; minus the slope of `mean_share`."""
    t, s = np.maximum(tilt, FLAT), np.minimum(tilt, FLAT)
    series = 1 / 12 - s**2 / 240 + s**4 / 6048 - s**6 / 172800 + s**8 / 5322240
    with np.errstate(over="ignore"):
        return np.where(tilt < FLAT, series, 1 / t**2 - 1 / (4 * np.sinh(np.minimum(t, 700) / 2) ** 2))


def tilt_of_mean(share: Floats) -> Floats:
    """The tilt at which the mean distance is this share, up to one half, of the width.

    The mean share falls and is convex in the tilt, so that Newton's steps from below stay below.
    """
    share = np.clip(share, 1 / MAX_TILT, 0.5)
    tilt = 12 * (0.5 - share)
    for _ in range(STEPS):
        step = (mean_share(tilt) - share) / variance_share(tilt)
        tilt = np.clip(tilt + step, 0.0, MAX_TILT)
        if (np.abs(step) <= 1e-13 * (1 + tilt)).all():
            break
    return tilt


def _tilt(rate: Floats, width: Floats) -> tuple[Floats, Bools]:
    """The rate times the width, limited, and where the end of the interval is not felt."""
    with np.errstate(invalid="ignore", over="ignore"):
        tilt = np.where((rate > 0) & (width > 0), rate * width, 0.0)
    return np.minimum(tilt, STEEP), tilt > STEEP


def _finite(width: Floats, steep: Bools) -> Floats:
    """The width, one where it does not matter and may be infinite."""
    return np.where(steep | ~np.isfinite(width), 1.0, width)
