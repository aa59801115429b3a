"""The rows of a table as matrices: numbers, one-hot states and counts."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from tractable.base.arrays import Bools, Floats, Ints
from tractable.data import Schema, Table


class ColumnGroups(NamedTuple):
    """The columns grouped by their treatment."""

    numbers: Ints  # numeric columns that are no counts: together in one Gaussian
    states: Ints  # categorical columns
    counts: Ints  # count columns
    first: Ints  # (categorical columns + 1,) where the indicators of each begin

    def slices(self) -> list[slice]:
        """The indicators of each categorical column."""
        return [slice(int(a), int(b)) for a, b in zip(self.first[:-1], self.first[1:], strict=True)]


def group_columns(schema: Schema) -> ColumnGroups:
    """The columns by their treatment."""
    numbers = [i for i, v in enumerate(schema) if v.is_numeric and v.kind != "count"]
    states = [i for i, v in enumerate(schema) if v.is_categorical]
    counts = [i for i, v in enumerate(schema) if v.kind == "count"]
    first = np.concatenate([[0], np.cumsum(schema.cardinalities[states])])
    number, state, count = (np.array(columns, dtype=np.int64) for columns in (numbers, states, counts))
    return ColumnGroups(number, state, count, first.astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class MixedRows:
    """Rows as matrices, with zeros for missing cells."""

    groups: ColumnGroups
    weights: Floats  # (rows,)
    numbers: Floats  # (rows, numbers)
    seen: Bools  # (rows, numbers) where a number is observed
    indicators: Floats  # (rows, states)
    counts: Floats  # (rows, counts)
    counts_seen: Floats  # (rows, counts) one where observed
    log_factorials: Floats  # (rows,) of all counts of a row together

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, rows: Ints | Bools | slice) -> "MixedRows":
        """A subset of the rows."""
        return MixedRows(
            self.groups, self.weights[rows], self.numbers[rows], self.seen[rows], self.indicators[rows],
            self.counts[rows], self.counts_seen[rows], self.log_factorials[rows],
        )  # fmt: skip


def mixed_rows(table: Table) -> MixedRows:
    """The rows of a table as matrices."""
    groups = group_columns(table.schema)
    seen = ~table.missing
    values = np.where(seen, table.values, 0.0)
    indicators = np.zeros((len(table), int(groups.first[-1])))
    for column, start in zip(groups.states.tolist(), groups.first[:-1].tolist(), strict=True):
        row = np.flatnonzero(seen[:, column])
        indicators[row, start + values[row, column].astype(np.int64)] = 1.0
    counts = values[:, groups.counts]
    return MixedRows(
        groups, table.row_weights, values[:, groups.numbers], seen[:, groups.numbers], indicators,
        counts, seen[:, groups.counts].astype(np.float64), gammaln(counts + 1).sum(axis=1),
    )  # fmt: skip
