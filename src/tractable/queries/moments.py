"""Mean and standard deviation of columns."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph
from tractable.circuit.leaves.moments import weighted_spread
from tractable.data import Evidence, Variable
from tractable.queries.marginals import some_marginals
from tractable.queries.requirements import require_targets


@dataclass(frozen=True, slots=True)
class Moments:
    """The mean and the standard deviation of a column."""

    mean: float
    std: float

    @property
    def variance(self) -> float:
        """The variance, which is infinite if it overflows even though the standard deviation does not."""
        return self.std * self.std


def moments(graph: Graph, column: int, given: Evidence) -> Moments:
    """The mean and standard deviation of a column given evidence; categorical states must be numeric.

    Raises:
        ValueError: if the column has text states or is an input, or the evidence has probability zero.
    """
    variable = graph.schema[column]
    require_targets(graph, [column])
    posterior = some_marginals(graph, [column], given.row[None, :], given.regions)[0][0]
    if variable.is_categorical:
        states = _numbers(variable)
        likeliest = states[posterior.argmax()]  # distances from it keep their digits far from zero
        with np.errstate(over="ignore", invalid="ignore"):  # of states that are huge numbers
            step, std = weighted_spread(posterior, states - likeliest)
        if np.isnan(step + std):
            raise ValueError(f"column '{variable.name}': the variance is too large for a number")
        return Moments(float(likeliest + step), float(std))
    return Moments(*posterior.tolist())


def _numbers(variable: Variable) -> Floats:
    if variable.has_text_states:
        raise ValueError(f"column '{variable.name}' has text states, so it has no expectation")
    return np.array(variable.states, dtype=np.float64)
