"""The log-likelihood of rows under weighted trees, and the responsibilities of trees."""

import numpy as np

from tractable.base.arrays import AnyArray, Floats
from tractable.learning.joint.continuous.components import latent_points
from tractable.learning.joint.continuous.decoder import Decoder
from tractable.learning.joint.continuous.rows import TreeRows
from tractable.learning.joint.continuous.shape import TreeShape
from tractable.learning.joint.continuous.trees import Trees

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
