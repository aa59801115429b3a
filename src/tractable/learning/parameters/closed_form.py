"""The weights of maximum likelihood of a selective circuit, in one sweep."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.base.progress import Watch
from tractable.base.settings import redeclare, setting
from tractable.circuit import Graph, explain_deterministic, normalise
from tractable.data import Table
from tractable.engine.expectations import Expecter
from tractable.learning.parameters.method import Method, Step, WeightedRows
from tractable.learning.parameters.updates import refit_blocks, smoothed_weights


@final
@dataclass(frozen=True, kw_only=True)
class ClosedForm(Method):
    """Peharz, Gens and Domingos, «Learning Selective Sum-Product Networks», 2014, equation 9.

    In a selective circuit a complete row uses at most one edge of each sum, whatever the weights, so that the
    parameters of maximum likelihood are relative counts.
    """

    name: ClassVar[str] = "closed-form"
    title: ClassVar[str] = "closed form"

    iterations: int = redeclare(Method, "iterations", 1)  # one iteration finds the maximum
    smoothing: float = setting(
        1.0, "Pseudo-count of each sum node, spread evenly over its edges.", at_least=0
    )
    leaf_smoothing: float = setting(1.0, "Pseudo-count of each leaf.", at_least=0)

    def prepare(self, graph: Graph, table: Table) -> Graph:
        """The circuit locally normalised; only selective circuits and complete rows are accepted."""
        fault = explain_deterministic(graph)
        if fault is not None:
            raise ValueError(f"the circuit is not selective, so there is no closed form: {fault}")
        if table.missing.any():
            row, column = np.argwhere(table.missing)[0]
            name = table.schema[int(column)].name
            raise ValueError(f"column '{name}', row {row} is missing: the closed form needs complete rows")
        return normalise(graph).graph

    def steps(
        self, graph: Graph, rows: WeightedRows, rng: np.random.Generator, watch: Watch, after: Step | None
    ) -> Iterator[Step]:
        """The circuit as it comes, and then the one of maximum likelihood."""
        graph = graph if after is None else after.graph
        expecter = Expecter(graph)
        expected = expecter.expectations(graph, rows.values, rows.weights)
        yield Step(graph, rows.mean(expected.log_value))
        graph = graph.with_parameters(
            log_weight=smoothed_weights(graph, expected, self.smoothing),
            blocks=refit_blocks(graph, expected, rows.values, self.leaf_smoothing),
        )
        yield Step(graph, rows.mean(expecter.log_values(graph, rows.values)))
