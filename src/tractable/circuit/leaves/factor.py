"""What leaves that are no distributions share: factors over no random variable."""

from typing import ClassVar

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.leaves.family import Family
from tractable.circuit.leaves.moments import LeafMoments, plain_moments
from tractable.data.regions import Region
from tractable.data.schema import Variable


class Factor(Family):
    """A factor of a product: it has no value to draw or to expect, and data do not change it."""

    has_scope: ClassVar[bool] = False
    is_fixed: ClassVar[bool] = True

    def refit(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """The same parameters: data do not change a factor."""
        return params

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """NaN: a factor has no value."""
        return np.full(len(params), np.nan)

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """NaN: a factor has no value."""
        return np.full(len(params), np.nan)

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """NaN: a factor has no value."""
        return plain_moments(*np.full((2, len(params)), np.nan))

    def entropy(self, params: Floats) -> Floats:
        """Zero: a factor is certain."""
        return np.zeros(len(params))
