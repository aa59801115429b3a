"""The interface of every method of parameter learning: frozen settings, and steps to better circuits."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Key, State, Watch
from tractable.base.settings import Configurable, setting
from tractable.circuit import Graph
from tractable.data import Table
from tractable.engine import log_values


class WeightedRows(NamedTuple):
    """The distinct rows of a table and the weight of each."""

    values: Floats  # (rows, columns)
    weights: Floats  # (rows,)

    @property
    def total(self) -> float:
        """The weight of all rows together."""
        return float(self.weights.sum())

    def mean(self, log_values: Floats) -> float:
        """The weighted mean of one number for each distinct row."""
        return float(self.weights @ log_values / self.total)

    def mean_log_likelihood(self, log_values: Callable[[Floats], Floats]) -> float:
        """The mean log-likelihood under a circuit that need not be normalised.

        `log_values` evaluates the circuit. A row of missing cells goes with the others: its value is the
        partition function.
        """
        missing = np.full((1, self.values.shape[1]), np.nan)
        values = log_values(np.concatenate([self.values, missing]))
        return self.mean(values[:-1]) - float(values[-1])


class Step(NamedTuple):
    """A circuit after some steps, and its mean training log-likelihood."""

    graph: Graph
    train: float
    memory: State = None  # what else the next step depends on


class Fitted(NamedTuple):
    """The best circuit and the scores of all steps."""

    graph: Graph
    train: list[float]  # the mean log-likelihood of the training rows, step by step
    valid: list[float]  # the same of the validation rows; empty if there are none


@dataclass(frozen=True, kw_only=True)
class Method(Configurable, ABC):
    """A method of parameter learning; its settings are its fields."""

    score_name: ClassVar[str] = "cll"  # what `score` is called where it is no joint log-likelihood

    iterations: int = setting(50, "Maximum number of iterations.", at_least=0)
    tolerance: float = setting(
        0.001,
        "Minimum change of the mean log-likelihood per iteration, in nats. The method stops when an"
        " iteration changes it by less.",
        at_least=0,
    )
    patience: int = setting(
        5,
        "Early stopping: with validation rows, the method stops after this many iterations without"
        " improvement on them.",
        at_least=1,
    )

    @abstractmethod
    def prepare(self, graph: Graph, table: Table) -> Graph:
        """The circuit in the form that the method works on.

        Raises:
            ValueError: if the method cannot work on such a circuit.
        """

    @abstractmethod
    def steps(
        self, graph: Graph, rows: WeightedRows, rng: np.random.Generator, watch: Watch, after: Step | None
    ) -> Iterator[Step]:
        """Circuits with better and better parameters, without end; the first one is equal to `graph`.

        They begin with `after`, which an earlier run has come to, if it is given. A method whose steps take
        long may break off a step by `watch`.
        """

    def score(self, graph: Graph, rows: WeightedRows) -> float:
        """How well a circuit does on rows, as validation rows judge it: the mean log-likelihood."""
        return rows.mean_log_likelihood(partial(log_values, graph))

    def remark(self, graph: Graph) -> str | None:
        """What the parameters were fitted to, for the provenance, if not to the rows as they are."""
        return None

    def finish(self, graph: Graph) -> Graph:
        """The circuit in the form that users get."""
        return graph


@dataclass
class Course:
    """The scores of a run so far, its best circuit and its last step."""

    train: list[float] = field(default_factory=list)
    valid: list[float] = field(default_factory=list)
    best: Graph | None = None
    best_score: float = -np.inf
    since_best: int = 0
    last: Step | None = None

    @property
    def done(self) -> int:
        """The number of the last step; the first one is step 0."""
        return len(self.train) - 1

    def record(self, step: Step, valid: float | None) -> None:
        """Take in the scores of a step; without validation rows the last step is the best."""
        self.last = step
        self.train.append(step.train)
        if valid is not None:
            self.valid.append(valid)
        score = step.train if valid is None else valid
        if valid is None or score > self.best_score:
            self.best, self.best_score, self.since_best = step.graph, score, 0
        else:
            self.since_best += 1


COURSE = Key(__name__, "course", Course)


def is_over(course: Course, method: Method, watch: Watch) -> bool:
    """Whether to stop: on request, by early stopping, or because the training score has converged."""
    if watch.should_stop() or course.since_best >= method.patience:
        return True
    scores = course.train
    return len(scores) > 1 and abs(scores[-1] - scores[-2]) < method.tolerance
