"""The log-likelihood gained when one column is made a parent of another, for all pairs of columns at once."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.circuit.leaves.counts import pseudo_means, pseudo_squares, scatter
from tractable.data import Schema
from tractable.learning.statistics.encoding import SPARSE, Encoding, FeatureLayout, Matrix, layout_of
from tractable.learning.statistics.estimates import LEAST_SMOOTHING, log_rates, moments

STRIP = 1 << 20  # entries of the one-hot rows, or of their statistics, that are held at a time
MOST_COUNTS = 1 << 22  # statistics that are held at a time of a column of many states


def link_gains(encoding: Encoding, smoothing: float = 1.0, watch: Watch | None = None) -> Floats:
    """The log-likelihood gained when a categorical column becomes another's parent. Shape (columns, columns).

    Entry (a, b) is the gain of b given a, in nats over all rows in which both are observed. For two
    categorical columns that is their mutual information times the weight of those rows; a numeric column has
    a smoothed leaf for each state of a. Rows of numeric columns are zero, and so is the diagonal. Pairs that
    were not compared when the watch said to stop gain nothing.
    """
    smoothing = max(smoothing, LEAST_SMOOTHING)
    gain = np.zeros((len(encoding.schema), len(encoding.schema)))
    for columns, features, given in _strips(encoding):
        layout, of = features.layout, features.columns
        gain[np.ix_(columns, of[layout.categorical])] = _information(layout, given).T
        gain[np.ix_(columns, of[layout.real])] = _real_gains(features, given, smoothing).T
        gain[np.ix_(columns, of[layout.counted])] = _count_gains(features, given, smoothing).T
        if watch is not None and watch.should_stop():
            known = np.ix_(encoding.layout.categorical, encoding.layout.categorical)
            gain[known] = np.maximum(gain[known], gain[known].T)  # which are the same but for rounding
            break
    for one, other in _widest_pairs(encoding.schema):
        if watch is None or not watch.should_stop():
            gain[one, other] = gain[other, one] = _pair_information(encoding, one, other)
    np.fill_diagonal(gain, 0.0)
    return gain


def link_parameters(schema: Schema) -> Floats:
    """The number of parameters that b given a adds, for each pair (a, b). Shape (columns, columns)."""
    states = schema.cardinalities.astype(np.float64)
    width = np.array([v.cardinality - 1.0 if v.is_categorical else 1.0 + (v.kind != "count") for v in schema])
    return np.outer(np.maximum(states - 1, 0.0), width)


class _Features(NamedTuple):
    """The features of some of the columns, all rows of them."""

    columns: Ints  # which columns these are
    layout: FeatureLayout  # by their places among `columns`
    matrix: Matrix  # (rows, features)
    prior: Floats  # (features,)


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


def _strips(encoding: Encoding) -> Iterator[tuple[Ints, _Features, _Given]]:
    """The categorical columns in strips, each with features of columns and their statistics in its states.

    Columns of many states are strips of their own, and come with the features of some columns at a time.
    """
    layout, states = encoding.layout, encoding.schema.cardinalities
    every = _Features(np.arange(len(states)), layout, encoding.matrix, encoding.prior)
    room = max(1, STRIP // max(1, len(encoding.weights), layout.features))
    wide = states[layout.categorical] > 1 / SPARSE
    for column in layout.categorical[wide].tolist():
        one_hot = _sparse_one_hot(encoding, column)
        for features in _parts_beside(encoding, every, column):
            yield np.array([column]), features, _state_statistics(features, one_hot, np.zeros(1, np.int64))
    narrow = layout.categorical[~wide]
    strip = np.cumsum(states[narrow]) // room
    for columns in np.split(narrow, np.flatnonzero(np.diff(strip)) + 1):
        if columns.size:
            first = np.cumsum(states[columns]) - states[columns]
            yield columns, every, _state_statistics(every, _one_hot(encoding, columns), first)


def _parts_beside(encoding: Encoding, every: _Features, column: int) -> Iterator[_Features]:
    """The features of all columns but one of many states, in parts whose statistics are not too many."""
    states = encoding.schema.cardinalities
    if encoding.layout.features * int(states[column]) <= MOST_COUNTS:
        yield every
        return
    too_many = states * states[column] > MOST_COUNTS
    others = np.flatnonzero((np.arange(states.size) != column) & ~too_many)
    width = np.maximum(states[others], 3)  # the statistics of a column in one state, at most
    part = np.cumsum(width) * int(states[column]) // MOST_COUNTS
    for columns in np.split(others, np.flatnonzero(np.diff(part)) + 1):
        if columns.size:
            yield _features_of(encoding, columns)


def _features_of(encoding: Encoding, columns: Ints) -> _Features:
    layout, kept = layout_of(encoding, columns)
    return _Features(columns, layout, encoding.matrix[:, kept], encoding.prior[kept])


def _widest_pairs(schema: Schema) -> Iterator[tuple[int, int]]:
    """The pairs of categorical columns that have too many pairs of states to hold them all."""
    states = schema.cardinalities
    wide = np.flatnonzero(states * states.max(initial=0) > MOST_COUNTS).tolist()
    return ((a, b) for a, b in combinations(wide, 2) if int(states[a]) * int(states[b]) > MOST_COUNTS)


def _pair_information(encoding: Encoding, one: int, other: int) -> float:
    """The mutual information of two categorical columns times weight, from the pairs of states that occur."""
    seen = ~np.isnan(encoding.table.values[:, [one, other]]).any(axis=1)
    codes = encoding.table.values[seen][:, [one, other]].astype(np.int64)
    weights = encoding.weights[seen]
    _, pair = np.unique(codes[:, 0] * encoding.schema[other].cardinality + codes[:, 1], return_inverse=True)
    counts = (np.bincount(line, weights) for line in (pair, codes[:, 0], codes[:, 1]))
    both, first, second = (float(_n_log_n(count).sum()) for count in counts)
    return both - first - second + float(_n_log_n(weights.sum()))


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


def _state_statistics(features: _Features, one_hot: Matrix, first: Ints) -> _Given:
    sums: Any = features.matrix.T @ one_hot
    sums = np.asarray(sums if isinstance(sums, np.ndarray) else sums.toarray(), dtype=np.float64)
    return _Given(sums, sums[features.layout.seen], first)


def _information(layout: FeatureLayout, given: _Given) -> Floats:
    """Mutual information times weight, from sums of n log n over pairs of states and over single states."""
    seen = given.seen[layout.categorical]
    both = given.sums[layout.states]
    first = np.maximum(seen - layout.by_column(both), 0.0)  # rounding may take them below
    apart = layout.by_column(_n_log_n(both)) + _n_log_n(first) - _n_log_n(seen)
    both, first, seen = given.sum_states(both), given.sum_states(first), given.sum_states(seen)
    together = layout.by_column(_n_log_n(both)) + _n_log_n(first) - _n_log_n(seen)
    return given.sum_states(apart) - together


def _n_log_n(n: Any) -> Floats:
    return np.asarray(xlogy(n, n), dtype=np.float64)


def _real_gains(features: _Features, given: _Given, smoothing: float) -> Floats:
    layout = features.layout
    spread = features.prior[layout.squares][:, None]
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


def _count_gains(features: _Features, given: _Given, smoothing: float) -> Floats:
    layout = features.layout
    overall = features.prior[layout.counts][:, None]
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
