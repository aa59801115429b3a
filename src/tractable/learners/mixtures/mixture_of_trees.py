"""Meila and Jordan, «Learning with Mixtures of Trees», 2000."""

from dataclasses import dataclass
from math import log
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.circuit import Graph, parameter_count
from tractable.data import Table, collapse
from tractable.learners.learner import Learner, require_at_least, require_numbers
from tractable.learners.mixtures.size import best_size
from tractable.learners.mixtures.tree_em import TreeClimb, TreeMixture, climb_trees
from tractable.progress import Watch
from tractable.settings.spaces import Between, Space
from tractable.statistics.encoding import Encoding, encode
from tractable.statistics.product_mixtures import Climb, fit_mixture, memberships


@final
@dataclass(frozen=True, kw_only=True)
class MixtureOfTreesLearner(Learner):
    """EM over Chow-Liu trees, begun at a naive Bayes mixture, for each number of components.

    The best number on validation rows is kept; without any, the best by penalty.
    """

    name: ClassVar[str] = "mixture-of-trees"
    title: ClassVar[str] = "mixture of trees"
    space: ClassVar[Space] = {
        "smoothing": Between(0.05, 5, log=True),
        "sharing": Between(1, 300, log=True),
        "link_cost": Between(0, 5),
    }

    components: tuple[int, ...] = (1, 2, 4, 8, 16, 32)  # numbers of components to try, smallest first
    smoothing: float = 0.5  # imaginary rows in each distribution of each tree
    sharing: float = 30.0  # imaginary rows in each of several trees that are like those of the whole table
    link_cost: float = 0.0  # nats that a link must gain on a tree's rows for each parameter it adds
    restarts: int = 4  # random beginnings of the naive Bayes mixture, of which the best is followed
    begin_steps: int = 20  # of EM on the naive Bayes mixture
    steps: int = 50  # of EM on the trees, at most
    tolerance: float = 1e-3  # EM stops when a step gains less than this many nats a row
    patience: int = 3  # steps without a better score on the validation rows before EM stops
    penalty: float = 1.0  # of a parameter when there are no validation rows, in units of BIC

    def __post_init__(self) -> None:
        require_numbers(self, "components")
        require_at_least(self, smoothing=0, sharing=0, link_cost=0, restarts=1, begin_steps=0, steps=1)
        require_at_least(self, tolerance=0, patience=1, penalty=0)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        encoding = encode(table)
        held_out = None if valid is None else collapse(valid)[0]

        def scored(size: int) -> tuple[Graph, float]:
            mixture, score = self._followed(encoding, size, rng, held_out, watch)
            graph = mixture.circuit(encoding.schema)
            return graph, score if held_out is not None else score - self._price(graph, encoding)

        with threadpool_limits(1, user_api="blas"):  # the same sums in the same order, whatever else runs
            return best_size(self.components, scored, watch, largest=len(encoding.weights))

    def _followed(
        self, encoding: Encoding, size: int, rng: np.random.Generator, valid: Table | None, watch: Watch
    ) -> tuple[TreeMixture, float]:
        """The mixture that EM leads to, the best of its way on validation rows, and its mean score."""
        begin = Climb(restarts=self.restarts, steps=self.begin_steps, smoothing=self.smoothing)
        share = memberships(encoding, fit_mixture(encoding, size, rng, begin, watch))
        how = TreeClimb(smoothing=self.smoothing, sharing=self.sharing, link_cost=self.link_cost)
        best, best_score, since, before = None, -np.inf, 0, -np.inf
        for step, (mixture, train) in enumerate(climb_trees(encoding, share, how)):
            score = train if valid is None else mixture.mean_log_prob(valid)
            since = 0 if score > best_score else since + 1
            if best is None or score > best_score:
                best, best_score = mixture, score
            watch.report(f"{share.shape[1]} trees", step + 1, self.steps, best_score)
            if step + 1 >= self.steps or since >= self.patience or train - before < self.tolerance:
                break
            if watch.should_stop():
                break
            before = train
        assert best is not None
        return best, best_score

    def _price(self, graph: Graph, encoding: Encoding) -> float:
        """A row's share of the price of the parameters."""
        return 0.5 * self.penalty * parameter_count(graph) * log(max(encoding.total, 1.0)) / encoding.rows
