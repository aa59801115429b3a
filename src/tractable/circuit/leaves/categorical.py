"""A leaf with a probability for each state."""

from math import exp
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Bools, Floats
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
from tractable.data.regions import Region, States
from tractable.data.schema import Variable

TOLERANCE = 1e-6  # how far from one the probabilities of a leaf may sum


@final
class Categorical(Family):
    """One of a few states; the parameters are their log-probabilities."""

    name: ClassVar[str] = "categorical"
    over_states: ClassVar[bool] = True

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

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The log-probability of each state, as it was given."""
        return log_prob_of_states(params, x)

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The sum over the states allowed."""
        return log_total(restrict_states(params, allowed_states(region)))

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The most probable state allowed."""
        return best_state(params, allowed_states(region))

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """A state allowed; the first one where all are impossible."""
        return draw_state(params, uniform, allowed_states(region))

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """Mean and standard deviation of the code; the first state allowed where all are impossible."""
        return code_moments(params, allowed_states(region))

    def entropy(self, params: Floats) -> Floats:
        """The entropy of the states."""
        return state_entropy(params)


def allowed_states(region: Region | None) -> Bools | None:
    """Which states a region allows; None when there is no region."""
    if region is None:
        return None
    assert isinstance(region, States)
    return region.allowed


def log_prob_of_states(log_p: Floats, x: Floats) -> Floats:
    """The log-probability of each value's state. Shape (leaves, rows)."""
    state = x.astype(np.int64)
    if len(state) == 1:
        return np.take(log_p, state[0], axis=1)
    return np.take_along_axis(log_p, state, axis=1)


def best_state(log_p: Floats, allowed: Bools | None) -> Floats:
    """The code of the most probable state allowed; the first one where all are impossible.

    Shape (leaves,).
    """
    best = restrict_states(log_p, allowed).argmax(axis=1)
    if allowed is not None:
        best = np.where(allowed[best], best, allowed.argmax())
    return best.astype(np.float64)


def draw_state(log_p: Floats, uniform: Floats, allowed: Bools | None) -> Floats:
    """The code of a state allowed, drawn with `uniform`. Shape (leaves,)."""
    log_p = restrict_states(log_p, allowed)
    state = pick(log_p, uniform)[0].astype(np.float64)
    return np.where(np.isneginf(log_p).all(axis=1), best_state(log_p, allowed), state)


def code_moments(log_p: Floats, allowed: Bools | None) -> LeafMoments:
    """The mean and the standard deviation of the code of a state allowed."""
    log_p = restrict_states(log_p, allowed)
    code = np.arange(log_p.shape[1], dtype=np.float64)
    p = shares(log_p)
    impossible = np.isneginf(log_p).all(axis=1)
    p[impossible] = code == best_state(log_p[impossible], allowed)[:, None]
    mean = p @ code
    return plain_moments(mean, np.sqrt((p * (code - mean[:, None]) ** 2).sum(axis=1)))
