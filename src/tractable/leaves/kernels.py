"""Compiled loops over leaves and rows. Every kernel fills an array that its caller made."""

import numpy as np

from tractable.arrays import Floats
from tractable.compiled import njit


@njit(cache=True, nogil=True)
def piece_values(params: Floats, dense: Floats, norm: Floats, x: Floats, value: Floats) -> None:
    """Fill the log-densities of pieces, (leaves, rows); `x` has a line for each leaf or a single one.

    `dense` are the denser ends of the intervals, `norm` the logarithms of the integrals.
    """
    for leaf in range(value.shape[0]):
        low, high, slope = params[leaf, 0], params[leaf, 1], params[leaf, 2]
        line = leaf if x.shape[0] > 1 else 0
        for row in range(value.shape[1]):
            number = x[line, row]
            if low <= number < high:
                value[leaf, row] = slope * (number - dense[leaf]) - norm[leaf]
            else:
                value[leaf, row] = -np.inf
