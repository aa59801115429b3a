"""Clusters of rows, for learners that partition a table by its rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.product_mixtures import (
    initial_sums,
    mixture_coefficients,
    responsibilities,
)

# ---- clusters of points by k-means, as starting points of EM --------------------------------------------


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


PSEUDO_COUNT = 1.0  # average rows that each cluster counts in addition while clusters are searched


@dataclass(frozen=True, kw_only=True)
class Clustering:
    """How clusters are searched."""

    method: Literal["em", "k-means"] = "em"
    clusters: int = 2  # maximum number
    restarts: int = 3  # random starting points, of which the likeliest result is kept
    steps: int = 20  # maximum number of iterations from each starting point
    penalty: float = 0.2  # nats that a cluster must gain on all rows for each of its parameters


class _Clusters(NamedTuple):
    label: Ints  # (rows,)
    log_likelihood: float  # of all rows in the mixture of the clusters, each a product of leaves


def cluster_rows(
    encoding: Encoding,
    rng: np.random.Generator,
    settings: Clustering,
    between: Callable[[], None] | None = None,
) -> Ints:
    """The cluster of each distinct row, numbered from 0 without gaps; one cluster if more gain too little.

    `between` is called between iterations, and may raise an exception to break the search off.
    """
    price = settings.penalty * (encoding.layout.states.stop - 1 + 2 * encoding.layout.real.size)
    price += settings.penalty * encoding.layout.counted.size
    best = _single_cluster(encoding)
    best_score = best.log_likelihood - price
    for size in range(2, min(settings.clusters, len(encoding.weights)) + 1):
        clustering = max(
            (_iterate_clustering(encoding, size, rng, settings, between) for _ in range(settings.restarts)),
            key=_likelihood,
        )
        score = clustering.log_likelihood - size * price
        if score <= best_score:
            break
        best, best_score = clustering, score
    return np.unique(best.label, return_inverse=True)[1].reshape(-1)


def _likelihood(found: _Clusters) -> float:
    return found.log_likelihood


def _single_cluster(encoding: Encoding) -> _Clusters:
    label = np.zeros(len(encoding.weights), dtype=np.int64)
    return _Clusters(label, _log_likelihood(encoding, _sums(encoding, label, 1)))


def _iterate_clustering(
    encoding: Encoding,
    size: int,
    rng: np.random.Generator,
    settings: Clustering,
    between: Callable[[], None] | None,
) -> _Clusters:
    """The clusters that hard EM or k-means finds from random rows."""
    sums = initial_sums(encoding, size, rng)
    label = np.full(len(encoding.weights), -1)
    for _ in range(max(1, settings.steps)):
        if between is not None:
            between()
        affinity = (
            mixture_coefficients(encoding, sums) if settings.method == "em" else _closeness(encoding, sums)
        )
        now = np.asarray(encoding.matrix @ affinity).argmax(axis=1)
        if (now == label).all():
            break
        label = now
        sums = _sums(encoding, label, size)
    return _Clusters(label, _log_likelihood(encoding, sums))


def _sums(encoding: Encoding, label: Ints, size: int) -> Floats:
    """The statistics of each cluster, with an average row as pseudo-count. Shape (features, clusters)."""
    sums = encoding.sums((label[:, None] == np.arange(size)).astype(np.float64))
    average: Floats = sums.sum(axis=1, keepdims=True) / encoding.rows
    return sums + PSEUDO_COUNT * average


def _log_likelihood(encoding: Encoding, sums: Floats) -> float:
    """The log-likelihood of all rows under the mixture, up to a constant."""
    _, logs = responsibilities(encoding.matrix, mixture_coefficients(encoding, sums))
    return float(encoding.weights @ logs)


def _closeness(encoding: Encoding, sums: Floats) -> Floats:
    """Coefficients of the negative squared distance to each cluster's centre, up to a constant a row."""
    centre: Floats = sums / sums[0]
    centre[encoding.layout.squares] = 0.0
    answer: Floats = 2.0 * centre
    answer[0] = -(centre[1:] ** 2).sum(axis=0)
    return answer
