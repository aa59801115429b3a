"""Compiled loops over distances: no objects and no choices of policy."""

import numpy as np
from numba import njit

from tractable.arrays import Floats


@njit(cache=True, nogil=True)
def compare(distance: Floats, reach: float, spread: Floats, offset: Floats) -> None:
    """Fill `spread` and `offset`, both (nodes, nodes), with how i and j differ in their distances to others.

    `offset[i, j]` is the mean of distance[i, k] - distance[j, k] over the nodes k that both reach, `spread[i, j]`
    the greatest less the smallest of them: infinite where fewer than two are reached, but for three nodes.
    """
    n = distance.shape[0]
    for i in range(n):
        spread[i, i], offset[i, i] = 0.0, 0.0
        for j in range(i):
            low, high, total, seen = np.inf, -np.inf, 0.0, 0
            for k in range(n):
                if k != i and k != j and distance[i, k] < reach and distance[j, k] < reach:
                    differ = distance[i, k] - distance[j, k]
                    low, high, total, seen = min(low, differ), max(high, differ), total + differ, seen + 1
            spread[i, j] = spread[j, i] = high - low if seen >= min(2, n - 2) else np.inf
            offset[i, j] = total / seen if seen else 0.0
            offset[j, i] = -offset[i, j]
