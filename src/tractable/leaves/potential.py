"""A factor that arrives with each row, such as a neural network's output."""

from typing import ClassVar, final

import numpy as np

from tractable.arrays import Floats
from tractable.data.regions import Region
from tractable.data.schema import Variable
from tractable.leaves.family import Family


@final
class Potential(Family):
    """A factor whose logarithm is the cell itself; no parameters, and no value to draw or to expect."""

    name: ClassVar[str] = "potential"

    def accepts(self, variable: Variable) -> bool:
        """Columns that hold potentials only."""
        return variable.role == "potential"

    def width(self, variable: Variable) -> int:
        """None."""
        return 0

    def check(self, params: Floats, variable: Variable) -> str | None:
        """There are no parameters."""
        return "a potential has no parameters" if params.shape[1] else None

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """Nothing: there is nothing to fit."""
        return np.zeros((len(weight), 0))

    def refit(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """There is nothing to change."""
        return params

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The cell itself."""
        return np.broadcast_to(x, (len(params), x.shape[1])).copy()

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """Zero: a factor of one, for a potential is no random variable."""
        return np.zeros(len(params))

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """No value."""
        return np.full(len(params), np.nan)

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """No value."""
        return np.full(len(params), np.nan)

    def moments(self, params: Floats, region: Region | None = None) -> tuple[Floats, Floats]:
        """No value."""
        return np.full(len(params), np.nan), np.full(len(params), np.nan)

    def entropy(self, params: Floats) -> Floats:
        """None."""
        return np.zeros(len(params))
