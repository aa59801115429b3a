"""The terminals of compilation: products of numbers and circuit nodes, one on each line of a matrix.

A part from 0 up is a circuit node; a negative part -k-1 is the k-th distinct number, which will become the
weight of a sum. Parts are sorted, so that equal products are equal lines, and lines are filled up with `PAD`.
"""

import numpy as np

from tractable.arrays import Floats, Ints

PAD = np.iinfo(np.int64).max  # no part: it sorts behind all others
NOUGHT = PAD - 1  # the only part of a product that is zero


def multiply_terms(left: Ints, right: Ints) -> Ints:
    """The products of pairs of terms, line by line."""
    parts = np.sort(np.concatenate([left, right], axis=1), axis=1)
    zero = (parts == NOUGHT).any(axis=1)
    parts[zero, 1:] = PAD
    parts[zero, 0] = NOUGHT
    return trim_terms(parts)


def trim_terms(parts: Ints) -> Ints:
    """Sorted lines without the columns that only fill up; one column stays in any case."""
    used = (parts != PAD).any(axis=0)
    used[0] = True
    return parts[:, used]


class NumberTable:
    """The different numbers of a network, as parts of terms."""

    def __init__(self) -> None:
        self._part: dict[float, int] = {0.0: int(PAD), -np.inf: int(NOUGHT)}
        self._logs: list[float] = []
        self._table = np.zeros(1)  # the same as an array, with a nought behind for parts that are no numbers

    def terms(self, log_values: Floats) -> tuple[Ints, Ints]:
        """Which line of a matrix of terms stands for each logarithm, in the shape they came; the matrix."""
        distinct, index = np.unique(log_values, return_inverse=True)
        parts = np.array([self._number(float(value)) for value in distinct], dtype=np.int64)
        return index.reshape(log_values.shape), parts[:, None]

    def logs(self, terms: Ints) -> Floats:
        """The logarithm of each term's number. Shape (terms,)."""
        if self._table.size <= len(self._logs):
            self._table = np.array([*self._logs, 0.0])
        total: Floats = self._table[np.where(terms < 0, -terms - 1, -1)].sum(axis=1)
        return total

    def _number(self, log_value: float) -> int:
        if log_value not in self._part:
            self._logs.append(log_value)
            self._part[log_value] = -len(self._logs)
        return self._part[log_value]
