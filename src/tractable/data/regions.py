"""Evidence weaker than a value: a set of states, or an interval of numbers."""

from dataclasses import dataclass
from typing import TypeAlias

from tractable.base.arrays import Bools


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """The possible states of a categorical column."""

    allowed: Bools  # (states,)


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval of values of a numeric column."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"the interval from {self.low:g} to {self.high:g} is empty")


Region: TypeAlias = States | Interval
