"""Evidence weaker than a value: some of a column's states, or an interval of its numbers."""

from dataclasses import dataclass
from typing import TypeAlias

from tractable.base.arrays import Bools


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """The states that a categorical column may still take."""

    allowed: Bools  # (states,)


@dataclass(frozen=True, slots=True)
class Interval:
    """The closed interval in which a real or count column lies."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"the interval from {self.low:g} to {self.high:g} is empty")


Region: TypeAlias = States | Interval
