"""Projected gradient."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.settings import setting
from tractable.learning.parameters.gradient import GradientMethod


@final
@dataclass(frozen=True, kw_only=True)
class PGD(GradientMethod):
    """Every step moves the weights along the gradient and keeps them above a margin."""

    name: ClassVar[str] = "pgd"
    title: ClassVar[str] = "projected gradient"

    margin: float = setting(0.01, "Minimum value of each weight after a step.", at_least=0)

    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step of a given length."""
        return np.log(np.maximum(self.margin, np.exp(log_weight) + step * gradient))
