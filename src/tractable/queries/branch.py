"""The best completion of a row, proved by branch and bound.

A node of the search is a row with some cells decided. Its bound is the circuit's value with every undecided leaf at its
largest: sums still add, so no completion below can exceed it. Nodes are opened best bound first, many at a time.
"""

import heapq

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.engine import log_values, posteriors
from tractable.engine.posterior import first_statistics
from tractable.queries.search import Space

TOGETHER = 32  # nodes that are opened at once
MOST_NODES = 2_000_000


def branch_and_bound(space: Space, rows: Floats, guess: Floats) -> Floats:
    """The most probable completion of each row; `guess` is what must be beaten.

    Raises:
        ValueError: if a cell to be completed holds a number, or the search grows beyond all bounds.
    """
    for c in np.flatnonzero(space.missing(rows).any(axis=0)):
        if not space.graph.schema[int(c)].is_categorical:
            name, kind = space.graph.schema[int(c)].name, space.graph.schema[int(c)].kind
            raise ValueError(f"column '{name}' is {kind}: branch and bound completes categorical columns only")
    return np.array([_best(space, row, start) for row, start in zip(rows, guess, strict=True)]).reshape(rows.shape)


def _best(space: Space, row: Floats, guess: Floats) -> Floats:
    order = _decision_order(space, row)
    best, floor = guess, float(space.log_values(guess[None, :])[0])
    waiting: list[tuple[float, int, int, Floats]] = [(-np.inf, 0, 0, row)]
    opened = 0
    while waiting and -waiting[0][0] > floor:
        now = [heapq.heappop(waiting) for _ in range(min(TOGETHER, len(waiting)))]
        for depth in sorted({n[2] for n in now}):
            children = _children(space, order[depth], [n[3] for n in now if n[2] == depth])
            bounds = _bounds(space, children, last=depth + 1 == order.size)
            if depth + 1 == order.size:
                top = int(bounds.argmax())
                if bounds[top] > floor:
                    best, floor = children[top], float(bounds[top])
                continue
            for bound, child in zip(bounds, children, strict=True):
                if bound > floor:
                    opened += 1
                    heapq.heappush(waiting, (-float(bound), opened, depth + 1, child))
        if opened > MOST_NODES:
            raise ValueError(f"branch and bound gave up after {MOST_NODES:,} steps: too many cells are missing")
    return best


def _decision_order(space: Space, row: Floats) -> Ints:
    """The cells to decide, those that are nearly certain first: a wrong value there is cut off at once."""
    statistics = posteriors(space.graph, row[None, :], space.regions)[0]
    first = first_statistics(space.graph.schema)
    cells = np.flatnonzero(space.missing(row[None, :])[0])
    certainty = [statistics[first[c] : first[c + 1]].max() for c in cells]
    return cells[np.argsort(certainty)[::-1]]


def _children(space: Space, column: int, parents: list[Floats]) -> Floats:
    options = space.options[column]
    children = np.repeat(np.array(parents), options.size, axis=0)
    children[:, column] = np.tile(options, len(parents))
    return children


def _bounds(space: Space, rows: Floats, last: bool) -> Floats:
    if last:
        return space.log_values(rows)
    undecided = frozenset(np.flatnonzero(space.columns).tolist())
    return log_values(space.graph, rows, space.regions, best=undecided)
