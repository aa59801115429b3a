"""Points of a latent space that are spread evenly under a standard normal distribution."""

import numpy as np
from scipy.special import ndtri

from tractable.base.arrays import Floats

MIDDLE = 0.5  # the shift of points that are always the same
EDGE = 1e-9  # points keep this distance from the ends of the unit interval


def latent_points(count: int, dimensions: int, shift: Floats | float = MIDDLE) -> Floats:
    """A low-discrepancy sequence, mapped to the normal distribution. Shape (dimensions, count).

    Its steps are the powers of the inverse of a generalised golden ratio (the R sequence of Roberts, 2018);
    `shift`, from 0 to 1 for each dimension, moves the whole sequence around the unit cube.
    """
    step = golden_ratio(dimensions) ** -np.arange(1.0, dimensions + 1)
    place = (step[:, None] * np.arange(1, count + 1) + np.reshape(shift, (-1, 1))) % 1.0
    return np.asarray(ndtri(np.clip(place, EDGE, 1 - EDGE)), dtype=np.float64)


def golden_ratio(dimensions: int) -> float:
    """The positive solution of x ** (dimensions + 1) = x + 1."""
    x = 2.0
    for _ in range(64):
        x = (1 + x) ** (1 / (dimensions + 1))
    return x
