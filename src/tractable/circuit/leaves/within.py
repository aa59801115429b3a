"""A factor that is one inside an interval of a numeric input."""

from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.leaves.factor import Factor
from tractable.data.regions import Interval, Region
from tractable.data.schema import Variable

FARTHEST = float(np.finfo(np.float64).max)  # stands for an end that is open


@final
class Within(Factor):
    """One where a numeric input is above the first parameter and not above the second, zero elsewhere."""

    name: ClassVar[str] = "within"

    def accepts(self, variable: Variable) -> bool:
        """Whether the column is a numeric input, of which a model has no distribution."""
        return variable.is_numeric and variable.role == "input"

    def width(self, variable: Variable) -> int:
        """Two: the ends of the interval."""
        return 2

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless each interval has finite ends in their order."""
        if params.shape[1] != 2:
            return f"{params.shape[1]} parameters, not the ends of an interval"
        fine = np.isfinite(params).all(axis=1) & (params[:, 0] < params[:, 1])
        return None if fine.all() else "an interval is empty or has an infinite end"

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """Intervals of all numbers: an interval does not depend on data."""
        return np.tile([-FARTHEST, FARTHEST], (len(weight), 1))

    def describe(self, params: list[float], variable: Variable) -> str:
        """The column between the ends that are not open."""
        low = f"{params[0]:.3g} < " if params[0] > -FARTHEST else ""
        high = f" <= {params[1]:.3g}" if params[1] < FARTHEST else ""
        return f"{low}{variable.name}{high}"

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """Zero inside the interval, -inf elsewhere."""
        low, high = params[:, :1], params[:, 1:]
        above = (x > low) | (low <= -FARTHEST)
        return np.where(above & (x <= high), 0.0, -np.inf)

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """Zero where some number of the region lies in the interval."""
        assert isinstance(region, Interval)
        return np.where((region.high > params[:, 0]) & (region.low <= params[:, 1]), 0.0, -np.inf)

    def support(self, params: Floats) -> tuple[Floats, Floats]:
        """The numbers above the first end and not above the second."""
        low = np.where(params[:, 0] <= -FARTHEST, -np.inf, np.nextafter(params[:, 0], np.inf))
        with np.errstate(over="ignore"):
            return low, np.nextafter(params[:, 1], np.inf)
