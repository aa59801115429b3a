"""The log-likelihood gained when one column is made a parent of another, for all pairs of columns at once."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from tractable.arrays import Floats, Ints
from tractable.data import Schema
from tractable.leaves.pseudo_rows import pseudo_means, pseudo_squares, scatter
from tractable.statistics.encoding import SPARSE, Encoding, Matrix
from tractable.statistics.estimates import LEAST_SMOOTHING, log_rates, moments

STRIP = 1 << 20  # entries of the one-hot rows, or of their statistics, that are held at a time


def link_gains(encoding: Encoding, smoothing: float = 1.0) -> Floats:
    """The log-likelihood gained when a categorical column becomes another's parent. Shape (columns, columns).

    Entry (a, b) is the gain of b given a, in nats over all rows in which both are observed. For two
    categorical columns that is their mutual information times the weight of those rows; a numeric column has
    a smoothed leaf for each state of a. Rows of numeric columns are zero, and so is the diagonal.
    """
    smoothing = max(smoothing, LEAST_SMOOTHING)
    gain = np.zeros((len(encoding.schema), len(encoding.schema)))
    layout = encoding.layout
    for columns, given in _strips(encoding):
        gain[np.ix_(columns, layout.categorical)] = _information(encoding, given).T
        gain[np.ix_(columns, layout.real)] = _real_gains(encoding, given, smoothing).T
        gain[np.ix_(columns, layout.counted)] = _count_gains(encoding, given, smoothing).T
    np.fill_diagonal(gain, 0.0)
    return gain


def link_parameters(schema: Schema) -> Floats:
    """The number of parameters that b given a adds, for each pair (a, b). Shape (columns, columns)."""
    states = schema.cardinalities.astype(np.float64)
    width = np.array([v.cardinality - 1.0 if v.is_categorical else 1.0 + (v.kind != "count") for v in schema])
    return np.outer(np.maximum(states - 1, 0.0), width)


class _Given(NamedTuple):
    """Statistics of the rows in each state of a strip of columns; the last axis is those states."""

    sums: Floats  # (features, states)
    seen: Floats  # (columns, states) the weight of rows in which each column is observed
    first: Ints  # (strip's columns,) the position of the first state of each

    def sum_states(self, of_states: Floats) -> Floats:
        """Sums over the states of each of the strip's columns. (..., states) to (..., strip's columns)."""
        return np.add.reduceat(of_states, self.first, axis=-1)

    def spread_states(self, of_columns: Floats) -> Floats:
        """For each state what belongs to its column. (..., strip's columns) to (..., states)."""
        size = np.diff(self.first, append=self.seen.shape[1])
        return np.repeat(of_columns, size, axis=-1)


def _strips(encoding: Encoding) -> Iterator[tuple[Ints, _Given]]:
    """The categorical columns in strips, each with the statistics of its states."""
    layout, states = encoding.layout, encoding.schema.cardinalities
    room = max(1, STRIP // max(1, len(encoding.weights), layout.features))
    wide = states[layout.categorical] > 1 / SPARSE
    for column in layout.categorical[wide].tolist():
        yield (
            np.array([column]),
            _state_statistics(encoding, _sparse_one_hot(encoding, column), np.zeros(1, dtype=np.int64)),
        )
    narrow = layout.categorical[~wide]
    strip = np.cumsum(states[narrow]) // room
    for columns in np.split(narrow, np.flatnonzero(np.diff(strip)) + 1):
        if columns.size:
            first = np.cumsum(states[columns]) - states[columns]
            yield columns, _state_statistics(encoding, _one_hot(encoding, columns), first)


def _one_hot(encoding: Encoding, columns: Ints) -> Floats:
    """The weight of each row in the state that it has, zero in others. Shape (rows, states)."""
    states = encoding.schema.cardinalities[columns]
    owner = np.repeat(columns, states)
    state = np.concatenate([np.arange(k) for k in states])
    return (encoding.table.values[:, owner] == state) * encoding.weights[:, None]


def _sparse_one_hot(encoding: Encoding, column: int) -> "sparse.csr_array":
    codes = encoding.table.values[:, column]
    row = np.flatnonzero(~np.isnan(codes))
    shape = (codes.size, encoding.schema[column].cardinality)
    return sparse.csr_array((encoding.weights[row], (row, codes[row].astype(np.int64))), shape=shape)


def _state_statistics(encoding: Encoding, one_hot: Matrix, first: Ints) -> _Given:
    sums: Any = encoding.matrix.T @ one_hot
    sums = np.asarray(sums if isinstance(sums, np.ndarray) else sums.toarray(), dtype=np.float64)
    return _Given(sums, sums[encoding.layout.seen], first)


def _information(encoding: Encoding, given: _Given) -> Floats:
    """Mutual information times weight, from sums of n log n over pairs of states and over single states."""
    layout = encoding.layout
    seen = given.seen[layout.categorical]
    both = given.sums[layout.states]
    first = np.maximum(seen - layout.by_column(both), 0.0)  # rounding may take them below
    apart = layout.by_column(_n_log_n(both)) + _n_log_n(first) - _n_log_n(seen)
    both, first, seen = given.sum_states(both), given.sum_states(first), given.sum_states(seen)
    together = layout.by_column(_n_log_n(both)) + _n_log_n(first) - _n_log_n(seen)
    return given.sum_states(apart) - together


def _n_log_n(n: Floats) -> Floats:
    return np.asarray(xlogy(n, n), dtype=np.float64)


def _real_gains(encoding: Encoding, given: _Given, smoothing: float) -> Floats:
    layout = encoding.layout
    spread = encoding.prior[layout.squares][:, None]
    sums = (given.seen[layout.real], given.sums[layout.values], given.sums[layout.squares])
    added = (given.sum_states(sums[0]), given.sum_states(sums[1]), given.sum_states(sums[2]))
    within = given.sum_states(scatter(*sums)) / np.where(added[0] > 0, added[0], 1.0)
    apart = _log_normal(sums, smoothing, given.spread_states(within), spread)
    alone = scatter(*added) / np.where(added[0] > 0, added[0], 1.0)
    return given.sum_states(apart) - _log_normal(added, smoothing, alone, spread)


def _log_normal(
    sums: tuple[Floats, Floats, Floats], smoothing: float, within: Floats, spread: Floats
) -> Floats:
    """The log-likelihood of values under the smoothed Gaussian fitted to them, up to a constant."""
    seen, total, square = sums
    near = pseudo_means(seen, total, smoothing, 0.0)
    around = pseudo_squares(seen, near, within, smoothing, spread)
    mean, variance = moments(seen + smoothing, total + smoothing * near, square + smoothing * around)
    off = square - 2 * mean * total + seen * mean**2
    return -0.5 * (seen * np.log(variance) + off / variance)


def _count_gains(encoding: Encoding, given: _Given, smoothing: float) -> Floats:
    layout = encoding.layout
    overall = encoding.prior[layout.counts][:, None]
    seen, total = given.seen[layout.counted], given.sums[layout.counts]
    apart = _log_poisson(seen, total, smoothing, overall)
    return given.sum_states(apart) - _log_poisson(
        given.sum_states(seen), given.sum_states(total), smoothing, overall
    )


def _log_poisson(seen: Floats, total: Floats, smoothing: float, overall: Floats) -> Floats:
    """The log-likelihood of counts under the smoothed Poisson fitted to them, up to a constant."""
    near = pseudo_means(seen, total, smoothing, overall)
    log_rate = log_rates(seen + smoothing, total + smoothing * near)
    return total * log_rate - seen * np.exp(log_rate)
