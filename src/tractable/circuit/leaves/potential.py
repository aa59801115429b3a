"""A factor that arrives with each row, such as a neural network's output."""

from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.leaves.factor import Factor
from tractable.data.regions import Region
from tractable.data.schema import Variable


@final
class Potential(Factor):
    """A factor whose logarithm is the cell itself; it has no parameters."""

    name: ClassVar[str] = "potential"
    arrives_with_row: ClassVar[bool] = True

    def accepts(self, variable: Variable) -> bool:
        """Whether the column holds potentials."""
        return variable.role == "potential"

    def width(self, variable: Variable) -> int:
        """Zero."""
        return 0

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint if there are parameters."""
        return "a potential has no parameters" if params.shape[1] else None

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """Parameters of width zero: there is nothing to fit."""
        return np.zeros((len(weight), 0))

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The cell itself."""
        return np.broadcast_to(x, (len(params), x.shape[1])).copy()

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """Zero: a factor of one, for a potential is no random variable."""
        return np.zeros(len(params))
