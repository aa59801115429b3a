"""The network that maps latent points to the outputs of `trees.py`, with explicit derivatives."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tractable.base.arrays import AnyArray, Floats
from tractable.learning.joint.continuous.shape import Half, TreeShape
from tractable.learning.statistics.conditionals import forest_tables
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.leaf_choice import statistics_family

LEAK = 0.1  # the slope of the activation function below zero
HIDDEN = (64, 128)  # units of the two hidden layers
INITIAL_OUTPUT = 0.5  # scale of the initial weights of the outputs ...
INITIAL_LINK = 0.1  # ... and of those of the changes that links make


class Decoder(NamedTuple):
    """Weights and biases of the layers; the points of a call are columns."""

    weight1: AnyArray  # (hidden 1, latent)
    bias1: AnyArray  # (hidden 1, 1)
    weight2: AnyArray  # (hidden 2, hidden 1)
    bias2: AnyArray  # (hidden 2, 1)
    weight3: AnyArray  # (outputs, hidden 2)
    bias3: AnyArray  # (outputs, 1)

    @property
    def latent(self) -> int:
        """The dimension of the latent space."""
        return int(self.weight1.shape[1])

    def outputs(self, points: AnyArray) -> AnyArray:
        """The outputs at points (latent, points). Shape (outputs, points)."""
        return self.trace(points).output

    def trace(self, points: AnyArray, kept: AnyArray | None = None) -> "Trace":
        """The outputs with the intermediate values; `kept` are dropout factors of the last hidden layer."""
        first = self.weight1 @ points + self.bias1
        hidden1 = _activate(first)
        second = self.weight2 @ hidden1 + self.bias2
        hidden2 = _activate(second)
        if kept is not None:
            hidden2 *= kept
        output = self.weight3 @ hidden2
        output += self.bias3
        return Trace(self, points, first, hidden1, second, hidden2, kept, output)


class Trace(NamedTuple):
    """A forward pass of a decoder."""

    decoder: Decoder
    points: AnyArray
    first: AnyArray  # before the activation function
    hidden1: AnyArray
    second: AnyArray
    hidden2: AnyArray
    kept: AnyArray | None
    output: AnyArray

    def gradient(self, slope: AnyArray) -> tuple[Decoder, AnyArray]:
        """The gradients with respect to the decoder's arrays and the points, given those of the outputs."""
        back2 = self.decoder.weight3.T @ slope
        if self.kept is not None:
            back2 *= self.kept
        into2 = _activation_slope(back2, self.second)
        into1 = _activation_slope(self.decoder.weight2.T @ into2, self.first)
        arrays = Decoder(
            into1 @ self.points.T, into1.sum(axis=1, keepdims=True),
            into2 @ self.hidden1.T, into2.sum(axis=1, keepdims=True),
            slope @ self.hidden2.T, slope.sum(axis=1, keepdims=True),
        )  # fmt: skip
        return arrays, self.decoder.weight1.T @ into1


def unit_factors(
    points: int, dropout: float, rng: np.random.Generator, dtype: "np.dtype[Any]"
) -> AnyArray | None:
    """Dropout factors of the units of the last hidden layer, or None without dropout."""
    if not dropout:
        return None
    kept = rng.random((HIDDEN[-1], points), dtype=np.float32) >= dropout
    return np.asarray(kept.astype(dtype) / dtype.type(1 - dropout))


def _activate(x: AnyArray) -> AnyArray:
    """The leaky rectifier."""
    return np.maximum(x, LEAK * x)


def _activation_slope(slope: AnyArray, x: AnyArray) -> AnyArray:
    return np.where(x > 0, slope, LEAK * slope)


def initial_decoder(shape: TreeShape, output: Floats, latent: int, rng: np.random.Generator) -> Decoder:
    """A decoder whose outputs are close to `output` (outputs,) everywhere."""
    sizes = [latent, *HIDDEN]
    layers = [rng.normal(size=(n, m)) / np.sqrt(m) for m, n in pairwise(sizes)]
    scale = np.full((output.size, 1), INITIAL_OUTPUT)
    scale[shape.base.statistics :] = INITIAL_LINK
    last = scale * rng.normal(size=(output.size, HIDDEN[1])) / np.sqrt(HIDDEN[1])
    arrays = (
        layers[0], np.zeros((HIDDEN[0], 1)), layers[1], np.zeros((HIDDEN[1], 1)), last, output[:, None]
    )  # fmt: skip
    dtype = np.float64 if shape.has_real else np.float32
    return Decoder(*(each.astype(dtype) for each in arrays))


# ---- the initial outputs, which make every tree the Chow-Liu tree of all rows ---------------------------


def tree_outputs(shape: TreeShape, encoding: Encoding, smoothing: float) -> Floats:
    """The outputs of the tree with smoothed frequencies. Shape (statistics,)."""
    tables = forest_tables(encoding, shape.forest, smoothing, statistics_family)
    own = _cell_outputs(shape.base, encoding, tables)
    return np.concatenate([own, _cell_outputs(shape.linked, encoding, tables) - own[shape.of]])


def _cell_outputs(half: Half, encoding: Encoding, tables: list[Floats]) -> Floats:
    answer = np.zeros(half.statistics)
    first, second = half.rows()
    lines = zip(half.column.tolist(), half.state.tolist(), first.tolist(), second.tolist(), strict=True)
    for column, state, row, square in lines:
        variable, line = encoding.schema[column], tables[column][state]
        if variable.is_categorical:
            answer[row : row + line.size - 1] = line[1:] - line[0]
        else:
            answer[row] = line[0]
            if variable.kind != "count":
                scale = encoding.scale[column]
                answer[row] = line[0] / scale - encoding.centre[column] / scale
                answer[square] = line[1] - np.log(scale)
    return answer
