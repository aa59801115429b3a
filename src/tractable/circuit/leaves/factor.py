"""Factors of single cells, which multiply a product and are not distributions of the column."""

from abc import ABC, abstractmethod
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.data.evidence import Interval, Region
from tractable.data.schema import Variable

FARTHEST = float(np.finfo(np.float64).max)  # stands for an end that is open


class Factor(ABC):
    """A kind of factor. Factors hold no state: the parameters, (leaves, width), come with each call."""

    name: ClassVar[str]  # as files write it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factor) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    @abstractmethod
    def accepts(self, variable: Variable) -> bool:
        """Whether factors of this kind can read such a column."""

    @abstractmethod
    def check(self, params: Floats, variable: Variable) -> str | None:
        """What is wrong with a block's parameters, in words; None when nothing is."""

    @abstractmethod
    def describe(self, params: list[float], variable: Variable) -> str:
        """One factor in a few words, for pictures."""

    @abstractmethod
    def log_value(self, params: Floats, x: Floats) -> Floats:
        """The logarithm of the factor at `x`, (leaves, rows) or (1, rows): shape (leaves, rows)."""

    @abstractmethod
    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The logarithm of the factor where the cell is only known to lie in a region. Shape (leaves,)."""

    @abstractmethod
    def support(self, params: Floats) -> tuple[Floats, Floats]:
        """For each factor an interval [low, high) outside of which it is zero. Shapes (leaves,)."""


@final
class Potential(Factor):
    """A factor that arrives with each row, such as a neural network's output; the cell is its logarithm."""

    name: ClassVar[str] = "potential"

    def accepts(self, variable: Variable) -> bool:
        """Whether the column holds potentials."""
        return variable.role == "potential"

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint if there are parameters."""
        return "a potential has no parameters" if params.shape[1] else None

    def describe(self, params: list[float], variable: Variable) -> str:
        """The column."""
        return f"{variable.name} ~ {self.name}()"

    def log_value(self, params: Floats, x: Floats) -> Floats:
        """The cell itself."""
        return np.broadcast_to(x, (len(params), x.shape[1])).copy()

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """Zero, the logarithm of a factor of one, because a potential is not a random variable."""
        return np.zeros(len(params))

    def support(self, params: Floats) -> tuple[Floats, Floats]:
        """All numbers."""
        return np.full(len(params), -np.inf), np.full(len(params), np.inf)


@final
class Within(Factor):
    """One where a numeric input is above the first parameter and not above the second, zero elsewhere."""

    name: ClassVar[str] = "within"

    def accepts(self, variable: Variable) -> bool:
        """Whether the column is a numeric input, of which a model has no distribution."""
        return variable.is_numeric and variable.role == "input"

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless each interval has finite ends in their order."""
        if params.shape[1] != 2:
            return f"{params.shape[1]} parameters, not the ends of an interval"
        fine = np.isfinite(params).all(axis=1) & (params[:, 0] < params[:, 1])
        return None if fine.all() else "an interval is empty or has an infinite end"

    def describe(self, params: list[float], variable: Variable) -> str:
        """The column between the ends that are not open."""
        low = f"{params[0]:.3g} < " if params[0] > -FARTHEST else ""
        high = f" <= {params[1]:.3g}" if params[1] < FARTHEST else ""
        return f"{low}{variable.name}{high}"

    def log_value(self, params: Floats, x: Floats) -> Floats:
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


FACTORS: dict[str, Factor] = {factor.name: factor for factor in (Potential(), Within())}
