"""Independent columns, the baseline of all learners."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np

from tractable.base.progress import Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.circuit import Builder, Graph
from tractable.data import Table
from tractable.learning.learner import Learned, Learner
from tractable.learning.statistics.encoding import encode
from tractable.learning.statistics.estimates import estimates, product_nodes, smoothed_sums
from tractable.learning.statistics.pieces import learn_through_pieces


@final
@dataclass(frozen=True, kw_only=True)
class IndependentLearner(Learner):
    """A product of independent distributions, one for each column: the baseline of all learners."""

    name: ClassVar[str] = "independent"
    title: ClassVar[str] = "independent columns"

    smoothing: float = setting(
        1.0,
        "Pseudo-count of each column, spread evenly over its states. A numeric column is smoothed towards"
        " its sample mean and variance.",
        at_least=0,
        search=Between(0.01, 100, log=True),
    )

    numbers: Literal["pieces", "one-leaf"] = setting(
        "pieces",
        "Distribution of a numeric column: a density on each of several intervals, which can follow any"
        " shape (pieces), or a single parametric distribution, which is Gaussian or, for counts, Poisson or"
        " negative binomial (one-leaf).",
        search=OneOf("pieces", "one-leaf"),
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        def learn(part: Table, _held_out: Table | None) -> Graph:
            encoding = encode(part)
            share = np.ones((len(encoding.weights), 1))
            sums = smoothed_sums(encoding, encoding.sums(share), self.smoothing)
            builder = Builder(part.schema)
            product_nodes(builder, encoding, estimates(encoding, sums), share, self.smoothing)
            watch.report("leaves", len(part.schema), len(part.schema))
            return builder.freeze()

        if self.numbers == "one-leaf":
            return Learned(learn(table, valid))
        return Learned(learn_through_pieces(table, valid, learn))
