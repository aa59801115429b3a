"""Sums over features as matrix products, for the parameters that many inputs bear on."""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, Int32s, Ints
from tractable.conditional.daclearn.kernels import add_features, sum_features

MANY = 8  # conjunctions of inputs from which a parameter is worth a line of a matrix


class FeaturePlaces(NamedTuple):
    """Where features stand: in a matrix of parameters and conjunctions, or by themselves."""

    params: Int32s  # (features,)
    conjunctions: Int32s  # (features,)
    dense: Ints  # the parameters that are lines of the matrix
    used: Ints  # the conjunctions that are columns of the matrix
    inside: Bools  # (features,) whether a feature is in the matrix
    line: Ints  # (features inside,)
    column: Ints  # (features inside,)

    @classmethod
    def of(cls, params: Int32s, conjunctions: Int32s) -> "FeaturePlaces":
        """The places of features that belong to parameters and hold with conjunctions of inputs."""
        dense = np.flatnonzero(np.bincount(params, conjunctions > 0) >= MANY)
        inside = np.isin(params, dense) & (conjunctions > 0)
        used, column = np.unique(conjunctions[inside], return_inverse=True)
        line = np.searchsorted(dense, params[inside])
        return cls(params, conjunctions, dense, used.astype(np.int64), inside, line, column)

    def add_up(self, weights: Floats, indicator: Floats, params: int) -> Floats:
        """For each parameter and row the sum of the weights of its features that hold. (params, rows)."""
        total = np.zeros((params, indicator.shape[1]))
        if self.dense.size:
            matrix = np.zeros((self.dense.size, self.used.size))
            matrix[self.line, self.column] = weights[self.inside]
            total[self.dense] = matrix @ self._columns(indicator)
        alone = np.where(self.inside, 0.0, weights)
        add_features(alone, self.params, self.conjunctions, indicator, total)
        return total

    def sum_over_rows(self, value: Floats, indicator: Floats) -> Floats:
        """For each feature, its parameter's line of `value`, (params, rows), summed where it holds."""
        total, outside = np.zeros(self.params.size), ~self.inside
        alone = np.zeros(int(outside.sum()))
        sum_features(self.params[outside], self.conjunctions[outside], indicator, value, alone)
        total[outside] = alone
        if self.dense.size:
            matrix = value[self.dense] @ self._columns(indicator).T
            total[self.inside] = matrix[self.line, self.column]
        return total

    def _columns(self, indicator: Floats) -> Floats:
        return indicator if self.used.size == len(indicator) else indicator[self.used]
