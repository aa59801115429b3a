"""Mixtures of Chow-Liu trees, fitted by expectation maximisation (EM).

The maximisation step learns each tree from the rows, weighted by the probability that they belong to it. Rows
with a negligible probability are left out of a tree's counts, so that many trees cost little more than one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from tractable.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.data import Schema, Table
from tractable.engine import log_values
from tractable.statistics.conditionals import forest_tables
from tractable.statistics.encoding import Encoding
from tractable.statistics.estimates import LEAST_SMOOTHING
from tractable.statistics.forests import Forest, chow_liu_forest, forest_node

NEGLIGIBLE = 1e-6  # rows that belong to a tree with less than this probability are left out
SAMPLE = 1000  # rows that represent the whole table in every tree


@dataclass(frozen=True, kw_only=True)
class TreeEM:
    """How the trees are fitted."""

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
        """The log-probability of each row together with each tree. Shape (rows, trees)."""
        circuits = [tree.circuit(table.schema) for tree in self.trees]
        return np.stack([log_values(c, table.values) for c in circuits], axis=1) + self.log_weights

    def mean_log_prob(self, table: Table) -> float:
        """The mean log-likelihood of a table's rows."""
        logs = np.logaddexp.reduce(self.joint_logs(table), axis=1)
        return float(logs @ table.row_weights) / (table.total_weight or 1.0)


def iterate_tree_em(encoding: Encoding, share: Floats, how: TreeEM) -> Iterator[tuple[TreeMixture, float]]:
    """The mixture of trees after each iteration of EM, without end, with the rows' mean log-likelihood.

    `share` is the initial probability of each tree given each row, (rows, trees).
    """
    while True:
        mixture = _fit(encoding, share, how)
        joint = mixture.joint_logs(encoding.table)
        logs = np.logaddexp.reduce(joint, axis=1)
        yield mixture, float(encoding.weights @ logs) / encoding.rows
        share = np.exp(joint - logs[:, None])


def _fit(encoding: Encoding, share: Floats, how: TreeEM) -> TreeMixture:
    """The maximisation step: the best tree for each column of `share`."""
    common = _common(encoding, how.sharing if share.shape[1] > 1 else 0.0)
    weighed = (encoding.weights * line + common for line in share.T)
    trees = Parallel(prefer="threads")(delayed(_tree)(encoding, weights, how) for weights in weighed)
    weight = encoding.weights @ share + max(how.smoothing, LEAST_SMOOTHING)
    return TreeMixture(list(trees), np.log(weight / weight.sum()))


def _common(encoding: Encoding, weight: float) -> Floats:
    """Weights, which sum to `weight`, of some rows spread evenly over the table."""
    size = len(encoding.weights)
    chosen = np.unique(np.linspace(0, size - 1, min(size, SAMPLE)).astype(np.int64))
    answer = np.zeros(size)
    answer[chosen] = encoding.weights[chosen]
    return answer * (weight / (answer.sum() or 1.0))


def _tree(encoding: Encoding, weights: Floats, how: TreeEM) -> FittedTree:
    """The Chow-Liu tree of weighted rows."""
    counted = np.flatnonzero(weights > NEGLIGIBLE * encoding.weights)
    rows = encoding.with_weights(weights).part(counted, np.arange(len(encoding.schema)))
    forest = chow_liu_forest(rows, how.smoothing, how.link_cost)
    return FittedTree(forest, forest_tables(rows, forest, how.smoothing))
