"""The region graph of Dennis and Ventura, «Learning the Architecture of Sum-Product Networks Using Clustering
on Variables», NIPS 2012: rows are clustered once, and columns within each cluster again and again.
"""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.learning.joint.region_graph.regions import Region, RegionGraph
from tractable.learning.statistics.k_means import k_means
from tractable.learning.statistics.number_matrix import NumberMatrix, standardised

RESTARTS = 2


def cluster_graph(matrix: NumberMatrix, clusters: int, rng: np.random.Generator) -> RegionGraph:
    """A region for each set of columns that some cluster of rows keeps together; each column is a patch."""
    graph = RegionGraph([np.array([c]) for c in range(matrix.columns)])
    x = standardised(matrix)
    label = k_means(x, matrix.weights, clusters, rng, restarts=RESTARTS)
    points = x[:, _typical_numbers(matrix)].T * np.sqrt(matrix.weights)
    for cluster in np.unique(label).tolist():
        _divide_columns(graph, points[:, label == cluster], rng)
    return graph


def _typical_numbers(matrix: NumberMatrix) -> Ints:
    """The number that stands for each column: itself, or the indicator of its most frequent state."""
    total = matrix.weights @ matrix.values
    order = np.lexsort((-total, matrix.owner))
    return order[np.searchsorted(matrix.owner, np.arange(matrix.columns))]


def _divide_columns(graph: RegionGraph, points: Floats, rng: np.random.Generator) -> None:
    """Add the regions that two-means finds among the columns, (columns, rows)."""
    waiting = [graph.root] if len(graph.patches) > 1 else []
    while waiting:
        region = waiting.pop()
        first = _half(points, region, rng)
        graph.divide(region, first)
        waiting.extend(part for part in (first, region - first) if len(part) > 1)


def _half(points: Floats, region: Region, rng: np.random.Generator) -> Region:
    """One of two clusters of columns."""
    columns = np.array(sorted(region))
    label = k_means(points[columns], np.ones(columns.size), 2, rng, restarts=RESTARTS)
    if label.all() or not label.any():  # all alike: any half is as good as another
        label = np.arange(columns.size) % 2
    return frozenset(columns[label == 0].tolist())
