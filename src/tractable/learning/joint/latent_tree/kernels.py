"""Compiled loops over distances: no objects and no choices of policy."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.compiled import njit


@njit(cache=True, nogil=True)
def compare(distance: Floats, reach: float, spread: Floats, offset: Floats) -> None:
    """Fill `spread` and `offset`, both (nodes, nodes), with how i and j differ in their distances to others.

    `offset[i, j]` is the mean of distance[i, k] - distance[j, k] over the nodes k that both reach,
    `spread[i, j]` their standard deviation: infinite where fewer than two are reached, but for three nodes,
    and where i and j do not reach each other. Near nodes count most: a distance d that is estimated from rows
    has a variance in proportion to exp(2 d).
    """
    n = distance.shape[0]
    variance = np.exp(2.0 * distance)
    for i in range(n):
        spread[i, i], offset[i, i] = 0.0, 0.0
        for j in range(i):
            mean, rest, weight, seen = 0.0, 0.0, 0.0, 0
            for k in range(n):
                if k not in (i, j) and distance[i, k] < reach and distance[j, k] < reach:
                    differ = distance[i, k] - distance[j, k]
                    share = 1.0 / (variance[i, k] + variance[j, k])
                    weight, seen, old = weight + share, seen + 1, mean
                    mean += share / weight * (differ - old)
                    rest += share * (differ - old) * (differ - mean)
            known = seen >= min(2, n - 2) and distance[i, j] < reach
            spread[i, j] = spread[j, i] = np.sqrt(rest / weight) if known else np.inf
            offset[i, j], offset[j, i] = mean, -mean
