"""The step to which numbers were rounded, read from the numbers themselves."""

import numpy as np

from tractable.base.arrays import Floats

SAMPLE = 4096  # numbers that are looked at
REPEATED = 0.5  # of the weight: with fewer distinct values than that, numbers count as rounded
EQUAL = 1e-12  # a difference that is a smaller part of the largest number is rounding of doubles
CELL_VARIANCE = 1 / 12  # the variance within a cell of width one


def rounding_step(x: Floats, weight: Floats) -> float:
    """The least difference of two of the numbers where values repeat; zero where they do not.

    A leaf much narrower than that would tell of the rounding and not of the column.
    """
    every = max(1, x.size // SAMPLE)
    some, total = x[::every], float(weight[::every].sum())
    distinct = np.unique(some)
    if not 1 < distinct.size < REPEATED * total:
        return 0.0
    with np.errstate(over="ignore"):
        gap = np.diff(distinct)
    least = float(gap[gap > EQUAL * np.abs(distinct).max()].min(initial=np.inf))
    return least if np.isfinite(least) else 0.0
