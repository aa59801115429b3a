"""The concave-convex procedure, which for circuits is expectation maximisation."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.circuit import Graph, normalise
from tractable.data import Table
from tractable.engine.expectations import Expecter
from tractable.parameters.entropy import check_entropy, spread_counts
from tractable.parameters.method import Method, Step, WeightedRows
from tractable.parameters.softening import check_softness, soften
from tractable.parameters.updates import refit_leaves, smoothed_weights, sum_edges

DRAWS = 4  # copies that are drawn of each softened row, once for all steps


@dataclass(frozen=True, kw_only=True)
class ExpectationMaximisation(Method):
    """Each step sets the weights of a sum in proportion to the expected use of its edges, and refits leaves.

    With `softness` the noisy rows are drawn once, so that all steps maximise the same objective; the scores
    are those of the rows drawn.
    """

    hard: ClassVar[bool] = False  # whether a row counts for its best induced tree alone

    smoothing: float = 0.01  # imaginary rows at each sum, spread over its edges
    leaf_smoothing: float = 0.1  # imaginary rows at each leaf
    anchor: float = 0.0  # imaginary rows at each sum that go as its weights go at first
    softness: float = 0.0  # how often a cell of states counts as a state drawn at random
    entropy: float = 0.0  # what a nat of the circuit's entropy is worth, in nats of a row's log-likelihood

    def __post_init__(self) -> None:
        check_softness(self.softness)
        check_entropy(self.entropy)
        if not self.anchor >= 0:
            raise ValueError(f"anchor is a number of rows from 0 up, not {self.anchor}")

    def prepare(self, graph: Graph, table: Table) -> Graph:
        """The circuit locally normalised, with constants moved into weights (equation 6 of the paper)."""
        return normalise(graph).graph

    def steps(self, graph: Graph, rows: WeightedRows, rng: np.random.Generator) -> Iterator[Step]:
        """Circuits after one E step and one M step each."""
        expecter = Expecter(graph)
        rows = soften(rows, graph.schema, self.softness, rng, DRAWS)
        price = self.entropy * rows.total
        anchored = np.where(sum_edges(graph), self.anchor * np.exp(graph.log_weight), 0.0)
        while True:
            expected = expecter.expectations(graph, rows.values, rows.weights, hard=self.hard)
            yield Step(graph, rows.mean(expected.log_value))
            held = expected._replace(edge=expected.edge + anchored)
            counts = spread_counts(graph, held, price, self.smoothing, self.leaf_smoothing)
            graph = graph.with_parameters(
                log_weight=smoothed_weights(graph, counts, self.smoothing),
                leaves=refit_leaves(graph, counts, rows.values, self.leaf_smoothing),
            )


@final
@dataclass(frozen=True, kw_only=True)
class CCCP(ExpectationMaximisation):
    """Zhao, Poupart and Gordon, «A Unified Approach for Learning the Parameters of Sum-Product Networks»,
    NIPS 2016.

    This is the multiplicative update of their equation 7, which is EM. Without smoothing, the log-likelihood
    of the counted rows never decreases. Where all leaves are over categorical columns, the same holds for the
    log-likelihood plus the entropy times its weight.
    """

    name: ClassVar[str] = "cccp"
    title: ClassVar[str] = "concave-convex procedure (EM)"

    tolerance: float = 0.0001
    smoothing: float = 5.0  # defaults that raised the held-out score on eight tables out of eight
    leaf_smoothing: float = 0.3
