"""Chow and Liu, «Approximating Discrete Probability Distributions with Dependence Trees», 1968."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.base.progress import Watch
from tractable.base.settings import Between, setting
from tractable.circuit import Builder, Graph
from tractable.data import Table
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.conditionals import forest_tables
from tractable.learning.statistics.encoding import encode, encode_for_trees, with_all_rows
from tractable.learning.statistics.forests import chow_liu_forest, forest_node
from tractable.learning.statistics.pieces import learn_through_pieces


@final
@dataclass(frozen=True, kw_only=True)
class ChowLiuLearner(PoolingLearner):
    """The tree-shaped Bayesian network with the highest mutual information along its edges.

    Numeric columns are discretised into intervals, with a density on each.
    """

    name: ClassVar[str] = "chow-liu"
    title: ClassVar[str] = "Chow-Liu tree"

    smoothing: float = setting(
        1.0,
        "Pseudo-count of each distribution. The marginal distribution of a column is smoothed towards the"
        " uniform distribution, a conditional distribution towards the marginal one.",
        at_least=0,
        search=Between(0.01, 100, log=True),
    )
    link_cost: float = setting(
        1.0,
        "Minimum gain in log-likelihood, in nats over all rows, for each parameter that an edge of the tree"
        " adds. Larger values give forests with fewer edges.",
        at_least=0,
        search=Between(0, 10),
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        def learn(part: Table, held_out: Table | None) -> Graph:
            encoding = encode(part) if part is table else encode_for_trees(part)
            forest = chow_liu_forest(encoding, self.smoothing, self.link_cost, watch)
            encoding = encoding if part is table else with_all_rows(encoding, part)
            watch.report("tree", 1, 2)
            builder = Builder(part.schema)
            root = forest_node(builder, forest, forest_tables(encoding, forest, self.smoothing))
            watch.report("circuit", 2, 2)
            return builder.freeze(root)

        return Learned(learn_through_pieces(table, valid, learn))
