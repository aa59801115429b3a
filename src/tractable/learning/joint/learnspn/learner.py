"""Gens and Domingos, «Learning the Structure of Sum-Product Networks», 2013."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal, final, get_args

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.progress import Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.circuit import Graph
from tractable.data import Table
from tractable.learning.joint.learnspn.regions import Leaf, Partitioning, partition_table, region_circuit
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.clustering import Clustering
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.stack_weights import mean_log_prob


@final
@dataclass(frozen=True, kw_only=True)
class LearnSPNLearner(PoolingLearner):
    """A sum-product network learned by recursively partitioning columns and clustering rows.

    Groups of independent columns become the children of a product, clusters of rows the children of a sum,
    and small blocks of the table become leaves.
    """

    name: ClassVar[str] = "learnspn"
    title: ClassVar[str] = "LearnSPN"

    min_rows: tuple[int, ...] = setting(
        (200, 50, 100, 500, 1000),
        "Minimum number of rows of a block of the table for it to be partitioned further. With validation"
        " rows, all values are tried and the best is selected; otherwise the first is used.",
        at_least=0,
    )
    threshold: tuple[float, ...] = setting(
        (10.83, 20.0),
        "Values of the G statistic above which two binary columns are treated as dependent. Other pairs of"
        " columns are tested at the corresponding significance level. With an infinite value all columns are"
        " treated as independent. With validation rows, all values are tried and the best is selected.",
        at_least=0,
        at_most=inf,
        search=OneOf((10.83, 20.0), (3.84,), (6.63,), (10.83,), (20.0,), (40.0,)),
    )
    leaf: Leaf = setting(
        "chow-liu",
        "Model of a block that is not partitioned further: a Chow-Liu tree, or independent columns"
        " (univariate).",
        search=OneOf(*get_args(Leaf)),
    )
    smoothing: float = setting(
        0.2,
        "Pseudo-count of each distribution in a leaf.",
        at_least=0,
        search=Between(0.01, 2, log=True),
    )
    link_cost: float = setting(
        0.0,
        "Minimum gain in log-likelihood, in nats, for each parameter that an edge of a leaf's Chow-Liu tree"
        " adds.",
        at_least=0,
        search=Between(0, 2),
    )
    clustering: Literal["em", "k-means"] = setting(
        "em", "Clustering algorithm: hard EM or k-means.", search=OneOf("em", "k-means")
    )
    clusters: int = setting(
        2,
        "Maximum number of clusters of a sum node. More clusters fit better and take more time and memory.",
        at_least=1,
        search=Between(2, 5, whole=True),
    )
    penalty: float = setting(
        0.2,
        "Minimum gain in log-likelihood, in nats over the rows of a block, for each parameter of an"
        " additional cluster.",
        at_least=0,
        search=Between(0.05, 2, log=True),
    )
    restarts: int = setting(3, "Number of random initialisations of each clustering.", at_least=1)
    steps: int = setting(20, "Maximum number of iterations of each clustering.", at_least=1)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        encoding = encode(table)
        several = self.threshold if valid is not None else self.threshold[:1]
        work = (
            delayed(self._best_size)(
                encoding,
                own,
                self._partitioning(threshold, valid),
                valid,
                watch.part(f"threshold {threshold:g}"),
            )
            for threshold, own in zip(several, rng.spawn(len(several)), strict=True)
        )
        with threadpool_limits(1, user_api="blas"):  # the same sums in the same order, whatever else runs
            circuits: list[tuple[float, Graph]] = Parallel(prefer="threads")(work)
        return Learned(max(circuits, key=lambda scored: scored[0])[1])

    def _best_size(
        self,
        encoding: Encoding,
        rng: np.random.Generator,
        settings: Partitioning,
        valid: Table | None,
        watch: Watch,
    ) -> tuple[float, Graph]:
        """The circuit with the best score on the validation rows, and the score."""
        regions = partition_table(encoding, rng, settings, watch)
        best, best_score = None, -np.inf
        for size in settings.sizes:
            graph = region_circuit(encoding.schema, regions, size)
            score = 0.0 if valid is None else mean_log_prob(graph, valid)
            if best is None or score > best_score:
                best, best_score = graph, score
            if watch.should_stop():
                break
        assert best is not None
        return best_score, best

    def _partitioning(self, threshold: float, valid: Table | None) -> Partitioning:
        clustering = Clustering(
            method=self.clustering,
            clusters=self.clusters,
            restarts=self.restarts,
            steps=self.steps,
            penalty=self.penalty,
        )
        return Partitioning(
            sizes=self.min_rows if valid is not None else self.min_rows[:1],
            threshold=threshold,
            clustering=clustering,
            leaf=self.leaf,
            smoothing=self.smoothing,
            link_cost=self.link_cost,
        )
