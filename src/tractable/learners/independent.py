"""All columns independent: the yardstick of every other learner."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.circuit import Builder, Graph
from tractable.data import Table
from tractable.learners.learner import Learner, require_at_least
from tractable.progress import Watch
from tractable.settings.spaces import Between, Space
from tractable.statistics.encoding import encode
from tractable.statistics.estimates import estimates, product_nodes, smoothed_sums


@final
@dataclass(frozen=True, kw_only=True)
class IndependentLearner(Learner):
    """A product of one fitted leaf a column."""

    name: ClassVar[str] = "independent"
    title: ClassVar[str] = "independent columns"
    space: ClassVar[Space] = {
        "smoothing": Between(0.01, 100, log=True),
    }

    smoothing: float = 1.0  # imaginary rows, spread evenly over the states

    def __post_init__(self) -> None:
        require_at_least(self, smoothing=0)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        encoding = encode(table)
        sums = encoding.sums(np.ones((len(encoding.weights), 1)))
        builder = Builder(table.schema)
        product_nodes(builder, encoding, estimates(encoding, smoothed_sums(encoding, sums, self.smoothing)))
        watch.report("leaves", len(table.schema), len(table.schema))
        return builder.freeze()
