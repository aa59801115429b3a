"""Mixture components of one decoder: points of its latent space, and their weights."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from tractable.base.arrays import AnyArray, Floats
from tractable.learning.joint.continuous.decoder import Decoder
from tractable.learning.joint.continuous.rows import TreeRows
from tractable.learning.joint.continuous.shape import TreeShape
from tractable.learning.joint.continuous.trees import Trees

# ---- the log-likelihood of rows under weighted trees, and the responsibilities of trees -----------------


CHUNK = 1024  # rows that are scored at a time


def shares(logs: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The responsibilities of trees for rows, and the row log-likelihoods, from joint logs (rows, trees)."""
    top = logs.max(axis=1, keepdims=True)
    share = np.exp(logs - top)
    total = share.sum(axis=1, keepdims=True)
    share /= total
    return share, (top + np.log(total))[:, 0]


def row_logs(trees: Trees, log_weight: AnyArray, rows: TreeRows) -> Floats:
    """The log-likelihood of each row under a mixture of trees. Shape (rows,)."""
    logs = np.empty(len(rows))
    for first in range(0, len(rows), CHUNK):
        part = rows.take(np.arange(first, min(first + CHUNK, len(rows))))
        logs[first : first + CHUNK] = shares(trees.log_likelihoods(part) + log_weight)[1]
        logs[first : first + CHUNK] += part.constant
    return logs


def mean_score(trees: Trees, log_weight: AnyArray, rows: TreeRows) -> float:
    """The mean log-likelihood of weighted rows under a mixture of trees."""
    return float(rows.weights @ row_logs(trees, log_weight, rows)) / (float(rows.weights.sum()) or 1.0)


def plain_score(shape: TreeShape, decoder: Decoder, points: int, rows: TreeRows) -> float:
    """The mean log-likelihood of rows with a fixed set of points in place of the latent space."""
    z = latent_points(points, decoder.latent).astype(decoder.weight1.dtype)
    even = np.full(points, -np.log(points), dtype=z.dtype)
    return mean_score(Trees.from_outputs(shape, decoder.outputs(z)), even, rows)


class Components(NamedTuple):
    """A decoder, points (latent, points), and the log-weights of their trees."""

    decoder: Decoder
    points: AnyArray
    log_weight: AnyArray

    @classmethod
    def begin(cls, decoder: Decoder, count: int) -> "Components":
        """Initial points that are evenly distributed."""
        dtype = decoder.weight1.dtype
        points = latent_points(count, decoder.latent).astype(dtype)
        return cls(decoder, points, np.full(count, -np.log(count), dtype=dtype))

    @classmethod
    def from_arrays(cls, arrays: Sequence[AnyArray]) -> "Components":
        """Components that share memory with arrays in the order of `arrays`."""
        *decoder, points, log_weight = arrays
        return cls(Decoder(*decoder), points, log_weight)

    def arrays(self) -> list[AnyArray]:
        """All parameters: those of the decoder, the points and the log-weights."""
        return [*self.decoder, self.points, self.log_weight]

    def trees(self, shape: TreeShape) -> Trees:
        """The trees at the points."""
        return Trees.from_outputs(shape, self.decoder.outputs(self.points))

    def exact_outputs(self) -> AnyArray:
        """The outputs of the decoder at the points, in double precision. Shape (outputs, points)."""
        decoder = Decoder(*(each.astype(np.float64) for each in self.decoder))
        return decoder.outputs(self.points.astype(np.float64))

    @property
    def log_shares(self) -> AnyArray:
        """The normalised log-weights."""
        return np.asarray(self.log_weight - np.logaddexp.reduce(self.log_weight))


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
