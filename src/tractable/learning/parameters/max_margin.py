"""Max-margin parameters: the true targets shall beat all others by a margin, their loss."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, final

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.progress import Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit import Graph, explain_validity, is_deterministic
from tractable.data import Table
from tractable.engine import log_values
from tractable.learning.parameters.discriminative import Discriminative
from tractable.learning.parameters.loss_augmented import Loss, augment
from tractable.learning.parameters.method import Method, Step, WeightedRows
from tractable.learning.parameters.openings import OpenCircuit, open_circuit
from tractable.learning.parameters.vector import ParameterVector


class Hinges(NamedTuple):
    """What rows violate of their margins."""

    worst: Floats  # (rows, columns) the targets that violate them most
    violation: Floats  # (rows,) the structured hinge loss


@final
@dataclass(frozen=True, kw_only=True)
class MaxMargin(Method):
    """Minimises the structured hinge loss of the targets given all other columns, by subgradients.

    The hinge loss of a row is by how much another assignment of the targets, its loss added, beats the true
    one in log-value. The worst such assignment is a most probable one of a circuit with factors for the loss,
    which is exact because the circuit must be deterministic (Rooshenas, 2017, section 6.1.1). The result
    predicts by its most probable completions; its probabilities are not fitted to the rows.
    """

    name: ClassVar[str] = "max-margin"
    title: ClassVar[str] = "structured hinge loss"
    score_name: ClassVar[str] = "negative_hinge"

    targets: tuple[str, ...] = redeclare(Discriminative, "targets", ())
    loss: Literal["hamming", "zero-one"] = setting(
        "hamming",
        "Loss function that defines the required margin: the number of wrong targets (hamming), or one if"
        " any target is wrong (zero-one), which takes one sweep per target.",
    )
    iterations: int = redeclare(Method, "iterations", 60)
    tolerance: float = redeclare(Method, "tolerance", 0.0)
    patience: int = redeclare(Method, "patience", 15)
    learning_rate: float = setting(
        0.1,
        "Initial learning rate of each parameter (AdaGrad).",
        at_least=1e-9,
        search=Between(0.01, 1, log=True),
    )
    deviation: float = redeclare(Discriminative, "deviation", 1.0)

    def prepare(self, graph: Graph, table: Table) -> Graph:
        """The circuit itself, if the most probable targets can be found in it.

        Raises:
            ValueError: if it is not deterministic, its targets cannot be maximised out, or cells are missing.
        """
        targets = self.columns(graph)
        missing = np.argwhere(table.missing[table.row_weights > 0])
        if missing.size:
            name = graph.schema[int(missing[0, 1])].name
            raise ValueError(f"column '{name}' has missing cells: the margin requires complete rows")
        fault = explain_validity(graph, targets.tolist())
        if fault is None and not is_deterministic(graph):
            fault = "it is not deterministic, so that sums have no single largest term"
        if fault is not None:
            raise ValueError(f"most probable targets cannot be found in the circuit: {fault}")
        return graph

    def columns(self, graph: Graph) -> Ints:
        """The target columns."""
        return np.array(Discriminative(targets=self.targets).columns(graph.schema), dtype=np.int64)

    def steps(
        self, graph: Graph, rows: WeightedRows, rng: np.random.Generator, watch: Watch, after: Step | None
    ) -> Iterator[Step]:
        """The subgradient steps; a later run keeps the initial parameters of the first one."""
        descent = _Descent(graph, rows, self)
        state = np.zeros((2, len(descent.vector))) if after is None else np.array(after.memory)
        yield Step(graph, descent.score(graph), state) if after is None else after
        while True:
            watch.break_off()
            state = descent.improve(state)
            better = descent.graph_at(state[0])
            yield Step(better, descent.score(better), state)

    def score(self, graph: Graph, rows: WeightedRows) -> float:
        """The mean structured hinge loss, less than zero so that more is better."""
        return -rows.mean(hinges(graph, rows.values, self.columns(graph), self.loss).violation)

    def remark(self, graph: Graph) -> str | None:
        """What was fitted, for the provenance of the result."""
        names = ", ".join(graph.schema[c].name for c in self.columns(graph).tolist())
        return f"the most probable {names} given all others, by {self.loss} loss; probabilities are not"


def hinges(graph: Graph, rows: Floats, targets: Ints, loss: Loss) -> Hinges:
    """The structured hinge loss of each row, and the targets that violate its margin most."""
    worst = augment(graph, targets).worst(rows, loss)
    wrong: Bools = worst[:, targets] != rows[:, targets]
    cost = wrong.sum(axis=1) if loss == "hamming" else wrong.any(axis=1)
    with np.errstate(invalid="ignore"):
        excess = cost + log_values(graph, worst) - log_values(graph, rows)
    return Hinges(worst, np.maximum(np.where(wrong.any(axis=1), excess, 0.0), 0.0))


class _Descent:
    """The regularised hinge loss as a function of how far the parameters are from where they began."""

    def __init__(self, graph: Graph, rows: WeightedRows, method: MaxMargin) -> None:
        self._graph, self._rows, self._how = graph, rows, method
        self._targets = method.columns(graph)
        self.vector = ParameterVector(graph)
        self._start = self.vector.take(graph)
        self._open: OpenCircuit = open_circuit(graph)
        self._last: tuple[Graph, Hinges] | None = None

    def graph_at(self, away: Floats) -> Graph:
        """The circuit with parameters so far from those at the start."""
        return self.vector.put(self._graph, self._start + away)

    def score(self, graph: Graph) -> float:
        """The negative mean hinge loss of the training rows."""
        return -self._rows.mean(self._hinges(graph).violation)

    def improve(self, state: Floats) -> Floats:
        """Distances from the start, and sums of squared slopes, after one step of AdaGrad."""
        away, squares = state
        graph = self._last[0] if self._last is not None else self.graph_at(away)
        hinges = self._hinges(graph)
        weights = np.where(hinges.violation > 0, self._rows.weights, 0.0)
        counts = [self._open.expectations(graph, rows, weights) for rows in (hinges.worst, self._rows.values)]
        slope = self.vector.gradient(graph, counts[0]) - self.vector.gradient(graph, counts[1])
        slope = (slope + away / self._how.deviation**2) / self._rows.total
        squares = squares + slope**2
        step = self._how.learning_rate * slope / np.sqrt(np.maximum(squares, 1e-300))
        return np.stack([away - step, squares])

    def _hinges(self, graph: Graph) -> Hinges:
        """The hinge losses of the training rows, found once for each circuit."""
        if self._last is None or self._last[0] is not graph:
            rows = self._rows.values
            self._last = (graph, hinges(graph, rows, self._targets, self._how.loss))
        return self._last[1]
