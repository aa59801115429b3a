"""The circuit of a region graph.

A region has several sums, which stand for clusters of rows as seen in the region's columns. Each sum is over
products of a sum of one part and a sum of the other, for all partitions of the region. The weights begin with
the counts of clusters: how often a cluster of the region meets a cluster of each part.
"""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.circuit import Builder, Graph
from tractable.data import collapse
from tractable.learning.joint.region_graph.regions import Partition, Region, RegionGraph
from tractable.learning.statistics.clustering import k_means
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.estimates import estimates, product_nodes, smoothed_sums
from tractable.learning.statistics.number_matrix import NumberMatrix, standardised

MOST_NUMBERS = 6  # principal components by which a patch takes part in the clusters of larger regions
SPREAD = 0.1  # pseudo-counts of each sum, spread over its products


class RegionCircuit:
    """Makes the circuit of a region graph, smaller regions first."""

    def __init__(self, encoding: Encoding, matrix: NumberMatrix, graph: RegionGraph) -> None:
        self._encoding = encoding
        self._graph = graph
        self._builder = Builder(encoding.schema)
        x = standardised(matrix) if len(matrix.weights) else matrix.values
        self._numbers = [_principal(x[:, np.isin(matrix.owner, columns)]) for columns in graph.patches]
        self._label: dict[Region, Ints] = {}
        self._nodes: dict[Region, list[int]] = {}

    def build(self, components: int, smoothing: float, rng: np.random.Generator, watch: Watch) -> Graph:
        """The circuit with a number of sums for each region.

        Raises:
            Stopped: if the watch says so.
        """
        regions = self._graph.reached()
        for done, region in enumerate(regions):
            watch.break_off()
            size = 1 if region == self._graph.root else components
            self._label[region] = self._clusters(region, size, rng)
            if len(region) == 1:
                self._nodes[region] = self._leaves(region, smoothing)
            else:
                self._nodes[region] = self._sums(region)
            watch.report("building regions", done + 1, len(regions))
        return self._builder.freeze(self._nodes[self._graph.root][0])

    def _clusters(self, region: Region, size: int, rng: np.random.Generator) -> Ints:
        """The cluster of each row by the columns of a region, numbered without gaps."""
        points = np.concatenate([self._numbers[patch] for patch in sorted(region)], axis=1)
        label = k_means(points, self._encoding.weights, size, rng, restarts=1, steps=15)
        return np.unique(label, return_inverse=True)[1].reshape(-1)

    def _leaves(self, region: Region, smoothing: float) -> list[int]:
        """For each cluster the product of the distributions of a patch's columns."""
        (patch,) = region
        columns = self._graph.patches[patch]
        label = self._label[region]
        share = (label[:, None] == np.arange(label.max(initial=0) + 1)).astype(np.float64)
        part, share = _patch_part(self._encoding, columns, share)
        sums = smoothed_sums(part, part.sums(share), smoothing)
        local = Builder(part.schema)
        roots = product_nodes(local, part, estimates(part, sums), share, smoothing)
        return [self._builder.splice(local.freeze(root), columns) for root in roots]

    def _sums(self, region: Region) -> list[int]:
        """The sums of a region."""
        products = [self._products(region, partition) for partition in self._graph.partitions[region]]
        children = [node for nodes, _ in products for node in nodes]
        counts = np.concatenate([count for _, count in products], axis=1)
        counts = counts + SPREAD / counts.shape[1]
        weights = np.log(counts / counts.sum(axis=1, keepdims=True))
        return [self._builder.sum(children, line) for line in weights]

    def _products(self, region: Region, partition: Partition) -> tuple[list[int], Floats]:
        """The products of a partition, and how many rows of each cluster use each. (clusters, products)."""
        first, second = partition
        left, right = self._nodes[first], self._nodes[second]
        pair = self._label[first] * len(right) + self._label[second]
        size = int(self._label[region].max(initial=0)) + 1
        place = self._label[region] * (len(left) * len(right)) + pair
        counts = np.bincount(place, self._encoding.weights, size * len(left) * len(right))
        products = [self._builder.product([a, b]) for a in left for b in right]
        return products, counts.astype(np.float64).reshape(size, -1)


def _patch_part(encoding: Encoding, columns: Ints, share: Floats) -> tuple[Encoding, Floats]:
    """The encoding of some columns, whose equal rows are one, and the share of each of them in clusters."""
    part = encoding.part(slice(None), columns)
    if len(part.weights) == len(encoding.weights):
        return part, share
    _, inverse = collapse(encoding.table.select(columns))
    merged = np.zeros((len(part.weights), share.shape[1]))
    np.add.at(merged, inverse, share * encoding.weights[:, None])
    return part, merged / part.weights[:, None]


def _principal(x: Floats) -> Floats:
    """The first principal components of some numbers, which keep the distances between rows as they can."""
    if x.shape[1] <= MOST_NUMBERS or not len(x):
        return x
    centred = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ vectors[:, np.argsort(values)[-MOST_NUMBERS:]])
