"""A block of a matrix that is nearly of rank one: `extractR1` of Adel, Balduzzi and Ghodsi (2015).

The power method for the first pair of singular vectors runs on a block that it chooses itself: after each
half of a step, the columns (or the rows) are kept whose part along the other singular vector is more than the
share 1 / gamma of their squared length.

Each half of a step maximises the same objective over one side, with the other side held: the sum over the
block of gamma times the squared part along the singular vector, less the squared length. So the objective
never falls, no block is visited twice, and the alternation ends. In the terms of equation 3 of the paper this
is its objective with a penalty of gamma / (gamma - 1).
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.learning.statistics.number_matrix import NumberMatrix, standardised

MOST_STEPS = 500  # of the alternation; a few are usual
TOLERANCE = 1e-9  # a step that gains a smaller share of the matrix's squared length is the last one


class Extraction(NamedTuple):
    """An extracted block."""

    rows: Bools  # (rows,)
    columns: Bools  # (columns,)
    objective: Floats  # (steps,) after each step

    @property
    def is_everything(self) -> bool:
        """Whether the block is empty or the whole matrix, so that nothing can be separated."""
        return bool((self.rows.all() and self.columns.all()) or not self.rows.any() or not self.columns.any())


def extract_block(matrix: NumberMatrix, gamma: float) -> Extraction:
    """A block that is nearly of rank one, starting with the longest column.

    The numbers are divided by their standard deviations first. The longest singular vectors win, so that the
    same matrix always gives the same block.
    """
    x = standardised(matrix)
    square = x**2
    total = float(matrix.weights @ square.sum(axis=1))
    u = x[:, int(np.argmax(_column_lengths(matrix, matrix.weights @ square)))]
    rows = np.ones(len(x), dtype=np.bool_)
    columns = np.zeros(matrix.columns, dtype=np.bool_)
    reached: list[float] = []
    while len(reached) < MOST_STEPS:
        weight = matrix.weights * rows
        v = (weight * u) @ x / _length(u, weight)
        columns = np.bincount(matrix.owner, gamma * v**2 - weight @ square, matrix.columns) > 0.0
        inside = columns[matrix.owner]
        v = np.where(inside, v, 0.0)
        u = x @ (v / _length(v, inside))
        gain = gamma * u**2 - square @ inside
        rows = gain > 0.0
        reached.append(float(matrix.weights @ np.maximum(gain, 0.0)))
        if reached[-1] - (reached[-2] if len(reached) > 1 else 0.0) <= TOLERANCE * gamma * total:
            break
    return Extraction(rows, columns, np.array(reached))


def _column_lengths(matrix: NumberMatrix, squared: Floats) -> Floats:
    """The squared length of the column of each number that is the longest of its column, else zero."""
    column = np.bincount(matrix.owner, squared, matrix.columns)[matrix.owner]
    best = np.zeros(matrix.columns)
    np.maximum.at(best, matrix.owner, squared)
    return np.where(squared == best[matrix.owner], column, -1.0)


def _length(vector: Floats, weight: Floats | Bools) -> float:
    """The weighted length, or one if it is zero, to divide by."""
    return float(np.sqrt(weight @ vector**2)) or 1.0
