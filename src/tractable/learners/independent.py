"""All columns independent: the baseline of every other learner."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.circuit import Builder
from tractable.data import Table
from tractable.learners.learner import Learned, Learner
from tractable.progress import Watch
from tractable.settings import Between, setting
from tractable.statistics.encoding import encode
from tractable.statistics.estimates import estimates, product_nodes, smoothed_sums


@final
@dataclass(frozen=True, kw_only=True)
class IndependentLearner(Learner):
    """All columns independent of each other: one fitted leaf a column, the baseline of all other learners."""

    name: ClassVar[str] = "independent"
    title: ClassVar[str] = "independent columns"

    smoothing: float = setting(
        1.0,
        "Pseudo-counts of each column, spread evenly over its states; a numeric column is smoothed towards"
        " its own mean and variance.",
        at_least=0,
        search=Between(0.01, 100, log=True),
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        encoding = encode(table)
        sums = encoding.sums(np.ones((len(encoding.weights), 1)))
        builder = Builder(table.schema)
        product_nodes(builder, encoding, estimates(encoding, smoothed_sums(encoding, sums, self.smoothing)))
        watch.report("leaves", len(table.schema), len(table.schema))
        return Learned(builder.freeze())
