"""Methods that follow the gradient of the log-likelihood, each step of which is shrunk until it helps."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.base.settings import setting
from tractable.circuit import Graph, normalise
from tractable.data import Table
from tractable.engine.expectations import Expecter
from tractable.learning.parameters.indicators import contract_states, expand_states
from tractable.learning.parameters.method import Method, Step, WeightedRows
from tractable.learning.parameters.updates import sum_edges

LARGEST_CHANGE = 50.0  # of a log weight in one trial step, so that exponentials do not overflow


@dataclass(frozen=True, kw_only=True)
class GradientMethod(Method):
    """Moves all weights at once along the gradient of the mean of log f(row) - log Z.

    See Zhao, Poupart and Gordon, NIPS 2016, section 4.2. The weights need not be normalised on the way.
    Leaves over categorical columns take part as sums over indicators.
    """

    first_step: float = setting(
        1.0, "Step size with which the line search of each iteration starts.", at_least=0
    )
    shrink: float = setting(
        0.8,
        "Factor by which the line search reduces the step size until the log-likelihood increases.",
        at_least=0,
        at_most=1,
    )
    trials: int = setting(60, "Maximum number of step sizes that the line search tries.", at_least=1)

    def prepare(self, graph: Graph, table: Table) -> Graph:
        """The circuit locally normalised, with leaves over categorical columns as sums."""
        return expand_states(normalise(graph).graph)

    def finish(self, graph: Graph) -> Graph:
        """The circuit locally normalised, with sums over indicators as leaves again."""
        return contract_states(normalise(graph).graph)

    @abstractmethod
    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step; `gradient` is with respect to the weights, not their logarithms."""

    def steps(
        self, graph: Graph, rows: WeightedRows, rng: np.random.Generator, watch: Watch, after: Step | None
    ) -> Iterator[Step]:
        """Circuits after one accepted step each; when no step helps, the same circuit again and again."""
        graph = graph if after is None else after.graph
        expecter, edges = Expecter(graph), sum_edges(graph)
        missing = np.full((1, rows.values.shape[1]), np.nan)
        while True:
            expected = expecter.expectations(graph, rows.values, rows.weights)
            free = expecter.expectations(graph, missing, np.ones(1))
            score = rows.mean(expected.log_value) - float(free.log_value[0])
            yield Step(graph, score)
            slope = (expected.edge / rows.total - free.edge)[edges] * np.exp(-graph.log_weight[edges])
            graph = self._line_search(expecter, graph, rows, slope, score)

    def _line_search(
        self, expecter: Expecter, graph: Graph, rows: WeightedRows, slope: Floats, score: float
    ) -> Graph:
        """The circuit after the first trial step that raises the log-likelihood, or the same if none does."""
        edges = sum_edges(graph)
        step = self.first_step
        for _ in range(self.trials):
            log_weight = graph.log_weight.copy()
            new = self.move_weights(log_weight[edges], slope, step)
            log_weight[edges] = np.clip(
                new, log_weight[edges] - LARGEST_CHANGE, log_weight[edges] + LARGEST_CHANGE
            )
            tried = graph.with_parameters(log_weight)
            if rows.mean_log_likelihood(partial(expecter.log_values, tried)) > score:
                return tried
            step *= self.shrink
        return graph


@final
@dataclass(frozen=True, kw_only=True)
class PGD(GradientMethod):
    """Every step moves the weights along the gradient and keeps them above a margin."""

    name: ClassVar[str] = "pgd"
    title: ClassVar[str] = "projected gradient"

    margin: float = setting(0.01, "Minimum value of each weight after a step.", at_least=0)

    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step of a given length."""
        return np.log(np.maximum(self.margin, np.exp(log_weight) + step * gradient))


@final
@dataclass(frozen=True, kw_only=True)
class EG(GradientMethod):
    """Every step multiplies each weight by the exponential of its gradient."""

    name: ClassVar[str] = "eg"
    title: ClassVar[str] = "exponentiated gradient"

    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step of a given length."""
        return log_weight + step * gradient


@final
@dataclass(frozen=True, kw_only=True)
class SMA(GradientMethod):
    """Every step moves the log weights along their own gradient."""

    name: ClassVar[str] = "sma"
    title: ClassVar[str] = "sequential monomial approximation"

    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step of a given length."""
        return log_weight + step * np.exp(log_weight) * gradient
