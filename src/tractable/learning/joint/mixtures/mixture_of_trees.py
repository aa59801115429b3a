"""Meila and Jordan, «Learning with Mixtures of Trees», 2000."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.progress import Key, Stopped, Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit import Graph
from tractable.data import Table, collapse
from tractable.learning.joint.mixtures.naive_bayes import NaiveBayesLearner
from tractable.learning.joint.mixtures.size import best_size
from tractable.learning.joint.mixtures.tree_em import (
    TREE_COURSE,
    TreeCourse,
    TreeEM,
    TreeMixture,
    iterate_tree_em,
)
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.pieces import learn_through_pieces
from tractable.learning.statistics.product_mixtures import Mixture, ProductEM, fit_mixture, memberships
from tractable.learning.statistics.scores import bic_penalty

PRODUCTS = Key(__name__, "products", Mixture)


@final
@dataclass(frozen=True, kw_only=True)
class MixtureOfTreesLearner(PoolingLearner):
    """A mixture of Chow-Liu trees, fitted by EM.

    EM starts from a naive Bayes mixture. Several numbers of trees are tried. The one with the best score on
    the validation rows is kept or, without validation rows, the one with the best penalised likelihood.
    Numeric columns are discretised into intervals, with a density on each.
    """

    name: ClassVar[str] = "mixture-of-trees"
    title: ClassVar[str] = "mixture of trees"

    components: tuple[int, ...] = setting(
        (1, 2, 4, 8, 16, 32),
        "Numbers of trees to try, in ascending order. The search ends when larger numbers no longer improve"
        " the score.",
        at_least=1,
    )
    smoothing: float = setting(
        0.5,
        "Pseudo-count of each distribution in each tree. Two thirds of it are used in tables with numeric"
        " columns.",
        at_least=0,
        search=Between(0.05, 5, log=True),
    )
    sharing: float = setting(
        30.0,
        "Weight, in rows, of a sample of the whole table that is added to the rows of each tree, which"
        " shrinks trees with few rows towards the tree of all rows.",
        at_least=0,
        search=Between(1, 300, log=True),
    )
    link_cost: float = setting(
        0.0,
        "Minimum gain in log-likelihood, in nats over the rows of a tree, for each parameter that an edge"
        " of the tree adds.",
        at_least=0,
        search=Between(0, 5),
    )
    restarts: int = setting(
        4, "Number of random initialisations of the naive Bayes mixture. The best one is kept.", at_least=1
    )
    begin_steps: int = setting(
        20, "Maximum number of EM iterations for the initial naive Bayes mixture.", at_least=0
    )
    steps: int = setting(50, "Maximum number of EM iterations for the mixture of trees.", at_least=1)
    tolerance: float = setting(
        1e-3,
        "Minimum gain per EM iteration, in nats per row. EM stops when an iteration gains less.",
        at_least=0,
    )
    patience: int = setting(
        3,
        "Early stopping: EM ends after this many iterations without improvement on the validation rows.",
        at_least=1,
    )
    penalty: float = redeclare(NaiveBayesLearner, "penalty", 1.0)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        def learn(part: Table, held_out: Table | None) -> Graph:
            # A stray row widens a group of numbers a lot, and each tree of the mixture has its own.
            learner = self if part.schema == table.schema else replace(self, smoothing=self.smoothing * 2 / 3)
            return learner._learn_states(part, rng, held_out, watch)

        return Learned(learn_through_pieces(table, valid, learn))

    def _learn_states(
        self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch
    ) -> Graph:
        """The mixture over a table of categorical columns."""
        encoding = encode(table)
        held_out = None if valid is None else collapse(valid)[0]

        def score_size(size: int, watch: Watch) -> tuple[Graph, float]:
            mixture, score = self._fit(encoding, size, rng, held_out, watch)
            graph = mixture.circuit(encoding.schema)
            return graph, score if held_out is not None else score - self.penalty * bic_penalty(
                graph, encoding
            )

        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            return best_size(self.components, score_size, watch, encoding, rng)

    def _fit(
        self, encoding: Encoding, size: int, rng: np.random.Generator, valid: Table | None, watch: Watch
    ) -> tuple[TreeMixture, float]:
        """The mixture fitted by EM with early stopping on the validation rows, and its mean score."""
        begin = ProductEM(restarts=self.restarts, steps=self.begin_steps, smoothing=self.smoothing)
        work = partial(fit_mixture, encoding, size, rng, begin)
        share = memberships(encoding, watch.remember(PRODUCTS, work, rng))
        em = TreeEM(smoothing=self.smoothing, sharing=self.sharing, link_cost=self.link_cost)
        course = watch.checkpoint(TREE_COURSE) or TreeCourse()
        with suppress(Stopped):
            for mixture, train in iterate_tree_em(encoding, share, em, watch, course.last):
                score = train if valid is None else mixture.mean_log_prob(valid)
                gained = course.record(mixture, train, score)
                watch.report(f"{share.shape[1]} trees", course.steps, self.steps, course.best_score)
                if course.steps >= self.steps or course.since >= self.patience or gained < self.tolerance:
                    break
                if watch.should_stop():
                    break
                watch.save_checkpoint(TREE_COURSE, lambda: course)
        if course.best is None:  # there was no time for a single iteration
            return next(iterate_tree_em(encoding, np.ones((len(encoding.weights), 1)), em, Watch()))
        return course.best, course.best_score
