"""Sums over features as matrix products, for the parameters that many inputs bear on."""

from typing import Any, final

import numpy as np
from scipy.sparse import csr_array

from tractable.base.arrays import Floats, Int32s, Ints
from tractable.learning.conditional.daclearn.kernels import add_features, sum_features

MANY = 8  # conjunctions of inputs from which a parameter is worth a line of a matrix
SPARSE = 0.15  # part of ones below which only these are kept


@final
class ZeroOneMatrix:
    """A matrix of zeros and ones, (lines, rows), of which only the ones are kept if these are few."""

    def __init__(self, dense: Floats) -> None:
        is_sparse = np.count_nonzero(dense) < SPARSE * dense.size
        self._matrix: Any = csr_array(dense) if is_sparse else dense
        self._is_sparse = is_sparse

    def multiply(self, left: Floats) -> Floats:
        """Left times the matrix. Shape (lines of left, rows)."""
        return np.asarray((self._matrix.T @ left.T).T if self._is_sparse else left @ self._matrix)

    def multiply_transposed(self, left: Floats) -> Floats:
        """Left, (some, rows), times the transposed matrix. Shape (some, lines)."""
        return np.asarray((self._matrix @ left.T).T if self._is_sparse else left @ self._matrix.T)


@final
class FeaturePlaces:
    """Where features stand: in a matrix of parameters and conjunctions of inputs, or by themselves."""

    def __init__(self, params: Int32s, conjunctions: Int32s, indicator: Floats) -> None:
        """`params` and `conjunctions` are (features,); `indicator` is (conjunctions, rows)."""
        self.features = params.size
        self._indicator = indicator
        self._dense = np.flatnonzero(np.bincount(params, conjunctions > 0) >= MANY)
        inside = np.isin(params, self._dense) & (conjunctions > 0)
        used, self._column = np.unique(conjunctions[inside], return_inverse=True)
        self._line: Ints = np.searchsorted(self._dense, params[inside])
        self._columns = ZeroOneMatrix(indicator[used])
        self._size = (self._dense.size, used.size)
        self._inside, self._outside = np.flatnonzero(inside), np.flatnonzero(~inside)
        self._params, self._conjunctions = params[~inside], conjunctions[~inside]

    def add_up(self, weights: Floats, params: int) -> Floats:
        """For each parameter and row the sum of the weights of its features that hold. (params, rows)."""
        total = np.zeros((params, self._indicator.shape[1]))
        if self._dense.size:
            matrix = np.zeros(self._size)
            matrix[self._line, self._column] = weights[self._inside]
            total[self._dense] = self._columns.multiply(matrix)
        add_features(weights[self._outside], self._params, self._conjunctions, self._indicator, total)
        return total

    def sum_over_rows(self, value: Floats) -> Floats:
        """For each feature, its parameter's line of `value`, (params, rows), summed where it holds."""
        total, alone = np.zeros(self.features), np.zeros(self._outside.size)
        sum_features(self._params, self._conjunctions, self._indicator, value, alone)
        total[self._outside] = alone
        if self._dense.size:
            matrix = self._columns.multiply_transposed(value[self._dense])
            total[self._inside] = matrix[self._line, self._column]
        return total
