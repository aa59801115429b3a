"""Compiled loops over leaves and rows. Every kernel fills an array that its caller made."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.compiled import njit


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
