"""The values of a setting that a tuner tries: one of several, or a number of a range."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any, TypeAlias, final

import numpy as np

DIGITS = 4  # significant digits of a drawn number, so that people can read and type it


@final
@dataclass(frozen=True, init=False)
class OneOf:
    """One of several values, all equally likely."""

    options: tuple[Any, ...]

    def __init__(self, *options: Any) -> None:
        if len(options) < 2:
            raise ValueError(f"a choice needs at least two values, not {options}")
        object.__setattr__(self, "options", options)

    def holds(self, value: object) -> bool:
        """Whether the value is one of them."""
        return value in self.options

    def draw(self, rng: np.random.Generator) -> Any:
        """One of them at random."""
        return self.options[int(rng.integers(len(self.options)))]


@final
@dataclass(frozen=True)
class Between:
    """A number of a range, `whole` or real; with `log` it is drawn uniformly on the logarithmic scale."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(
                f"the lower end of a range must be below its upper end, not {self.low} and {self.high}"
            )
        if self.log and not self.low > 0:
            raise ValueError(f"a range on a logarithmic scale must begin above zero, not at {self.low}")

    def holds(self, value: object) -> bool:
        """Whether the value is a number of the range."""
        return isinstance(value, int | float) and self.low <= value <= self.high

    def draw(self, rng: np.random.Generator) -> float:
        """A number of the range at random; all whole numbers are equally likely."""
        reach = 0.5 if self.whole else 0.0
        low, high = self.low - reach, self.high + reach
        drawn = exp(rng.uniform(log(low), log(high))) if self.log else rng.uniform(low, high)
        return self.round_to_range(drawn)

    def round_to_range(self, number: float) -> float:
        """The nearest whole number, or number of few digits, within the range."""
        near = round(number) if self.whole else float(f"{number:.{DIGITS}g}")
        return min(max(near, self.low), self.high)


Choice: TypeAlias = OneOf | Between
Space: TypeAlias = Mapping[str, Choice]


def draw_settings(space: Space, rng: np.random.Generator) -> dict[str, Any]:
    """Settings at random, one value for each name."""
    return {name: choice.draw(rng) for name, choice in space.items()}
