"""Exponentiated gradient."""

from dataclasses import dataclass
from typing import ClassVar, final

from tractable.base.arrays import Floats
from tractable.learning.parameters.gradient import GradientMethod


@final
@dataclass(frozen=True, kw_only=True)
class EG(GradientMethod):
    """Every step multiplies each weight by the exponential of its gradient."""

    name: ClassVar[str] = "eg"
    title: ClassVar[str] = "exponentiated gradient"

    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step of a given length."""
        return log_weight + step * gradient
