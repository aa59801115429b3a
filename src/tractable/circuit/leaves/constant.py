"""A number: an arithmetic circuit's parameter."""

from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.leaves.factor import Factor
from tractable.data.regions import Region
from tractable.data.schema import Variable


@final
class Constant(Factor):
    """A factor over no column; the parameter is its logarithm."""

    name: ClassVar[str] = "constant"
    is_constant: ClassVar[bool] = True

    def accepts(self, variable: Variable) -> bool:
        """False: a constant is over no column at all."""
        return False

    def width(self, variable: Variable) -> int:
        """One: the logarithm."""
        return 1

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint in any case: a constant is over no column."""
        return "a constant is over no column"

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """Constants of one: a constant does not depend on data."""
        return np.zeros((len(weight), 1))

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The logarithm of the constant, the same for every row."""
        return np.broadcast_to(params, (len(params), x.shape[1])).copy()

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The logarithm of the constant, the same for every region."""
        return params[:, 0].copy()
