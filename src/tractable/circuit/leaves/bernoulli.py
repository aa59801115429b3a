"""A leaf over a column with two states."""

from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.leaves.categorical import (
    allowed_states,
    best_state,
    code_moments,
    draw_state,
    log_prob_of_states,
)
from tractable.circuit.leaves.family import Family
from tractable.circuit.leaves.finite import log_total, quiet_log, restrict_states, state_entropy
from tractable.circuit.leaves.moments import LeafMoments
from tractable.data.regions import Region
from tractable.data.schema import Variable


@final
class Bernoulli(Family):
    """One of two states; the parameter is the log-odds of the second, infinite when a state is impossible."""

    name: ClassVar[str] = "bernoulli"
    over_states: ClassVar[bool] = True

    def accepts(self, variable: Variable) -> bool:
        """Whether the column has two states."""
        return variable.cardinality == 2

    def width(self, variable: Variable) -> int:
        """One: the log-odds."""
        return 1

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless each leaf has one number, which may be infinite."""
        if params.shape[1] != 1:
            return f"{params.shape[1]} parameters, not one"
        return "the log-odds are not a number" if np.isnan(params).any() else None

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """The log of the ratio of the two counts."""
        ones = weight @ x + smoothing / 2
        zeros = weight @ (1 - x) + smoothing / 2
        empty = ones + zeros == 0
        odds = quiet_log(np.where(empty, 1.0, ones)) - quiet_log(np.where(empty, 1.0, zeros))
        return odds[:, None]

    def randomise(self, params: Floats, rng: np.random.Generator) -> Floats:
        """The log-odds of probabilities drawn uniformly from [0, 1]."""
        return rng.logistic(size=params.shape)

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The log-probability of each state."""
        return log_prob_of_states(both_states(params), x)

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The sum over the states allowed."""
        return log_total(restrict_states(both_states(params), allowed_states(region)))

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The more probable state allowed."""
        return best_state(both_states(params), allowed_states(region))

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """A state allowed; the first one where all are impossible."""
        return draw_state(both_states(params), uniform, allowed_states(region))

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """The probability of the second state; its variance is that times the probability of the first."""
        return code_moments(both_states(params), allowed_states(region))

    def entropy(self, params: Floats) -> Floats:
        """The entropy of the two states."""
        return state_entropy(both_states(params))


def both_states(params: Floats) -> Floats:
    """The log-probabilities of the two states. Shape (leaves, 2)."""
    return -np.logaddexp(0.0, params * np.array([1.0, -1.0]))
