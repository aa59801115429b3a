"""A leaf that is one at a single state."""

from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.leaves.family import Family
from tractable.circuit.leaves.moments import LeafMoments, plain_moments
from tractable.data.evidence import Region, States
from tractable.data.schema import Variable


@final
class Indicator(Family):
    """One where the column has a given state, zero elsewhere; the parameter is the state's code."""

    name: ClassVar[str] = "indicator"
    is_indicator: ClassVar[bool] = True
    is_fixed: ClassVar[bool] = True

    def accepts(self, variable: Variable) -> bool:
        """Whether the column is categorical."""
        return variable.is_categorical

    def width(self, variable: Variable) -> int:
        """One: the state."""
        return 1

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless each parameter is the code of a state."""
        if params.shape[1] != 1:
            return f"{params.shape[1]} parameters, not the code of a state"
        fine = (params == np.floor(params)) & (params >= 0) & (params < variable.cardinality)
        return None if fine.all() else "a state is out of range"

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """The state with most weight."""
        counts = np.stack([weight[:, x == k].sum(axis=1) for k in range(variable.cardinality)], axis=1)
        return counts.argmax(axis=1)[:, None].astype(np.float64)

    def reorder_states(self, params: Floats, order: Ints) -> Floats:
        """The states' new codes."""
        return order[params.astype(np.int64)].astype(np.float64)

    def describe(self, params: list[float], variable: Variable) -> str:
        """The column and the state."""
        return f"{variable.name} = {variable.states[int(params[0])]}"

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """Zero at the state, -inf elsewhere."""
        return np.where(params == x, 0.0, -np.inf)

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """Zero where the state is allowed."""
        assert isinstance(region, States)
        return np.where(region.allowed[params[:, 0].astype(np.int64)], 0.0, -np.inf)

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The state."""
        return params[:, 0].copy()

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """The state."""
        return params[:, 0].copy()

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """The state's code, which does not vary."""
        return plain_moments(params[:, 0].copy(), np.zeros(len(params)))

    def entropy(self, params: Floats) -> Floats:
        """Zero: an indicator is certain."""
        return np.zeros(len(params))
