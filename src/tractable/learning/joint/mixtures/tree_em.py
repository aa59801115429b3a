"""Mixtures of Chow-Liu trees, fitted by EM.

The M step learns each tree from the rows weighted by its responsibilities. Rows with negligible
responsibilities are skipped, so that many trees cost little more than one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from tractable.base.arrays import Floats
from tractable.base.progress import Key, Watch
from tractable.circuit import Builder, Graph
from tractable.data import Schema, Table
from tractable.engine import log_values
from tractable.learning.statistics.conditionals import forest_tables
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.estimates import LEAST_SMOOTHING
from tractable.learning.statistics.forests import Forest, chow_liu_forest, forest_node

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
