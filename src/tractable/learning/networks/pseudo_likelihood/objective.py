"""The pseudo-likelihood as a function of the weights, which needs no partition function.

Besag, «Statistical Analysis of Non-Lattice Data», 1975.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tractable.base.arrays import Floats, Int32s, Ints
from tractable.data import Table, collapse
from tractable.engine.sweep import map_threads, threads_or_default
from tractable.learning.networks.pseudo_likelihood.kernels import (
    Cells,
    add_curvatures,
    deciding_literals,
    pseudo_likelihood,
)
from tractable.networks import FeatureFactor
from tractable.networks.features import Literals, literals_of
from tractable.networks.flat import flat_features

PARTS = 8  # of the rows, summed apart: the same sums whatever the number of threads


class PseudoLikelihood:
    """The log pseudo-likelihood of a table as a function of the features' log weights.

    Missing cells have no term, and features that refer to them do not hold.
    """

    def __init__(self, features: Sequence[FeatureFactor], table: Table) -> None:
        weighs = table.row_weights > 0
        distinct, _ = collapse(table if weighs.all() else table.take(weighs))
        codes: Int32s = np.where(distinct.missing, -1, distinct.values).astype(np.int32)
        states: Ints = table.schema.cardinalities
        self.rows = distinct.total_weight
        self.features = len(features)
        self._literals = literals_of(flat_features(features), states)
        self._sign = _signs(self._literals, states)
        entries = deciding_literals(self._literals, codes)
        self._cells = Cells(codes, distinct.row_weights, states, *entries)
        self._parts = list(pairwise(np.linspace(0, len(codes), PARTS + 1).astype(np.int64).tolist()))

    def __call__(self, log_weight: Floats) -> tuple[float, Floats]:
        """The value over all rows and its gradient."""
        own = log_weight[self._literals.feature]

        def run(part: tuple[int, int]) -> tuple[float, Floats]:
            slope = np.zeros(own.size)
            total = pseudo_likelihood(self._cells, self._literals, self._sign, own, *part, slope)
            return float(total), slope

        parts = map_threads(run, self._parts, threads_or_default(None))
        return sum(total for total, _ in parts), self._by_feature([slope for _, slope in parts])

    def curvatures(self, log_weight: Floats) -> Floats:
        """The negative second derivative along each feature, summed over its literals. Shape (features,)."""
        own = log_weight[self._literals.feature]

        def run(part: tuple[int, int]) -> Floats:
            curve = np.zeros(own.size)
            add_curvatures(self._cells, self._literals, own, *part, curve)
            return curve

        return self._by_feature(map_threads(run, self._parts, threads_or_default(None)))

    def mean(self, log_weight: Floats) -> float:
        """The mean over rows."""
        return self(log_weight)[0] / (self.rows or 1.0)

    def by_row(self, log_weight: Floats) -> Floats:
        """The value of each distinct row of the table times its weight. Shape (distinct rows,)."""
        own = log_weight[self._literals.feature]

        def run(part: tuple[int, int]) -> list[float]:
            slope = np.zeros(own.size)  # which nobody asks for here
            return [
                pseudo_likelihood(self._cells, self._literals, self._sign, own, row, row + 1, slope)
                for row in range(*part)
            ]

        parts = map_threads(run, self._parts, threads_or_default(None))
        return np.array([value for part in parts for value in part])

    def _by_feature(self, parts: list[Floats]) -> Floats:
        return np.bincount(self._literals.feature, np.sum(parts, axis=0), self.features).astype(np.float64)


def _signs(literals: Literals, states: Ints) -> Floats:
    """The difference of each literal's values at the second and first of two states; 0 for other columns."""
    two = states[literals.column] == 2
    answer = np.zeros(two.size)
    answer[two] = literals.allowed[literals.offset[two] + 1].astype(np.float64)
    answer[two] -= literals.allowed[literals.offset[two]]
    return answer
