"""Compiled loops over distances: no objects and no choices of policy."""

import numpy as np
from numba import njit

from tractable.arrays import Floats


@njit(cache=True, nogil=True)
def compare(distance: Floats, reach: float, bounds: Floats, spread: Floats, offset: Floats) -> None:
    """Fill `spread` and `offset`, both (nodes, nodes), with how i and j differ in their distances to others.

    `offset[i, j]` is the mean of distance[i, k] - distance[j, k] over the nodes k that both reach, `spread[i, j]`
    the greatest less the smallest of them: infinite where fewer than two are reached (but for three nodes), and
    where it is above both `bounds[0]` and `bounds[1]` times the smallest.
    """
    n = distance.shape[0]
    smallest = np.inf
    for i in range(n):
        spread[i, i], offset[i, i] = 0.0, 0.0
        for j in range(i):
            low, high, total, seen = np.inf, -np.inf, 0.0, 0
            limit = max(bounds[0], bounds[1] * smallest)
            for k in range(n):
                if k != i and k != j and distance[i, k] < reach and distance[j, k] < reach:
                    differ = distance[i, k] - distance[j, k]
                    low, high, total, seen = min(low, differ), max(high, differ), total + differ, seen + 1
                    if high - low > limit:  # most pairs are told apart by a few others
                        break
            known = seen >= min(2, n - 2) and high - low <= limit
            spread[i, j] = spread[j, i] = high - low if known else np.inf
            smallest = min(smallest, spread[i, j])
            offset[i, j] = total / seen if seen else 0.0
            offset[j, i] = -offset[i, j]
