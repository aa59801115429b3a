"""Which rows of a table satisfy a conjunction, as bits; and how often it holds together with each state."""

from typing import TypeAlias

import numpy as np
from numba import njit

from tractable.arrays import Bools, Floats, Ints
from tractable.data import Table, collapse
from tractable.growing.store import Words

Bits: TypeAlias = Words  # (words,) a bit a row

LEAST_ALIKE = 32  # rows that weigh the same and get words of their own


class Rows:
    """The rows of a table of categorical columns. Equal rows are one row that weighs more.

    Rows that weigh the same share words of bits, so that they are counted by words: they stand in another
    order than in the table, with room between them. Those that weigh like few others come last.
    """

    def __init__(self, table: Table) -> None:
        some = table if (table.row_weights > 0).all() else table.take(table.row_weights > 0)
        distinct, _ = collapse(some)
        self.states = table.schema.cardinalities
        self.total = float(distinct.row_weights.sum())
        self._place, self._lot = _places(distinct.row_weights)
        self._weights = np.zeros(64 * max(-(-(self._place.max(initial=0) + 1) // 64), int(self._lot[-1])))
        self._weights[self._place] = distinct.row_weights
        column = np.repeat(np.arange(self.states.size), self.states)
        state = np.concatenate([np.arange(k) for k in self.states])
        self.literals = np.stack(
            [self._packed(distinct.values[:, c] == v) for c, v in zip(column, state, strict=True)]
        )  # (states of all columns, words)

    def _packed(self, which: Bools) -> Bits:
        """A truth for each row as bits."""
        bits = np.zeros(self._weights.size, dtype=np.bool_)
        bits[self._place] = which
        return np.packbits(bits, bitorder="little").view(np.uint64)

    @property
    def everything(self) -> Bits:
        """All rows."""
        return self._packed(np.ones(self._place.size, dtype=np.bool_))

    def counts(self, bits: Bits) -> Floats:
        """How much the given rows weigh that have each state of each column. (states of all columns,)."""
        answer = np.empty(len(self.literals))
        _counts(self.literals, bits, self._weights, self._lot, answer)
        return answer

    def weight(self, bits: Bits) -> float:
        """How much the given rows weigh."""
        answer = np.empty(1)
        _counts(bits[None, :], bits, self._weights, self._lot, answer)
        return float(answer[0])

    def parts(self, bits: Bits) -> Floats:
        """Into which parts each column divides the given rows, by those in which it is seen.

        Shape (states of all columns,); even parts for a column that is seen in none.
        """
        counts = self.counts(bits)
        first = np.cumsum(self.states) - self.states
        seen = np.repeat(np.add.reduceat(counts, first), self.states)
        return np.where(seen > 0, counts / np.maximum(seen, 1e-300), 1 / np.repeat(self.states, self.states))


def _places(weights: Floats) -> tuple[Ints, Ints]:
    """Where each row stands; and the words at which rows that weigh the same begin, and the last ones end."""
    _, kind, count = np.unique(weights, return_inverse=True, return_counts=True)
    common = count >= LEAST_ALIKE
    room = np.where(common, -(-count // 64) * 64, count)
    rank = np.argsort(~common, kind="stable")
    first = np.zeros(count.size, dtype=np.int64)
    first[rank] = np.cumsum(room[rank]) - room[rank]
    within = np.zeros(weights.size, dtype=np.int64)
    within[np.argsort(kind, kind="stable")] = np.arange(weights.size) - np.repeat(
        np.cumsum(count) - count, count
    )
    return first[kind] + within, np.append(0, np.cumsum(room[common])) // 64


@njit(cache=True, nogil=True)
def _counts(literals: Words, bits: Bits, weights: Floats, lot: Ints, answer: Floats) -> None:
    one = np.uint64(1)
    for i in range(len(literals)):
        total, literal = 0.0, literals[i]
        for k in range(lot.size - 1):
            many = 0
            for j in range(lot[k], lot[k + 1]):
                many += _ones(literal[j] & bits[j])
            total += many * weights[64 * lot[k]]
        for j in range(lot[-1], bits.size):
            word = literal[j] & bits[j]
            while word != 0:
                lowest = word & (~word + one)
                total += weights[64 * j + _ones(lowest - one)]
                word ^= lowest
        answer[i] = total


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
