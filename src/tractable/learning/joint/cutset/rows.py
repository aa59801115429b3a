"""The rows of a table of categorical columns, prepared for counting in cutset networks."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from tractable.base.arrays import Floats, Int32s, Ints
from tractable.data import Table, collapse
from tractable.learning.statistics.encoding import Encoding, Matrix, encode
from tractable.learning.statistics.estimates import LEAST_SMOOTHING

MOST_FEATURES = 6000  # of which the counts of all pairs are still held


def code_table(table: Table) -> Int32s:
    """The states of each row, -1 for missing cells. Shape (rows, columns)."""
    return np.ascontiguousarray(np.where(table.missing, -1, table.values).astype(np.int32))


class HeldOutRows(NamedTuple):
    """Validation rows."""

    codes: Int32s  # (rows, columns)
    weights: Floats  # (rows,)

    def mean(self, logs: Floats) -> float:
        """The weighted mean of log-probabilities of the rows."""
        return float(self.weights @ logs) / (float(self.weights.sum()) or 1.0)


def hold_out(table: Table) -> HeldOutRows:
    """The distinct rows of a validation table."""
    distinct, _ = collapse(table)
    return HeldOutRows(code_table(distinct), distinct.row_weights)


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Distinct weighted rows, prepared for counts of pairs of features."""

    encoding: Encoding
    codes: Int32s  # (rows, columns) -1 where a cell is missing
    places: Ints  # (columns, 3) the feature of the second state, the number of states, the feature of seen
    weights: Floats  # (rows,)

    @property
    def features(self) -> int:
        """The number of features."""
        return self.encoding.layout.features

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.places)

    def with_weights(self, weights: Floats) -> "CountedRows":
        """The rows with other weights."""
        return CountedRows(self.encoding, self.codes, self.places, weights)

    def count_pairs(self, rows: Ints, weights: Floats) -> Floats:
        """The weighted counts of all pairs of features in a subset of rows. Shape (features, features)."""
        if not rows.size:
            return np.zeros((self.features, self.features))
        part = self.encoding.matrix[rows]
        if not isinstance(part, np.ndarray):
            return _count_sparse(part, weights)
        if (weights == 1.0).all():
            return part.T @ part
        return (part * weights[:, None]).T @ part

    def state_counts(self, pair: Floats) -> Floats:
        """The counts of each column's states, zero beyond its last one. Shape (columns, most states)."""
        first, states, seen = self.places.T
        answer = np.zeros((self.columns, int(states.max())))
        owner = np.repeat(np.arange(self.columns), states - 1)
        state = np.arange(owner.size) - np.repeat(np.cumsum(states - 1) - (states - 1), states - 1) + 1
        answer[owner, state] = pair[0, first[owner] + state - 1]
        answer[:, 0] = pair[0, seen] - answer.sum(axis=1)
        return answer


def count_rows(table: Table) -> CountedRows:
    """The distinct rows of a table of categorical columns.

    Raises:
        ValueError: if the columns have too many states for counts of pairs.
    """
    schema = table.schema
    total = int((schema.cardinalities - 1).sum())
    if total > MOST_FEATURES:
        widest = max(schema, key=lambda variable: variable.cardinality)
        raise ValueError(
            f"the columns have {total} states together, but the counts of pairs of states are limited to"
            f" {MOST_FEATURES} states: group or drop states of column '{widest.name}', which has"
            f" {widest.cardinality}"
        )
    encoding = encode(table)
    states = schema.cardinalities
    first = 1 + np.cumsum(states - 1) - (states - 1)
    places = np.column_stack([first, states, encoding.layout.seen]).astype(np.int64)
    return CountedRows(encoding, code_table(encoding.table), places, encoding.weights)


def prior_pairs(rows: CountedRows, pair: Floats, smoothing: float) -> Floats:
    """The pair counts of one pseudo-count: independent columns with smoothed frequencies.

    The frequencies of a column's states are smoothed towards uniform ones. Shape (features, features).
    """
    smoothing = max(smoothing, LEAST_SMOOTHING)
    layout = rows.encoding.layout
    seen = pair[0, layout.seen[layout.categorical[layout.owner]]]
    mean = np.ones(rows.features)
    mean[layout.states] = (pair[0, layout.states] + smoothing * rows.encoding.prior[layout.states]) / (
        seen + smoothing
    )
    answer = np.outer(mean, mean)
    same = layout.owner[:, None] == layout.owner
    answer[layout.states, layout.states][same] = 0.0
    np.fill_diagonal(answer, mean)
    return answer


def _count_sparse(part: "sparse.csr_array", weights: Floats) -> Floats:
    weighed = part.copy()
    weighed.data = weighed.data * np.repeat(weights, np.diff(part.indptr))
    product: Matrix = weighed.T @ part
    return np.asarray(product.toarray(), dtype=np.float64)  # type: ignore[union-attr]
