"""Leaves with a probability for each state of a categorical column."""

from math import exp
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.leaves.family import Family
from tractable.circuit.leaves.finite import (
    log_total,
    pick,
    quiet_log,
    restrict_states,
    shares,
    smooth_counts,
    state_entropy,
    state_weights,
)
from tractable.circuit.leaves.moments import LeafMoments, plain_moments
from tractable.data.evidence import Region, States
from tractable.data.schema import Variable

TOLERANCE = 1e-6  # how far from one the probabilities of a leaf may sum


class Categorical(Family):
    """One of a few states; the parameters are their log-probabilities, or others that determine them."""

    name: ClassVar[str] = "categorical"
    over_states: ClassVar[bool] = True
    is_learned: ClassVar[bool] = True

    def accepts(self, variable: Variable) -> bool:
        """Whether the column is categorical."""
        return variable.is_categorical

    def width(self, variable: Variable) -> int:
        """The number of states."""
        return variable.cardinality

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless each line holds the logarithms of probabilities that sum to one."""
        if params.shape[1] != variable.cardinality:
            return f"{params.shape[1]} log-probabilities for {variable.cardinality} states"
        if np.isnan(params).any() or (params == np.inf).any():
            return "a log-probability is not a number below infinity"
        return (
            None if (np.abs(log_total(params)) <= TOLERANCE).all() else "the probabilities do not sum to one"
        )

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """The relative frequencies."""
        counts = state_weights(x.astype(np.int64), weight, variable.cardinality)
        return quiet_log(smooth_counts(counts, smoothing))

    def randomise(self, params: Floats, rng: np.random.Generator) -> Floats:
        """The logarithms of probabilities drawn uniformly from all that sum to one."""
        leaves, states = params.shape
        return np.log(rng.dirichlet(np.ones(states), size=leaves))

    def describe(self, params: list[float], variable: Variable) -> str:
        """The column and the probabilities of its states."""
        return f"{variable.name}: {' '.join(f'{exp(p):.2g}' for p in params)}"

    def log_states(self, params: Floats) -> Floats:
        """The log-probabilities of the states: the parameters themselves. Shape (leaves, states)."""
        return params

    def from_log_states(self, log_prob: Floats) -> Floats:
        """The parameters of leaves with the given log-probabilities, (leaves, states): these themselves."""
        return log_prob

    def reorder_states(self, params: Floats, order: Ints) -> Floats:
        """The log-probabilities in the old order."""
        return params[:, np.argsort(order)]

    def normalise(self, params: Floats) -> Floats:
        """Valid parameters in the place of some that gradients have changed."""
        return params - log_total(params)[:, None]

    def slope(self, params: Floats, counts: Floats) -> Floats:
        """The gradient of a sum of log-probabilities with given weights, (leaves, states or more).

        Finite parameters are free to change, as far as `normalise` makes valid ones of them.
        """
        return counts[:, : params.shape[1]] - counts.sum(axis=1, keepdims=True) * np.exp(params)

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The log-probability of each value's state."""
        log_p, state = self.log_states(params), x.astype(np.int64)
        if len(state) == 1:
            return np.take(log_p, state[0], axis=1)
        return np.take_along_axis(log_p, state, axis=1)

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The sum over the states allowed."""
        return log_total(restrict_states(self.log_states(params), _allowed_states(region)))

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The most probable state allowed; the first one where all are impossible."""
        return _best_state(self.log_states(params), _allowed_states(region))

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """A state allowed; the first one where all are impossible."""
        allowed = _allowed_states(region)
        log_p = restrict_states(self.log_states(params), allowed)
        state = pick(log_p, uniform)[0].astype(np.float64)
        return np.where(np.isneginf(log_p).all(axis=1), _best_state(log_p, allowed), state)

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """Mean and standard deviation of the code; the first state allowed where all are impossible."""
        allowed = _allowed_states(region)
        log_p = restrict_states(self.log_states(params), allowed)
        code = np.arange(log_p.shape[1], dtype=np.float64)
        p = shares(log_p)
        impossible = np.isneginf(log_p).all(axis=1)
        p[impossible] = code == _best_state(log_p[impossible], allowed)[:, None]
        mean = p @ code
        return plain_moments(mean, np.sqrt((p * (code - mean[:, None]) ** 2).sum(axis=1)))

    def entropy(self, params: Floats) -> Floats:
        """The entropy of the states."""
        return state_entropy(self.log_states(params))


@final
class Bernoulli(Categorical):
    """One of two states; the parameter is the log-odds of the second, infinite when a state is impossible."""

    name: ClassVar[str] = "bernoulli"

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

    def describe(self, params: list[float], variable: Variable) -> str:
        """The column and the log-odds."""
        return Family.describe(self, params, variable)

    def randomise(self, params: Floats, rng: np.random.Generator) -> Floats:
        """The log-odds of probabilities drawn uniformly from [0, 1]."""
        return rng.logistic(size=params.shape)

    def log_states(self, params: Floats) -> Floats:
        """The log-probabilities of the two states."""
        return -np.logaddexp(0.0, params * np.array([1.0, -1.0]))

    def from_log_states(self, log_prob: Floats) -> Floats:
        """The difference of the two."""
        return log_prob[:, 1:] - log_prob[:, :1]

    def reorder_states(self, params: Floats, order: Ints) -> Floats:
        """The log-odds of the other state, if the two change places."""
        return params if order[0] == 0 else -params

    def normalise(self, params: Floats) -> Floats:
        """The parameters unchanged, because all log-odds are valid."""
        return params

    def slope(self, params: Floats, counts: Floats) -> Floats:
        """The expected count of the second state, less what the leaf expects."""
        return counts[:, 1:2] - counts.sum(axis=1, keepdims=True) / (1.0 + np.exp(-params))


def state_family(states: int) -> Categorical:
    """The family of leaves for a number of states."""
    return Bernoulli() if states == 2 else Categorical()


def _allowed_states(region: Region | None) -> Bools | None:
    """Which states a region allows; None when there is no region."""
    if region is None:
        return None
    assert isinstance(region, States)
    return region.allowed


def _best_state(log_p: Floats, allowed: Bools | None) -> Floats:
    """The code of the most probable state allowed; the first one where all are impossible.

    Shape (leaves,).
    """
    best = restrict_states(log_p, allowed).argmax(axis=1)
    if allowed is not None:
        best = np.where(allowed[best], best, allowed.argmax())
    return best.astype(np.float64)
