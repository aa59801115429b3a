"""Chow and Liu, «Approximating Discrete Probability Distributions with Dependence Trees», 1968."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.circuit import Builder, Graph
from tractable.data import Table
from tractable.learners.conditionals import forest_tables
from tractable.learners.encoding import Encoding, encode
from tractable.learners.learner import Learner, require_at_least
from tractable.learners.spaces import Between, Space
from tractable.learners.statistics import link_gains, link_parameters
from tractable.learners.trees import Forest, best_forest, categorical_mask, forest_node
from tractable.progress import Watch

ROUNDING = 1e-9  # nats a row that rounding alone may seem to gain


@final
@dataclass(frozen=True, kw_only=True)
class ChowLiuLearner(Learner):
    """The tree of columns that tell most about each other; a number is told by one categorical column."""

    name: ClassVar[str] = "chow-liu"
    title: ClassVar[str] = "Chow-Liu tree"
    space: ClassVar[Space] = {
        "smoothing": Between(0.01, 100, log=True),
        "link_cost": Between(0, 10),
    }

    smoothing: float = 1.0  # imaginary rows in each distribution
    link_cost: float = 1.0  # nats that a link must gain on all rows together for each parameter it adds

    def __post_init__(self) -> None:
        require_at_least(self, smoothing=0, link_cost=0)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        encoding = encode(table)
        forest = chow_liu_forest(encoding, self.smoothing, self.link_cost)
        watch.report("tree", 1, 2)
        builder = Builder(table.schema)
        root = forest_node(builder, forest, forest_tables(encoding, forest, self.smoothing))
        watch.report("circuit", 2, 2)
        return builder.freeze(root)


def chow_liu_forest(encoding: Encoding, smoothing: float, link_cost: float = 0.0) -> Forest:
    """The forest of greatest log-likelihood, less `link_cost` for each parameter that a link adds."""
    gain = link_gains(encoding, smoothing)
    gain[gain <= ROUNDING * encoding.total] = 0.0
    return best_forest(gain - link_cost * link_parameters(encoding.schema), categorical_mask(encoding.schema))
