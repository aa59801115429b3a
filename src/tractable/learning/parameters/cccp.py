"""Expectation maximisation on all rows: the concave-convex procedure, and hard EM by most probable trees."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.base.progress import Watch
from tractable.base.settings import redeclare, setting
from tractable.circuit import Graph, normalise
from tractable.data import Table
from tractable.engine.expectations import Expecter
from tractable.learning.parameters.entropy import spread_counts
from tractable.learning.parameters.method import Method, Step, WeightedRows
from tractable.learning.parameters.softening import soften
from tractable.learning.parameters.updates import refit_blocks, smoothed_weights, sum_edges

DRAWS = 4  # copies that are drawn of each softened row, once for all steps


@dataclass(frozen=True, kw_only=True)
class ExpectationMaximisation(Method):
    """Each step sets the weights of a sum in proportion to the expected use of its edges, and refits leaves.

    With `softness` the noisy rows are drawn once, so that all steps maximise the same objective; the scores
    are those of the rows drawn.
    """

    hard: ClassVar[bool] = False  # whether a row counts for its best induced tree alone

    smoothing: float = setting(
        0.01, "Pseudo-count of each sum node, spread evenly over its edges.", at_least=0
    )
    leaf_smoothing: float = setting(0.1, "Pseudo-count of each leaf.", at_least=0)
    anchor: float = setting(
        0.0,
        "Pseudo-count of each sum node, spread over its edges in proportion to its initial weights.",
        at_least=0,
    )
    softness: float = setting(
        0.0,
        "Probability with which a categorical cell of a training row is replaced by a random state (data"
        " softening).",
        at_least=0,
        at_most=1,
    )
    entropy: float = setting(
        0.0,
        "Weight of the entropy regularisation, in nats of a row's log-likelihood per nat of the circuit's"
        " entropy.",
        at_least=0,
    )

    def prepare(self, graph: Graph, table: Table) -> Graph:
        """The circuit locally normalised, with constants moved into weights (equation 6 of the paper)."""
        return normalise(graph).graph

    def steps(
        self, graph: Graph, rows: WeightedRows, rng: np.random.Generator, watch: Watch, after: Step | None
    ) -> Iterator[Step]:
        """Circuits after one E step and one M step each; noisy rows are drawn as in the first run."""
        expecter = Expecter(graph)
        rows = soften(rows, graph.schema, self.softness, rng, DRAWS)
        price = self.entropy * rows.total
        anchored = np.where(sum_edges(graph), self.anchor * np.exp(graph.log_weight), 0.0)
        graph = graph if after is None else after.graph
        while True:
            expected = expecter.expectations(
                graph, rows.values, rows.weights, hard=self.hard, between=watch.break_off
            )
            yield Step(graph, rows.mean(expected.log_value))
            held = expected._replace(edge=expected.edge + anchored)
            counts = spread_counts(graph, held, price, self.smoothing, self.leaf_smoothing)
            graph = graph.with_parameters(
                log_weight=smoothed_weights(graph, counts, self.smoothing),
                blocks=refit_blocks(graph, counts, rows.values, self.leaf_smoothing),
            )


@final
@dataclass(frozen=True, kw_only=True)
class CCCP(ExpectationMaximisation):
    """Zhao, Poupart and Gordon, «A Unified Approach for Learning the Parameters of SPNs», NIPS 2016.

    This is the multiplicative update of their equation 7, which is EM. Without smoothing, the log-likelihood
    of the counted rows never decreases. Where all leaves are over categorical columns, the same holds for the
    log-likelihood plus the entropy times its weight.
    """

    name: ClassVar[str] = "cccp"
    title: ClassVar[str] = "concave-convex procedure (EM)"

    # These defaults raised the validation score on eight tables out of eight.
    tolerance: float = redeclare(ExpectationMaximisation, "tolerance", 0.0001)
    smoothing: float = redeclare(ExpectationMaximisation, "smoothing", 5.0)
    leaf_smoothing: float = redeclare(ExpectationMaximisation, "leaf_smoothing", 0.3)


@final
@dataclass(frozen=True, kw_only=True)
class HardEM(ExpectationMaximisation):
    """EM in which each row counts for its most probable induced tree; the scores are those of these trees."""

    name: ClassVar[str] = "hard-em"
    title: ClassVar[str] = "hard EM"
    hard: ClassVar[bool] = True
