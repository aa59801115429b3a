"""Chow and Liu, «Approximating Discrete Probability Distributions with Dependence Trees», 1968."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.circuit import Builder, Graph
from tractable.data import Table
from tractable.learners.learner import Learner, require_at_least
from tractable.progress import Watch
from tractable.settings.spaces import Between, Space
from tractable.statistics.conditionals import forest_tables
from tractable.statistics.encoding import encode
from tractable.statistics.forests import chow_liu_forest, forest_node


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
