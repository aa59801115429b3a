"""A number: an arithmetic circuit's parameter."""

from typing import ClassVar, final

import numpy as np

from tractable.arrays import Floats
from tractable.data.regions import Region
from tractable.data.schema import Variable
from tractable.leaves.family import Family


@final
class Constant(Family):
    """A factor over no column; the parameter is its logarithm. It has no value to draw or to expect."""

    name: ClassVar[str] = "constant"

    def accepts(self, variable: Variable) -> bool:
        """No column at all."""
        return False

    def width(self, variable: Variable) -> int:
        """The logarithm."""
        return 1

    def check(self, params: Floats, variable: Variable) -> str | None:
        """Nothing: a constant is over no column."""
        return "a constant is over no column"

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """One: a constant knows nothing of the data."""
        return np.zeros((len(weight), 1))

    def refit(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """A number is not changed by data."""
        return params

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The same whatever the row."""
        return np.broadcast_to(params, (len(params), x.shape[1])).copy()

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The same whatever the region."""
        return params[:, 0].copy()

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
