"""The rows of a table as bit sets, so that conjunctions are evaluated for 64 rows at a time."""

from typing import TypeAlias

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints, Words
from tractable.base.compiled import inner, kernel
from tractable.data import Table, collapse

RowBits: TypeAlias = Words  # (words,) a set of rows, one bit each

LEAST_GROUP = 32  # a group of this many rows of equal weight gets words of its own


class BitRows:
    """The distinct weighted rows of a table of categorical columns.

    Rows of equal weight share words, so that a population count gives their total weight. The order of bits
    therefore differs from that of the rows, with gaps between groups; rows with rare weights come last.
    """

    def __init__(self, table: Table) -> None:
        some = table if (table.row_weights > 0).all() else table.take(table.row_weights > 0)
        distinct, _ = collapse(some)
        self.states = table.schema.cardinalities
        self.total = float(distinct.row_weights.sum())
        self._first_state = np.cumsum(self.states) - self.states
        self._position, self._group = _arrange(distinct.row_weights)
        words = max(-(-(self._position.max(initial=0) + 1) // 64), int(self._group[-1]))
        self._weights = np.zeros(64 * words)
        self._weights[self._position] = distinct.row_weights
        column = np.repeat(np.arange(self.states.size), self.states)
        state = np.concatenate([np.arange(k) for k in self.states])
        self.literals = np.stack(
            [self._pack(distinct.values[:, c] == v) for c, v in zip(column, state, strict=True)]
        )  # (states of all columns, words) the rows that have each state

    def _pack(self, which: Bools) -> RowBits:
        """The rows for which `which` is true, as bits."""
        bits = np.zeros(self._weights.size, dtype=np.bool_)
        bits[self._position] = which
        return np.packbits(bits, bitorder="little").view(np.uint64)

    @property
    def all_rows(self) -> RowBits:
        """The set of all rows."""
        return self._pack(np.ones(self._position.size, dtype=np.bool_))

    def states_of(self, column: int) -> slice:
        """The positions of a column's states among the states of all columns."""
        return slice(int(self._first_state[column]), int(self._first_state[column] + self.states[column]))

    def count_states(self, bits: RowBits) -> Floats:
        """The weight of the given rows that have each state of each column. (states of all columns,)."""
        return self._count(self.literals, bits)

    def weight(self, bits: RowBits) -> float:
        """The total weight of the given rows."""
        return float(self._count(bits[None, :], bits)[0])

    def state_shares(self, bits: RowBits) -> Floats:
        """The share of each state among the given rows in which its column is seen. (states of all columns,).

        All states of a column have the same share if the column is seen in none of the rows.
        """
        return _divide_by_column(self.count_states(bits), self.states)

    def column_shares(self, bits: RowBits, column: int) -> Floats:
        """The posterior shares of the states of one column. Shape (states,)."""
        counts = self._count(self.literals[self.states_of(column)], bits)
        return _divide_by_column(counts, self.states[column : column + 1])

    def _count(self, literals: Words, bits: RowBits) -> Floats:
        counts = np.empty(len(literals))
        _weigh_intersections(literals, bits, self._weights, self._group, counts)
        return counts


def _arrange(weights: Floats) -> tuple[Ints, Ints]:
    """The position of each row's bit, and the words at which groups begin, and the last one ends."""
    _, kind, count = np.unique(weights, return_inverse=True, return_counts=True)
    common = count >= LEAST_GROUP
    room = np.where(common, -(-count // 64) * 64, count)
    rank = np.argsort(~common, kind="stable")
    first = np.zeros(count.size, dtype=np.int64)
    first[rank] = np.cumsum(room[rank]) - room[rank]
    within = np.zeros(weights.size, dtype=np.int64)
    within[np.argsort(kind, kind="stable")] = np.arange(weights.size) - np.repeat(
        np.cumsum(count) - count, count
    )
    return first[kind] + within, np.append(0, np.cumsum(room[common])) // 64


def _divide_by_column(counts: Floats, states: Ints) -> Floats:
    """The counts of states divided by their sum for each column, or uniform shares for zero."""
    first = np.cumsum(states) - states
    seen = np.repeat(np.add.reduceat(counts, first), states)
    return np.where(seen > 0, counts / np.maximum(seen, 1e-300), 1 / np.repeat(states, states))


@kernel
def _weigh_intersections(
    literals: Words, bits: RowBits, weights: Floats, group: Ints, answer: Floats
) -> None:
    """Fill in the weight of the rows that are in each of the literals' sets and among `bits`."""
    one = np.uint64(1)
    for i in range(len(literals)):
        total, literal = 0.0, literals[i]
        for k in range(group.size - 1):
            many = 0
            for j in range(group[k], group[k + 1]):
                many += _count_ones(literal[j] & bits[j])
            total += many * weights[64 * group[k]]
        for j in range(group[-1], bits.size):
            word = literal[j] & bits[j]
            while word != 0:
                lowest = word & (~word + one)
                total += weights[64 * j + _count_ones(lowest - one)]
                word ^= lowest
        answer[i] = total


@inner
def _count_ones(word: "np.uint64") -> int:
    """The number of bits that are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
