"""Intervals of numbers: their ends, Gauss-Legendre points, and the masses of normal numbers in them."""

from math import log, tau

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.late import special
from tractable.circuit.leaves.finite import quiet_log
from tractable.data.evidence import Interval, Region

NEGLIGIBLE = 40.0  # what is exp(-40) times its peak may be left out of an integral

_points, _weights = np.polynomial.legendre.leggauss(80)
POINTS: Floats = (_points + 1) / 2  # (80,) ascending in (0, 1)
SHARES: Floats = _weights / 2  # (80,) sums to one

BRIEF = 0.5  # an interval this long, in sd and in lengths over which a tail falls, is integrated by a rule
BRIEF_POINTS, _brief_weights = np.polynomial.legendre.leggauss(7)
BRIEF_SHARES: Floats = _brief_weights / 2  # (7,) sums to one


def limits(region: Region | None) -> tuple[float, float]:
    """The two ends of an interval; infinite when there is no region."""
    if region is None:
        return -np.inf, np.inf
    assert isinstance(region, Interval)
    return region.low, region.high


def log_normal_between(first: Floats, last: Floats) -> Floats:
    """The log-probability that a standard normal number lies between two bounds, in either tail."""
    with np.errstate(over="ignore", invalid="ignore"):
        is_right = first + last > 0
        first, last = np.where(is_right, -last, first), np.where(is_right, -first, last)
        return _log_mass(first, last, last - first)


def log_normal_around(middle: Floats, half: Floats) -> Floats:
    """The log-probability of the interval from middle - half to middle + half, however narrow."""
    middle, half = np.broadcast_arrays(-np.abs(middle), half)
    with np.errstate(over="ignore", invalid="ignore"):
        return _log_mass(middle - half, middle + half, 2 * half)


def _log_mass(first: Floats, last: Floats, length: Floats) -> Floats:
    """The log-mass of intervals that lie more to the left.

    Short intervals are integrated by a Gauss rule, others are the difference of two tails on the left.
    """
    brief = length * np.maximum(1.0, -first) < BRIEF
    answer = np.empty(length.shape)
    answer[brief] = _log_brief_mass(first[brief], length[brief])
    answer[~brief] = _log_difference(first[~brief], last[~brief], length[~brief])
    return answer


def _log_brief_mass(first: Floats, length: Floats) -> Floats:
    """The log-mass of intervals, in sd, over which the density is smooth. Shape (intervals,)."""
    middle, half = first + length / 2, length / 2
    step = half[:, None] * BRIEF_POINTS
    inside = np.exp(-(middle[:, None] + 0.5 * step) * step) @ BRIEF_SHARES
    with np.errstate(over="ignore"):
        return quiet_log(length * inside) - 0.5 * middle**2 - 0.5 * log(tau)


def _log_difference(first: Floats, last: Floats, length: Floats) -> Floats:
    """The log-mass of longer intervals, in sd, which lie more to the left. Shape (intervals,)."""
    above, below = special.log_ndtr(last), special.log_ndtr(first)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        least = np.where(last < 0, last * length, 0.0)  # far out, the difference of logarithms has no digits
        fall = np.minimum(below - above, least)
        inside = np.log(-np.expm1(np.minimum(fall, 0.0)))
        return np.where(np.isneginf(above), -np.inf, above + inside)
