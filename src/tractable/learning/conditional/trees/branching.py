"""The best directed forest (Chu and Liu 1965, Edmonds 1967)."""

import numpy as np

from tractable.base.arrays import Floats, Ints


def maximum_branching(gain: Floats) -> Ints:
    """The parent of each node in the forest of highest total gain; -1 for a root. Shape (nodes,).

    `gain[i, j]` is that of an edge from i down to j, -inf where there is none. A root gains nothing.
    """
    size = len(gain)
    above = np.full((size + 1, size + 1), -np.inf)
    above[1:, 1:] = np.where(gain > 0, gain, -np.inf)
    above[0, 1:] = 0.0  # from a node above all roots
    np.fill_diagonal(above, -np.inf)
    return _arborescence(above)[1:] - 1


def _arborescence(gain: Floats) -> Ints:
    """The parent of each node in the best tree below node 0, which every node has an edge from."""
    parent: Ints = np.argmax(gain, axis=0)
    parent[0] = 0
    cycle = _find_cycle(parent)
    if not cycle.size:
        return parent
    rest = np.setdiff1d(np.arange(len(gain)), cycle)
    smaller = np.full((rest.size + 1, rest.size + 1), -np.inf)
    smaller[:-1, :-1] = gain[np.ix_(rest, rest)]
    into = gain[np.ix_(rest, cycle)] - gain[parent[cycle], cycle]
    out = gain[np.ix_(cycle, rest)]
    smaller[:-1, -1], smaller[-1, :-1] = into.max(axis=1), out.max(axis=0)
    found = _arborescence(smaller)
    answer = parent.copy()
    below_cycle = found[:-1] == rest.size
    answer[rest] = np.where(
        below_cycle, cycle[out.argmax(axis=0)], rest[np.minimum(found[:-1], rest.size - 1)]
    )
    answer[cycle[into[found[-1]].argmax()]] = rest[found[-1]]
    answer[0] = 0
    return answer


def _find_cycle(parent: Ints) -> Ints:
    """The nodes of some cycle on the ways up to node 0; none where all ways arrive there."""
    seen = np.zeros(parent.size, dtype=np.int64)  # in which walk
    seen[0] = -1
    for first in range(1, parent.size):
        node = first
        while not seen[node]:
            seen[node] = first
            node = int(parent[node])
        if seen[node] == first:
            cycle = [node]
            while parent[cycle[-1]] != node:
                cycle.append(int(parent[cycle[-1]]))
            return np.array(cycle)
    return np.zeros(0, dtype=np.int64)
