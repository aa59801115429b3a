"""How often the features of a growing model hold in the rows of a table."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.data import Table
from tractable.learning.growing.bit_rows import BitRows, RowBits


class FeatureFrequencies:
    """The frequencies of features in the rows of a table, which follow the splits of a structure.

    A feature that was split on a column divides its frequency among the new features as the column divides
    those of its rows in which the column is not missing.
    """

    def __init__(self, table: Table, smoothing: float) -> None:
        self._rows = BitRows(table)
        self._bits: list[RowBits] = list(self._rows.literals)  # the rows in which each feature holds
        self._shares: dict[int, Floats] = {}
        states = self._rows.states
        counts = self._rows.count_states(self._rows.all_rows) + smoothing / np.repeat(states, states)
        first = np.cumsum(states) - states
        self.values: Floats = counts / np.repeat(np.add.reduceat(counts, first), states)  # (features,)

    @property
    def total(self) -> float:
        """The total weight of the rows."""
        return self._rows.total

    def state_shares(self, feature: int) -> Floats:
        """The share of a feature's rows that has each state of each column. (states of all columns,)."""
        if feature not in self._shares:
            self._shares[feature] = self._rows.state_shares(self._bits[feature])
        return self._shares[feature]

    def add_split(self, feature: int, column: int) -> None:
        """Follow a split of a feature on a column."""
        bits, states = self._bits[feature], self._rows.states_of(column)
        known = self._shares.get(feature)
        shares = self._rows.column_shares(bits, column) if known is None else known[states]
        self.values = np.concatenate([self.values, self.values[feature] * shares])
        self._bits.extend(self._rows.literals[states] & bits)

    def truncate(self, features: int) -> None:
        """Drop all features after a number of them."""
        del self._bits[features:]
        self._shares = {feature: shares for feature, shares in self._shares.items() if feature < features}
        self.values = self.values[:features]
