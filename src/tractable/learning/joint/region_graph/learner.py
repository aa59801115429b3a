"""Learners whose circuits come from region graphs, fitted by EM."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Key, Stopped, Watch
from tractable.base.settings import Between, setting
from tractable.circuit import Builder, Graph
from tractable.circuit.states import graph_forms
from tractable.data import Grid, Table, collapse, grid_of
from tractable.learning.joint.region_graph.regions import (
    Partition,
    Region,
    RegionGraph,
    cluster_graph,
    rectangle_graph,
)
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.parameters import fit
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.statistics.clustering import k_means
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.estimates import estimates, product_nodes, smoothed_sums
from tractable.learning.statistics.number_matrix import NumberMatrix, number_matrix, standardised

# ---- the circuit of a region graph ----------------------------------------------------------------------
#
# A region has several sums, which stand for clusters of rows as seen in the region's columns. Each sum is
# over products of a sum of one part and a sum of the other, for all partitions of the region. The weights
# begin with the counts of clusters: how often a cluster of the region meets a cluster of each part.


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


STRUCTURE = Key(__name__, "structure", Graph)


@dataclass(frozen=True, kw_only=True)
class RegionLearner(PoolingLearner):
    """What learners of region graphs share: sums for each region, and weights fitted by EM."""

    components: int = setting(
        8,
        "Number of sum nodes in each region. The products of a region combine all pairs of sum nodes of its"
        " two parts, so time and memory grow with the third power.",
        at_least=1,
        search=Between(2, 16, whole=True),
    )
    smoothing: float = setting(
        1.0,
        "Pseudo-count of each distribution in a leaf.",
        at_least=0,
        search=Between(0.05, 5, log=True),
    )
    weight_smoothing: float = setting(
        2.0,
        "Pseudo-count of each sum node, spread over its products. Larger values make the sum nodes of a"
        " region more similar.",
        at_least=0,
        search=Between(0.05, 10, log=True),
    )
    iterations: int = setting(50, "Maximum number of EM iterations.", at_least=0)

    @final
    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        def build(part: Watch) -> Graph:
            with threadpool_limits(1, user_api="blas"):  # the same sums in the same order, whatever else runs
                return self._structure(table, rng, part)

        graph = watch.remember(STRUCTURE, build, rng, graph_forms(table.schema))
        if watch.should_stop() or not table.total_weight or not self.iterations:
            return Learned(graph)
        method = CCCP(
            iterations=self.iterations, leaf_smoothing=self.smoothing, smoothing=self.weight_smoothing
        )
        held_out = valid if valid is not None and valid.total_weight else None
        return Learned(fit(graph, table, method, rng, valid=held_out, watch=watch.part("weights")).graph)

    def _structure(self, table: Table, rng: np.random.Generator, watch: Watch) -> Graph:
        """The circuit before its weights are fitted; with one sum per region if time is short."""
        encoding = encode(table)
        matrix = number_matrix(encoding.table, "indicators")
        try:
            watch.break_off()
            if not encoding.total:
                raise Stopped  # as good as no time: there is nothing to cluster
            graph = self._regions(encoding, matrix, rng)
            return RegionCircuit(encoding, matrix, graph).build(self.components, self.smoothing, rng, watch)
        except Stopped:
            patch = RegionGraph([np.arange(len(table.schema))])
            return RegionCircuit(encoding, matrix, patch).build(1, self.smoothing, rng, Watch())

    @abstractmethod
    def _regions(self, encoding: Encoding, matrix: NumberMatrix, rng: np.random.Generator) -> RegionGraph:
        """The regions of a table."""


@final
@dataclass(frozen=True, kw_only=True)
class DennisVenturaLearner(RegionLearner):
    """A sum-product network over groups of columns that are dependent within clusters of rows.

    Rows are clustered once, and the columns of each cluster are recursively divided into two groups. Each
    distinct group of columns is one region of the region graph. The weights are fitted by EM.
    """

    name: ClassVar[str] = "dennis-ventura"
    title: ClassVar[str] = "region graph by clusters"

    clusters: int = setting(
        4,
        "Number of row clusters. The columns are divided separately for each cluster.",
        at_least=1,
        search=Between(1, 12, whole=True),
    )

    def _regions(self, encoding: Encoding, matrix: NumberMatrix, rng: np.random.Generator) -> RegionGraph:
        return cluster_graph(matrix, self.clusters, rng)


@final
@dataclass(frozen=True, kw_only=True)
class RegionGridLearner(RegionLearner):
    """A sum-product network over rectangular regions of an image.

    The pixels are the columns that have a place in a grid (`--grid`, or `grid` in a schema); without a grid
    the columns are arranged in a line. The weights are fitted by EM.
    """

    name: ClassVar[str] = "region-grid"
    title: ClassVar[str] = "rectangles of an image"

    side: int = setting(
        8,
        "Maximum number of patches in each direction. In a larger image a patch has several pixels, and its"
        " mixture components are products over them.",
        at_least=1,
        search=Between(4, 10, whole=True),
    )
    cuts: int = setting(
        1,
        "Maximum number of cuts of a rectangle in each direction. The cuts nearest to its centre are used.",
        at_least=1,
        search=Between(1, 4, whole=True),
    )

    def _regions(self, encoding: Encoding, matrix: NumberMatrix, rng: np.random.Generator) -> RegionGraph:
        columns = np.arange(len(encoding.schema))
        grid = grid_of(encoding.schema) or Grid(columns[None, :])
        others: Ints = np.setdiff1d(columns, grid.columns)
        return rectangle_graph(grid, others, self.side, self.cuts)
