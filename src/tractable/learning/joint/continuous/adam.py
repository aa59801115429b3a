"""Steps along a gradient whose sizes adapt to each parameter (Adam: Kingma and Ba, 2015)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tractable.base.arrays import AnyArray

MEAN_DECAY, SQUARE_DECAY = 0.9, 0.99
LEAST_ROOT = 1e-8  # added to the root of the mean square


@dataclass
class Adam:
    """Running means of the gradients and of their squares, for some arrays of parameters."""

    mean: list[AnyArray]
    square: list[AnyArray]
    steps: int = 0

    @classmethod
    def begin(cls, parameters: Sequence[AnyArray]) -> Self:
        """The means before the first step."""
        return cls([np.zeros_like(p) for p in parameters], [np.zeros_like(p) for p in parameters])

    def climb(
        self, parameters: Sequence[AnyArray], gradient: Sequence[AnyArray], sizes: Sequence[float]
    ) -> None:
        """Move the parameters, in place, steps of about the given sizes upwards."""
        self.steps += 1
        root = float(np.sqrt(1 - SQUARE_DECAY**self.steps))
        move_average(self.mean, gradient, MEAN_DECAY)
        move_average(self.square, [slope * slope for slope in gradient], SQUARE_DECAY)
        for value, size, mean, square in zip(parameters, sizes, self.mean, self.square, strict=True):
            step = np.sqrt(square)
            step += LEAST_ROOT * root
            np.divide(mean, step, out=step)
            step *= size * root / (1 - MEAN_DECAY**self.steps)
            np.add(value, step, out=value)


def move_average(average: Sequence[AnyArray], values: Sequence[AnyArray], stays: float) -> None:
    """Move running averages, in place, towards new values; `stays` is the share of the old that stays."""
    for old, new in zip(average, values, strict=True):
        np.multiply(old, stays, out=old)
        np.add(old, (1 - stays) * new, out=old)
