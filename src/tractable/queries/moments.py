"""Mean and variance of columns."""

from dataclasses import dataclass

import numpy as np

from tractable.arrays import Floats
from tractable.circuit import Graph
from tractable.data import Evidence, Variable
from tractable.queries.marginals import marginals
from tractable.queries.requirements import require_targets


@dataclass(frozen=True, slots=True)
class Moments:
    """The mean and the variance of a column."""

    mean: float
    variance: float

    @property
    def std(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(self.variance))


def moments(graph: Graph, column: int, given: Evidence) -> Moments:
    """The mean and variance of a column given evidence; of a categorical one, when its states are numbers.

    Raises:
        ValueError: if the column has text states or is an input, or the evidence has probability zero.
    """
    variable = graph.schema[column]
    require_targets(graph, [column])
    posterior = marginals(graph, given.row[None, :], given.regions)[column][0]
    if variable.is_categorical:
        states = _numbers(variable)
        mean = posterior @ states
        return Moments(float(mean), float(posterior @ (states - mean) ** 2))
    return Moments(*posterior.tolist())


def _numbers(variable: Variable) -> Floats:
    if variable.has_text_states:
        raise ValueError(f"column '{variable.name}' has text states: it has no expectation")
    return np.array(variable.states, dtype=np.float64)
