"""The nodes that are reachable from a root."""

import numpy as np

from tractable.base.arrays import Bools, Ints
from tractable.base.compiled import njit


@njit(cache=True, nogil=True)
def _mark(start: Ints, child: Ints, marked: Bools) -> None:
    for node in range(marked.size - 1, -1, -1):
        if marked[node]:
            for e in range(start[node], start[node + 1]):
                marked[child[e]] = True


def reachable(start: Ints, child: Ints, root: int) -> Ints:
    """The nodes at and below `root`, ascending. Children must be numbered before their parents."""
    marked = np.zeros(root + 1, dtype=np.bool_)
    marked[root] = True
    _mark(start, child, marked)
    return np.flatnonzero(marked)
