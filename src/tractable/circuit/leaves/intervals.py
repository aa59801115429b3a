"""Intervals of numbers, and Gauss-Legendre points for the integrals over them."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.data.regions import Interval, Region

NEGLIGIBLE = 40.0  # what is exp(-40) times its peak may be left out of an integral

_points, _weights = np.polynomial.legendre.leggauss(80)
POINTS: Floats = (_points + 1) / 2  # (80,) ascending in (0, 1)
SHARES: Floats = _weights / 2  # (80,) sums to one


def limits(region: Region | None) -> tuple[float, float]:
    """The two ends of an interval; infinite when there is no region."""
    if region is None:
        return -np.inf, np.inf
    assert isinstance(region, Interval)
    return region.low, region.high
