"""Where a numeric column is cut into pieces.

The number of pieces follows from that of the rows. The cuts are those with which the rows have the shortest
description once their pieces are known: the log-likelihood of the exponential densities inside the pieces is
greatest. What a circuit says of the pieces themselves depends on other columns and does not count here. The
cuts are found among a limited number of candidates by dynamic programming, so that the cost does not grow
with the rows beyond one pass over them.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.leaves.tilt import log_integral, tilt_of_mean

CANDIDATES = 96  # cuts that are considered, evenly spaced among the distinct values
SAMPLE = 50_000  # rows that candidates are taken from
MOST_PIECES = 20
LEAST_SHARE = 0.25  # of the rows in a piece, as a part of what it has on average
FINEST = 1e-4  # no piece is narrower than this part of the column's range
LARGEST = 1e300  # beyond, sums of distances may overflow
TINY = 1e-290  # the least distance of two cuts
MARGIN = 1e-3  # a constant column gets an interval of this part of its value


class Cells(NamedTuple):
    """The parts of a column between candidates for cuts, with running sums of the rows in them."""

    edges: Floats  # (cells + 1,)
    seen: Floats  # (cells + 1,) the weight of the rows before each edge
    total: Floats  # (cells + 1,) the weighted sum of their distances from the first edge, in ranges


def choose_edges(x: Floats, weight: Floats, *, whole: bool) -> Floats:
    """The ends of the pieces of a column, ascending: two or more. `x` has no missing values.

    The first and the last are just outside of all values, those of whole numbers halfway between them.
    """
    x = np.clip(x, -LARGEST, LARGEST)
    value = np.unique(_sample(x))
    bounds = (float(x.min()), float(x.max())) if x.size else (0.0, 0.0)
    edges = _candidates(value, bounds, whole)
    if edges.size < 3:
        return edges
    cells = _cells(edges, x, weight)
    rows = float(cells.seen[-1])
    wanted = wanted_pieces(rows)
    return edges[_best_path(_piece_scores(cells, LEAST_SHARE * rows / wanted), wanted)]


def wanted_pieces(rows: float) -> int:
    """The number of pieces, which is the cube root of that of the rows.

    More pieces show more of the dependence between columns, and have fewer rows to show it by.
    """
    return int(np.clip(round(rows ** (1 / 3)), 2, MOST_PIECES))


def _sample(x: Floats) -> Floats:
    """Some of the rows, evenly spaced."""
    return x if x.size <= SAMPLE else x[np.linspace(0, x.size - 1, SAMPLE).astype(np.int64)]


def _candidates(value: Floats, bounds: tuple[float, float], whole: bool) -> Floats:
    """The outer ends, and cuts between distinct values, which are as far apart in rank as they are many."""
    low, high = bounds
    if whole:
        gap = max(0.5, 2 * float(np.spacing(max(-low, high))))  # a half is nothing beside a huge number
        first, last = np.floor(low) - gap, np.ceil(high) + gap
    else:
        gap = (high - low) / max(1, value.size - 1) or abs(low) * MARGIN or MARGIN
        gap = max(gap, 4 * float(np.spacing(max(-low, high))), TINY)  # what can be told from zero
        first, last = low - gap / 2, high + gap / 2
    place = np.unique(np.linspace(0, value.size - 1, min(CANDIDATES, value.size) + 1).astype(np.int64))[1:-1]
    place = np.arange(1, value.size) if value.size <= CANDIDATES else place
    cut = value[place - 1] / 2 + value[place] / 2 if place.size else np.zeros(0)
    if whole:
        cut = np.floor(cut) + 0.5
    return np.unique(np.concatenate([[first], cut[(cut > first) & (cut < last)], [last]]))


def _cells(edges: Floats, x: Floats, weight: Floats) -> Cells:
    cell = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, edges.size - 2)
    seen: Floats = np.bincount(cell, weight, edges.size - 1).astype(np.float64)
    total: Floats = np.bincount(
        cell, weight * ((x - edges[0]) / (edges[-1] - edges[0])), edges.size - 1
    ).astype(np.float64)
    return Cells(edges, _running(seen), _running(total))


def _running(parts: Floats) -> Floats:
    """The sums before each part, and of all."""
    return np.concatenate([[0.0], np.cumsum(parts)])


def _piece_scores(cells: Cells, least_rows: float) -> Floats:
    """The log-density of the rows in a piece from one edge to another; -inf where it cannot be a piece.

    Shape (edges, edges).
    """
    first, last = np.triu_indices(cells.edges.size, 1)
    seen = cells.seen[last] - cells.seen[first]
    edges = (cells.edges - cells.edges[0]) / (cells.edges[-1] - cells.edges[0])  # from 0 to 1
    width = np.maximum(edges[last] - edges[first], TINY)
    distance = cells.total[last] - cells.total[first] - seen * edges[first]
    share = (distance / width + 0.5) / (seen + 1)  # one pseudo-count in the middle
    near = np.clip(np.minimum(share, 1 - share), 0.0, 0.5)
    rate = tilt_of_mean(near) / width
    inside = -log_integral(rate, width) - rate * near * width
    score = np.full((cells.edges.size, cells.edges.size), -np.inf)
    fits = (seen >= least_rows) & (width >= FINEST)
    score[first, last] = np.where(fits, seen * inside, -np.inf)
    score[0, -1] = max(score[0, -1], -1e300)  # one piece is always possible
    return score


def _best_path(score: Floats, pieces: int) -> Ints:
    """The edges of a given number of pieces with the highest score, or of fewer if necessary."""
    size = len(score)
    most = min(pieces, size - 1)
    best, before = np.full((most + 1, size), -np.inf), np.zeros((most + 1, size), dtype=np.int64)
    best[0, 0] = 0.0
    for number in range(1, most + 1):
        reached = best[number - 1][:, None] + score
        before[number] = reached.argmax(axis=0)
        best[number] = reached.max(axis=0)
    path = [size - 1]
    for number in range(int(np.flatnonzero(best[:, -1] > -np.inf)[-1]), 0, -1):
        path.append(int(before[number][path[-1]]))
    return np.array(path[::-1], dtype=np.int64)
