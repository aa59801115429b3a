"""Compiled loops over a graph's arrays. Node i's edges are start[i]:start[i + 1], children before parents."""

from tractable.base.arrays import Ints
from tractable.base.compiled import njit


@njit(cache=True, nogil=True)
def spread_owners(start: Ints, child: Ints, owner: Ints) -> bool:
    """Give all inner nodes below an owned node its owner (-1: none); returns whether two owners meet."""
    met = False
    for node in range(owner.size - 1, -1, -1):
        if owner[node] < 0:
            continue
        for e in range(start[node], start[node + 1]):
            below = child[e]
            if start[below] == start[below + 1]:
                continue
            met |= owner[below] >= 0 and owner[below] != owner[node]
            owner[below] = owner[node]
    return met
