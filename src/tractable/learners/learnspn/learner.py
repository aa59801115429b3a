"""Gens and Domingos, «Learning the Structure of Sum-Product Networks», 2013."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final, get_args

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.circuit import Graph
from tractable.data import Table
from tractable.learners.learner import Learner, require_at_least
from tractable.learners.learnspn.regions import Cutting, Leaf, cut_table, region_circuit
from tractable.progress import Watch
from tractable.settings.spaces import Between, OneOf, Space
from tractable.statistics.clustering import Clustering
from tractable.statistics.encoding import Encoding, encode
from tractable.statistics.scores import mean_log_prob


@final
@dataclass(frozen=True, kw_only=True)
class LearnSPNLearner(Learner):
    """Independent columns become products, clusters of rows sums, what is small a leaf.

    Of several values of a setting the best on validation rows is kept; without any, the first is taken.
    """

    name: ClassVar[str] = "learnspn"
    title: ClassVar[str] = "LearnSPN"
    space: ClassVar[Space] = {
        "threshold": OneOf((10.83, 20.0), (3.84,), (6.63,), (10.83,), (20.0,), (40.0,)),
        "leaf": OneOf(*get_args(Leaf)),
        "smoothing": Between(0.01, 2, log=True),
        "link_cost": Between(0, 2),
        "clustering": OneOf("em", "k-means"),
        "clusters": Between(2, 5, whole=True),
        "penalty": Between(0.05, 2, log=True),
    }

    min_rows: tuple[int, ...] = (200, 50, 100, 500, 1000)  # fewer rows are not cut further
    threshold: tuple[float, ...] = (10.83, 20.0)  # G statistic above which two binary columns are dependent
    leaf: Leaf = "chow-liu"  # what stands for the columns of a block that is not cut further
    smoothing: float = 0.2  # imaginary rows in each distribution of a leaf
    link_cost: float = 0.0  # nats that a link of a leaf's tree must gain for each parameter it adds
    clustering: Literal["em", "k-means"] = "em"  # how rows are put in clusters
    clusters: int = 2  # at most, in one cut
    penalty: float = 0.2  # nats that a cluster must gain on all rows for each of its parameters
    restarts: int = 3  # random beginnings of each clustering
    steps: int = 20  # of each clustering, at most

    def __post_init__(self) -> None:
        for name in ("min_rows", "threshold"):
            if isinstance(value := getattr(self, name), int | float):  # one number stands for itself
                object.__setattr__(self, name, (value,))
            if not getattr(self, name) or not min(getattr(self, name)) >= 0:
                raise ValueError(f"setting {name} of {self.name} are numbers from 0 up, not {value}")
        require_at_least(self, smoothing=0, link_cost=0, clusters=1, penalty=0, restarts=1, steps=1)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        encoding = encode(table)
        several = self.threshold if valid is not None else self.threshold[:1]
        work = (
            delayed(self._best_size)(encoding, own, self._cutting(threshold, valid), valid, watch)
            for threshold, own in zip(several, rng.spawn(len(several)), strict=True)
        )
        with threadpool_limits(1, user_api="blas"):  # the same sums in the same order, whatever else runs
            found: list[tuple[float, Graph]] = Parallel(prefer="threads")(work)
        return max(found, key=lambda scored: scored[0])[1]

    def _best_size(
        self, encoding: Encoding, rng: np.random.Generator, how: Cutting, valid: Table | None, watch: Watch
    ) -> tuple[float, Graph]:
        """The circuit that does best on the validation rows, and how well."""
        regions = cut_table(encoding, rng, how, watch)
        best, best_score = None, -np.inf
        for size in how.sizes:
            graph = region_circuit(encoding.schema, regions, size)
            score = 0.0 if valid is None else mean_log_prob(graph, valid)
            if best is None or score > best_score:
                best, best_score = graph, score
        assert best is not None
        return best_score, best

    def _cutting(self, threshold: float, valid: Table | None) -> Cutting:
        clustering = Clustering(
            method=self.clustering,
            clusters=self.clusters,
            restarts=self.restarts,
            steps=self.steps,
            penalty=self.penalty,
        )
        return Cutting(
            sizes=self.min_rows if valid is not None else self.min_rows[:1],
            threshold=threshold,
            clustering=clustering,
            leaf=self.leaf,
            smoothing=self.smoothing,
            link_cost=self.link_cost,
        )
