"""Steps along a gradient whose sizes adapt to each parameter (Adam: Kingma and Ba, 2015)."""

from collections.abc import Sequence

import numpy as np

from tractable.arrays import AnyArray
from tractable.progress import State

MEAN_DECAY, SQUARE_DECAY = 0.9, 0.99
LEAST_ROOT = 1e-8  # added to the root of the mean square


class Adam:
    """Running means of the gradients and of their squares, for some arrays of parameters."""

    def __init__(self, parameters: Sequence[AnyArray]) -> None:
        self.mean = [np.zeros_like(p) for p in parameters]
        self.square = [np.zeros_like(p) for p in parameters]
        self.steps = 0

    def climb(
        self, parameters: Sequence[AnyArray], gradient: Sequence[AnyArray], sizes: Sequence[float]
    ) -> None:
        """Move the parameters, in place, steps of about the given sizes upwards."""
        self.steps += 1
        root = float(np.sqrt(1 - SQUARE_DECAY**self.steps))
        lines = zip(parameters, gradient, sizes, self.mean, self.square, strict=True)
        for value, slope, size, mean, square in lines:
            mean += (1 - MEAN_DECAY) * (slope - mean)
            square += (1 - SQUARE_DECAY) * (slope * slope - square)
            step = np.sqrt(square)
            step += LEAST_ROOT * root
            np.divide(mean, step, out=step)
            step *= size * root / (1 - MEAN_DECAY**self.steps)
            value += step

    def state(self) -> State:
        """The running means, for a checkpoint."""
        return [self.mean, self.square, self.steps]

    def restore(self, state: State) -> None:
        """Go on from a checkpoint."""
        self.mean, self.square, self.steps = state
