"""Which rows of a table satisfy a conjunction, as bits; and how often it holds together with each state."""

from typing import TypeAlias

import numpy as np
from numba import njit

from tractable.arrays import Bools, Floats
from tractable.data import Table, collapse
from tractable.growing.store import Words

Bits: TypeAlias = Words  # (words,) a bit a row


class Rows:
    """The rows of a table of categorical columns. Equal rows are one row that weighs more."""

    def __init__(self, table: Table) -> None:
        some = table if (table.row_weights > 0).all() else table.take(table.row_weights > 0)
        distinct, _ = collapse(some)
        self.states = table.schema.cardinalities
        self.weights = distinct.row_weights
        self.total = float(self.weights.sum())
        self._even = bool((self.weights == 1).all())
        column = np.repeat(np.arange(self.states.size), self.states)
        state = np.concatenate([np.arange(k) for k in self.states])
        self.literals = np.stack(
            [packed(distinct.values[:, c] == v) for c, v in zip(column, state, strict=True)]
        )  # (states of all columns, words)

    @property
    def everything(self) -> Bits:
        """All rows."""
        return packed(np.ones(self.weights.size, dtype=np.bool_))

    def counts(self, bits: Bits) -> Floats:
        """How much the given rows weigh that have each state of each column. (states of all columns,)."""
        answer = np.empty(len(self.literals))
        _counts(self.literals, bits, self.weights, self._even, answer)
        return answer

    def weight(self, bits: Bits) -> float:
        """How much the given rows weigh."""
        answer = np.empty(1)
        _counts(bits[None, :], bits, self.weights, self._even, answer)
        return float(answer[0])

    def parts(self, bits: Bits) -> Floats:
        """Into which parts each column divides the given rows, by those in which it is seen.

        Shape (states of all columns,); even parts for a column that is seen in none.
        """
        counts = self.counts(bits)
        first = np.cumsum(self.states) - self.states
        seen = np.repeat(np.add.reduceat(counts, first), self.states)
        return np.where(seen > 0, counts / np.maximum(seen, 1e-300), 1 / np.repeat(self.states, self.states))


def packed(which: Bools) -> Bits:
    """Truths as bits, filled up to whole words."""
    size = -(-which.size // 64) * 64
    return np.packbits(np.pad(which, (0, size - which.size)), bitorder="little").view(np.uint64)


@njit(cache=True, nogil=True)
def _counts(literals: Words, bits: Bits, weights: Floats, even: bool, answer: Floats) -> None:
    one = np.uint64(1)
    for i in range(len(literals)):
        many, total = 0, 0.0
        literal = literals[i]
        for j in range(bits.size):
            word = literal[j] & bits[j]
            if even:
                many += _ones(word)
                continue
            while word != 0:
                lowest = word & (~word + one)
                total += weights[64 * j + _ones(lowest - one)]
                word ^= lowest
        answer[i] = many if even else total


@njit(cache=True, nogil=True, inline="always")
def _ones(word: "np.uint64") -> int:
    """The number of bits that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


def holding(rows: Rows, bits: Bits, column: int) -> Words:
    """The given rows that have each state of a column. Shape (states, words)."""
    first = int(rows.states[:column].sum())
    answer: Words = rows.literals[first : first + rows.states[column]] & bits
    return answer
