"""Clusters of points by k-means, as starting points of EM."""

import numpy as np

from tractable.base.arrays import Floats, Ints

ROWS = 20_000  # centres are searched among at most so many points


def k_means(
    points: Floats,
    weights: Floats,
    size: int,
    rng: np.random.Generator,
    *,
    restarts: int = 3,
    steps: int = 30,
) -> Ints:
    """The cluster of each point, (points,), for centres near to all points: the best of several starts.

    The first centres are points drawn as in k-means++ (Arthur and Vassilvitskii, 2007): in proportion to
    weight and squared distance from the centres before. Fewer clusters than asked may have points.
    """
    if size == 1 or len(points) < 2:
        return np.zeros(len(points), dtype=np.int64)
    some = np.sort(rng.choice(len(points), ROWS, replace=False)) if len(points) > ROWS else slice(None)
    sample, weight = points[some], weights[some]
    runs = [
        _iterate(sample, weight, _first_centres(sample, weight, size, rng), steps) for _ in range(restarts)
    ]
    centres, _ = min(runs, key=lambda pair: pair[1])
    return _distances(points, centres).argmin(axis=1)


def _distances(points: Floats, centres: Floats) -> Floats:
    """Squared distances of points from centres, less the squared length of the point. (points, centres)."""
    return (centres**2).sum(axis=1) - 2 * points @ centres.T


def _first_centres(points: Floats, weights: Floats, size: int, rng: np.random.Generator) -> Floats:
    chance = weights.copy()
    nearest = np.full(len(points), np.inf)
    centres = []
    for _ in range(size):
        total = chance.sum()
        where = rng.random() * total
        row = int(min(np.searchsorted(np.cumsum(chance), where, side="right"), len(points) - 1))
        centres.append(points[row])
        nearest = np.minimum(nearest, ((points - points[row]) ** 2).sum(axis=1))
        chance = weights * nearest
    return np.array(centres)


def _iterate(points: Floats, weights: Floats, centres: Floats, steps: int) -> tuple[Floats, float]:
    """Lloyd's iterations; the centres and the weighted sum of distances."""
    label = np.full(len(points), -1)
    for _ in range(steps):
        distance = _distances(points, centres)
        now = distance.argmin(axis=1)
        if (now == label).all():
            break
        label = now
        shares = (label[:, None] == np.arange(len(centres))) * weights[:, None]
        count = shares.sum(axis=0)
        moved = shares.T @ points / np.where(count > 0, count, 1.0)[:, None]
        centres = np.where(count[:, None] > 0, moved, centres)
    return centres, float(weights @ _distances(points, centres).min(axis=1))
