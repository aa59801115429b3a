"""Mixtures of Chow-Liu trees, fitted by EM.

The M step learns each tree from the rows weighted by its responsibilities. Rows with negligible
responsibilities are skipped, so that many trees cost little more than one.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple, final

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.arrays import Floats
from tractable.base.progress import Key, Stopped, Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit import Builder, Graph
from tractable.data import Schema, Table, collapse
from tractable.engine import log_values
from tractable.learning.joint.naive_bayes import NaiveBayesLearner, best_size
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.conditionals import forest_tables
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.estimates import LEAST_SMOOTHING
from tractable.learning.statistics.forests import Forest, chow_liu_forest, forest_node
from tractable.learning.statistics.pieces import learn_through_pieces
from tractable.learning.statistics.product_mixtures import Mixture, ProductEM, fit_mixture, memberships
from tractable.learning.statistics.stack_weights import bic_penalty

NEGLIGIBLE = 1e-6  # rows that belong to a tree with less than this probability are left out
SAMPLE = 1000  # rows that represent the whole table in every tree


@dataclass(frozen=True, kw_only=True)
class TreeEM:
    """The settings of EM."""

    smoothing: float  # pseudo-counts of each distribution of each tree
    sharing: float  # weight, in rows, of the whole table's sample in each tree
    link_cost: float  # nats that a link must gain on a tree's rows for each parameter it adds


class FittedTree(NamedTuple):
    """A forest over the columns and its distributions."""

    forest: Forest
    tables: list[Floats]

    def circuit(self, schema: Schema) -> Graph:
        """The tree as a circuit."""
        builder = Builder(schema)
        return builder.freeze(forest_node(builder, self.forest, self.tables))


class TreeMixture(NamedTuple):
    """Trees and the logarithms of their mixture weights."""

    trees: list[FittedTree]
    log_weights: Floats  # (trees,)

    def circuit(self, schema: Schema) -> Graph:
        """The mixture as a circuit; a tree alone when there is one."""
        if len(self.trees) == 1:
            return self.trees[0].circuit(schema)
        builder = Builder(schema)
        roots = [forest_node(builder, tree.forest, tree.tables) for tree in self.trees]
        return builder.freeze(builder.sum(roots, self.log_weights))

    def joint_logs(self, table: Table) -> Floats:
        """The joint log-probability of each row and each tree. Shape (rows, trees)."""
        circuits = [tree.circuit(table.schema) for tree in self.trees]
        return np.stack([log_values(c, table.values) for c in circuits], axis=1) + self.log_weights

    def mean_log_prob(self, table: Table) -> float:
        """The mean log-likelihood of a table's rows."""
        logs = np.logaddexp.reduce(self.joint_logs(table), axis=1)
        return float(logs @ table.row_weights) / (table.total_weight or 1.0)


@dataclass(slots=True)
class TreeCourse:
    """The iterations of EM so far, and the best mixture that they have led to."""

    last: TreeMixture | None = None
    best: TreeMixture | None = None
    best_score: float = -np.inf
    since: int = 0  # iterations since the best one
    before: float = -np.inf  # the mean log-likelihood of the training rows before the next iteration
    steps: int = 0

    def record(self, mixture: TreeMixture, train: float, score: float) -> float:
        """Take in an iteration, and return what the training rows have gained by it."""
        self.since = 0 if score > self.best_score else self.since + 1
        if self.best is None or score > self.best_score:
            self.best, self.best_score = mixture, score
        gained, self.before = train - self.before, train
        self.last, self.steps = mixture, self.steps + 1
        return gained


TREE_COURSE = Key(__name__, "course", TreeCourse)


def iterate_tree_em(
    encoding: Encoding, share: Floats, settings: TreeEM, watch: Watch, last: TreeMixture | None = None
) -> Iterator[tuple[TreeMixture, float]]:
    """The mixture of trees after each EM iteration, with the mean log-likelihood of the rows.

    `share` is the initial probability of each tree given each row, (rows, trees). With `last` iterations go
    on after that mixture.

    Raises:
        Stopped: if the watch says so.
    """
    if last is not None:
        share = _shares(last.joint_logs(encoding.table))[0]
    while True:
        mixture = _fit(encoding, share, settings, watch)
        watch.break_off()
        share, logs = _shares(mixture.joint_logs(encoding.table))
        yield mixture, float(encoding.weights @ logs) / encoding.rows


def _shares(joint: Floats) -> tuple[Floats, Floats]:
    """The responsibilities of trees for each row, and the log-probabilities of the rows."""
    logs = np.logaddexp.reduce(joint, axis=1)
    return np.exp(joint - logs[:, None]), logs


def _fit(encoding: Encoding, share: Floats, settings: TreeEM, watch: Watch) -> TreeMixture:
    """The M step: the best tree for each column of responsibilities."""
    common = _common(encoding, settings.sharing if share.shape[1] > 1 else 0.0)
    weighed = (encoding.weights * line + common for line in share.T)
    trees = Parallel(prefer="threads")(
        delayed(_tree)(encoding, weights, settings, watch) for weights in weighed
    )
    weight = encoding.weights @ share + max(settings.smoothing, LEAST_SMOOTHING)
    return TreeMixture(list(trees), np.log(weight / weight.sum()))


def _common(encoding: Encoding, weight: float) -> Floats:
    """Weights with sum `weight` of rows that are evenly spread over the table."""
    size = len(encoding.weights)
    chosen = np.unique(np.linspace(0, size - 1, min(size, SAMPLE)).astype(np.int64))
    answer = np.zeros(size)
    answer[chosen] = encoding.weights[chosen]
    return answer * (weight / (answer.sum() or 1.0))


def _tree(encoding: Encoding, weights: Floats, settings: TreeEM, watch: Watch) -> FittedTree:
    """The Chow-Liu tree of weighted rows."""
    watch.break_off()
    counted = np.flatnonzero(weights > NEGLIGIBLE * encoding.weights)
    rows = encoding.with_weights(weights).part(counted, np.arange(len(encoding.schema)))
    forest = chow_liu_forest(rows, settings.smoothing, settings.link_cost, watch)
    return FittedTree(forest, forest_tables(rows, forest, settings.smoothing))


# ---- meila and Jordan, «Learning with Mixtures of Trees», 2000 ------------------------------------------


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
