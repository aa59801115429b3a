"""Sequential monomial approximation."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.learning.parameters.gradient import GradientMethod


@final
@dataclass(frozen=True, kw_only=True)
class SMA(GradientMethod):
    """Every step moves the log weights along their own gradient."""

    name: ClassVar[str] = "sma"
    title: ClassVar[str] = "sequential monomial approximation"

    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step of a given length."""
        return log_weight + step * np.exp(log_weight) * gradient
