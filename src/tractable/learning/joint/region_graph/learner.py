"""Learners whose circuits come from region graphs, fitted by EM."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.arrays import Ints
from tractable.base.progress import Key, Stopped, Watch
from tractable.base.settings import Between, setting
from tractable.circuit import Graph
from tractable.circuit.codec import graph_forms
from tractable.data import Grid, Table, grid_of
from tractable.learning.joint.region_graph.circuit import RegionCircuit
from tractable.learning.joint.region_graph.regions import RegionGraph, cluster_graph, rectangle_graph
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.parameters import fit
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.number_matrix import NumberMatrix, number_matrix

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
