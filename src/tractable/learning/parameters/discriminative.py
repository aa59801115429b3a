"""Parameters of maximum conditional likelihood: of some columns given all others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from scipy.optimize import minimize

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit import Graph, explain_validity
from tractable.circuit.properties import is_deterministic
from tractable.data import Schema, Table, collapse
from tractable.engine import log_values
from tractable.engine.expectations import Expectations
from tractable.learning.parameters.method import Method, Step, WeightedRows
from tractable.learning.parameters.openings import open_circuit
from tractable.learning.parameters.vector import ParameterVector

QUASI_NEWTON_STEPS = 10  # of one iteration


@final
@dataclass(frozen=True, kw_only=True)
class Discriminative(Method):
    """Maximises the log-likelihood of the targets given all other columns, by L-BFGS.

    See Rooshenas, «Learning Tractable Graphical Models», 2017, section 4.3.2. The gradient is a difference of
    expected counts: those of the rows as they are, and those of the rows without their targets. An iteration
    takes up to ten quasi-Newton steps. The priors pull towards the parameters that the circuit comes with,
    so the log-likelihood of the training rows never falls below that at the start. Leaves over numbers stay
    as they are. The joint distribution of the result is not fitted to the rows.
    """

    name: ClassVar[str] = "discriminative"
    title: ClassVar[str] = "conditional likelihood"

    targets: tuple[str, ...] = setting(
        (),
        "Names of the columns to predict from all other columns. By default, the targets of a conditional"
        " circuit.",
        optional=True,
    )
    iterations: int = redeclare(Method, "iterations", 30)
    tolerance: float = redeclare(Method, "tolerance", 0.0001)
    patience: int = redeclare(Method, "patience", 3)
    l1: float = setting(
        0.1,
        "Strength of the L1 penalty, in nats per unit of a parameter's distance from its initial value.",
        at_least=0,
        search=Between(0.01, 5, log=True),
    )
    deviation: float = setting(
        0.5,
        "Standard deviation of the Gaussian prior of each parameter, centred on its initial value.",
        at_least=1e-6,
        search=Between(0.05, 5, log=True),
    )

    def prepare(self, graph: Graph, table: Table) -> Graph:
        """The circuit itself, if its targets can be summed out.

        Raises:
            ValueError: if there are no targets or no other columns, or missing cells cannot be summed out.
        """
        targets = self.columns(graph.schema)
        for column in graph.schema.inputs[table.missing[:, graph.schema.inputs].any(axis=0)].tolist():
            raise ValueError(
                f"column '{graph.schema[column].name}' is an input, but one of its cells is missing"
            )
        summed = {*targets, *np.flatnonzero(table.missing.any(axis=0)).tolist()}
        fault = explain_validity(graph, summed)
        if fault is not None:
            raise ValueError(f"the targets cannot be summed out of the circuit: {fault}")
        return graph

    def steps(
        self, graph: Graph, rows: WeightedRows, rng: np.random.Generator, watch: Watch, after: Step | None
    ) -> Iterator[Step]:
        """The optimisation steps; a later run keeps the initial parameters of the first one."""
        climb = _Climb(graph, rows, without_targets(rows, self.columns(graph.schema), graph.schema), self)
        if not np.isfinite(climb.start_score):
            raise ValueError("a row has probability zero given its other columns: no weights can change that")
        away = np.zeros(len(climb.vector)) if after is None else after.memory
        yield Step(graph, climb.start_score, away) if after is None else after
        while True:
            watch.break_off()
            away = climb.improve(away, watch)
            better = climb.graph_at(away)
            yield Step(better, climb.score(better), away)

    def score(self, graph: Graph, rows: WeightedRows) -> float:
        """The mean log-likelihood of the targets given all other columns."""
        free = without_targets(rows, self.columns(graph.schema), graph.schema)
        return rows.mean(log_values(graph, rows.values)) - free.mean(log_values(graph, free.values))

    def remark(self, graph: Graph) -> str | None:
        """What was fitted, for the provenance of the result."""
        names = ", ".join(graph.schema[c].name for c in self.columns(graph.schema))
        return f"P({names} | all other columns); the joint distribution is not fitted to the rows"

    def columns(self, schema: Schema) -> list[int]:
        """The target columns.

        Raises:
            ValueError: if there are no targets, no other columns, or a target is an input.
        """
        if not self.targets and not schema.inputs.size:
            raise ValueError("name the columns to predict: targets=['a', 'b'], or --targets a,b")
        columns = sorted(set(schema.columns(self.targets))) or schema.targets.tolist()
        for column in columns:
            if schema[column].role != "target":
                raise ValueError(
                    f"column '{schema[column].name}' is not a target: the circuit is conditional on it"
                )
        if len(columns) == len(schema):
            raise ValueError("all columns are targets: at least one column must be left to predict them from")
        return columns


def without_targets(rows: WeightedRows, targets: list[int], schema: Schema) -> WeightedRows:
    """The distinct rows of what the targets are predicted from: each is evaluated once."""
    values = rows.values.copy()
    values[:, targets] = np.nan
    distinct, _ = collapse(Table(schema, values, rows.weights))
    return WeightedRows(distinct.values, distinct.row_weights)


class _Climb:
    """The loss as a function of how far the parameters are from where they began."""

    def __init__(self, graph: Graph, rows: WeightedRows, free: WeightedRows, method: Discriminative) -> None:
        self.vector = ParameterVector(graph)
        self._graph, self._rows, self._free = graph, rows, free
        self._l1, self._precision = method.l1, method.deviation**-2
        self._open = open_circuit(graph)
        self._start = self.vector.take(graph)
        self._fixed = self._fixed_counts()
        self.start_score = self.score(graph)
        self._loss = -self.start_score * rows.total  # where the priors cost nothing

    def graph_at(self, away: Floats) -> Graph:
        """The circuit with parameters so far from those at the start."""
        return self.vector.put(self._graph, self._start + away)

    def score(self, graph: Graph) -> float:
        """The mean conditional log-likelihood of the training rows."""
        free = self._free.mean(self._open.log_values(graph, self._free.values))
        if self._fixed is not None:
            return self._total(graph, self._fixed) / self._rows.total - free
        return self._rows.mean(self._open.log_values(graph, self._rows.values)) - free

    def improve(self, away: Floats, watch: Watch) -> Floats:
        """The distance from the start after some quasi-Newton steps; it never makes the loss larger.

        The watch may end it after each of them.
        With an L1 penalty the distance is a difference of two numbers from zero up, whose sum is penalised.
        """
        if not away.size:
            return away
        split = self._l1 > 0

        def stop_if_told(xk: Floats) -> None:  # SciPy goes by this name
            if watch.should_stop():
                raise StopIteration  # SciPy answers with what was reached

        optimum = minimize(
            self._split_objective if split else self._objective,
            np.concatenate([np.maximum(away, 0), np.maximum(-away, 0)]) if split else away,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * (2 * away.size) if split else None,
            callback=stop_if_told,
            options={"maxiter": QUASI_NEWTON_STEPS, "ftol": 1e-12, "gtol": 1e-8},
        )
        if not optimum.fun <= self._loss:
            return away
        self._loss = float(optimum.fun)
        return _difference(optimum.x) if split else optimum.x

    def _objective(self, away: Floats) -> tuple[float, Floats]:
        """The negative conditional log-likelihood of all rows with the Gaussian prior, and its gradient."""
        graph = self.graph_at(away)
        free = self._open.expectations(graph, self._free.values, self._free.weights)
        clamped = self._fixed
        if clamped is None:
            clamped = self._open.expectations(graph, self._rows.values, self._rows.weights)
            total = float(self._rows.weights @ clamped.log_value)
        else:
            total = self._total(graph, clamped)
        gain = total - float(self._free.weights @ free.log_value)
        slope = self.vector.gradient(graph, clamped) - self.vector.gradient(graph, free)
        prior = 0.5 * self._precision * float(away @ away)
        return prior - gain, self._precision * away - slope

    def _fixed_counts(self) -> Expectations | None:
        """The counts of the rows as they are, if these do not depend on the parameters.

        A complete row has one induced tree in a deterministic circuit, so that its log-value is a sum of
        parameters. None if the circuit is not deterministic, or cells are missing.
        """
        if np.isnan(self._rows.values).any() or not is_deterministic(self._graph):
            return None
        return self._open.expectations(self._graph, self._rows.values, self._rows.weights)

    def _total(self, graph: Graph, fixed: Expectations) -> float:
        """The log-values of all rows as they are, whose counts are fixed."""
        start = float(self._rows.weights @ fixed.log_value)
        return start + self.vector.log_change(self._graph, graph, fixed)

    def _split_objective(self, both: Floats) -> tuple[float, Floats]:
        """The objective with the L1 penalty, as a function of positive and negative differences."""
        loss, slope = self._objective(_difference(both))
        return loss + self._l1 * float(both.sum()), np.concatenate([slope, -slope]) + self._l1


def _difference(both: Floats) -> Floats:
    up, down = np.split(both, 2)
    return up - down
