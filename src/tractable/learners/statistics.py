"""What columns tell about each other, all pairs at once."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from tractable.arrays import Floats, Ints
from tractable.data import Schema
from tractable.learners.encoding import SPARSE, Encoding, Matrix
from tractable.learners.estimates import LEAST_LOG_RATE, LEAST_SMOOTHING
from tractable.leaves.gaussian import MIN_SPREAD

STRIP = 1 << 24  # numbers that one strip of the one-hot rows, or of its statistics, may hold


def link_gains(encoding: Encoding, smoothing: float = 1.0) -> Floats:
    """The log-likelihood that each column gains when a categorical column tells about it. Shape (columns, columns).

    Line a, column b: b given a, in nats over all rows in which both are seen. For two categorical columns that is
    their mutual information times the weight of those rows; a number gets a leaf for each state of a, smoothed.
    Lines of numbers are zero, and so is the diagonal.
    """
    gain = np.zeros((len(encoding.schema), len(encoding.schema)))
    layout = encoding.layout
    for columns, strip in _strips(encoding):
        given = _given(encoding, strip)
        by_column = _adder(encoding.schema.cardinalities[columns])
        gain[np.ix_(columns, layout.categorical)] = _information(encoding, given, by_column)
        gain[np.ix_(columns, layout.real)] = _told_reals(encoding, given, by_column, smoothing)
        gain[np.ix_(columns, layout.count)] = _told_counts(encoding, given, by_column, smoothing)
    np.fill_diagonal(gain, 0.0)
    return gain


def link_parameters(schema: Schema) -> Floats:
    """The parameters that telling b by a adds, for each pair of columns. Shape (columns, columns)."""
    states = schema.cardinalities.astype(np.float64)
    width = np.array([{"real": 2.0, "count": 1.0}.get(v.kind, v.cardinality - 1.0) for v in schema])
    return np.outer(np.maximum(states - 1, 0.0), width)


def mutual_information(encoding: Encoding) -> Floats:
    """How much two categorical columns tell about each other, in nats a row; zero for others. (columns, columns)."""
    both = _seen_together(encoding)
    gain = link_gains(encoding)
    numbers = np.concatenate([encoding.layout.real, encoding.layout.count])
    gain[:, numbers] = 0.0
    return gain / np.where(both > 0, both, 1.0)


def _seen_together(encoding: Encoding) -> Floats:
    """The weight of the rows in which each two columns are seen. Shape (columns, columns)."""
    seen = (~encoding.table.missing).astype(np.float64)
    return seen.T @ (seen * encoding.weights[:, None])


class _Given(NamedTuple):
    """Statistics of the rows in each state of a strip of columns; axis 0 is the states."""

    sums: Floats  # (states, features)
    seen: Floats  # (states, columns) the weight of rows in which each column is seen


def _strips(encoding: Encoding) -> Iterator[tuple[Ints, Matrix]]:
    """The categorical columns, few at a time, each with a one-hot matrix of all their states."""
    layout, states = encoding.layout, encoding.schema.cardinalities
    room = max(1, STRIP // max(1, len(encoding.weights), encoding.layout.features))
    wide = states[layout.categorical] > 1 / SPARSE
    for column in layout.categorical[wide].tolist():
        yield np.array([column]), _one_hot(encoding, column)
    narrow = layout.categorical[~wide]
    strip = np.cumsum(states[narrow]) // room
    for columns in np.split(narrow, np.flatnonzero(np.diff(strip)) + 1):
        if columns.size:
            owner = np.repeat(columns, states[columns])
            state = np.concatenate([np.arange(k) for k in states[columns]])
            yield columns, (encoding.table.values[:, owner] == state).astype(np.float64)


def _one_hot(encoding: Encoding, column: int) -> "sparse.csr_array":
    codes = encoding.table.values[:, column]
    row = np.flatnonzero(~np.isnan(codes))
    shape = (codes.size, encoding.schema[column].cardinality)
    return sparse.csr_array((np.ones(row.size), (row, codes[row].astype(np.int64))), shape=shape)


def _given(encoding: Encoding, strip: Matrix) -> _Given:
    if isinstance(strip, np.ndarray):
        sums = (strip * encoding.weights[:, None]).T @ encoding.matrix
    else:
        sums = strip.multiply(encoding.weights[:, None]).tocsr().T @ encoding.matrix
    sums = np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64)
    return _Given(sums, sums[:, encoding.layout.seen])


def _adder(states: Ints) -> "sparse.csr_array":
    """Adds up states by column. Shape (columns, states)."""
    start = np.concatenate([[0], np.cumsum(states)])
    return sparse.csr_array((np.ones(start[-1]), np.arange(start[-1]), start), shape=(states.size, start[-1]))


def _information(encoding: Encoding, given: _Given, by_column: "sparse.csr_array") -> Floats:
    """The sum of n log n over pairs of states, less those over either's states, plus n log n of the whole."""
    layout = encoding.layout
    add = layout.of_columns().T.tocsr()
    seen = given.seen[:, layout.categorical]
    both = given.sums[:, layout.states]
    first = np.maximum(seen - both @ add, 0.0)  # rounding may take them below
    pairs = xlogy(both, both) @ add + xlogy(first, first) - xlogy(seen, seen)
    other, other_first, whole = by_column @ both, by_column @ first, by_column @ seen
    alone = xlogy(other, other) @ add + xlogy(other_first, other_first) - xlogy(whole, whole)
    return np.asarray(by_column @ pairs - alone, dtype=np.float64)


def _told_reals(encoding: Encoding, given: _Given, by_column: "sparse.csr_array", smoothing: float) -> Floats:
    layout = encoding.layout
    parts = given.seen[:, layout.real], given.sums[:, layout.values], given.sums[:, layout.squares]
    prior = max(smoothing, LEAST_SMOOTHING), encoding.prior[layout.squares]
    apart = by_column @ _log_normal(*parts, *prior)
    together = _log_normal(*(by_column @ part for part in parts), *prior)
    return np.asarray(apart - together, dtype=np.float64)


def _log_normal(seen: Floats, total: Floats, square: Floats, smoothing: float, spread: Floats) -> Floats:
    """The log-likelihood of values, up to a constant a row, under the smoothed Gaussian that is fitted to them."""
    mean = total / (seen + smoothing)
    variance = (square + smoothing * spread) / (seen + smoothing) - mean**2
    variance = np.maximum(variance, MIN_SPREAD**2)
    off = square - 2 * mean * total + seen * mean**2
    return -0.5 * (seen * np.log(variance) + off / variance)


def _told_counts(
    encoding: Encoding, given: _Given, by_column: "sparse.csr_array", smoothing: float
) -> Floats:
    layout = encoding.layout
    parts = given.seen[:, layout.count], given.sums[:, layout.counts]
    prior = max(smoothing, LEAST_SMOOTHING), encoding.prior[layout.counts]
    apart = by_column @ _log_poisson(*parts, *prior)
    together = _log_poisson(*(by_column @ part for part in parts), *prior)
    return np.asarray(apart - together, dtype=np.float64)


def _log_poisson(seen: Floats, total: Floats, smoothing: float, overall: Floats) -> Floats:
    """The log-likelihood of counts, up to a constant a row, under the smoothed Poisson that is fitted to them."""
    rate = (total + smoothing * overall) / (seen + smoothing)
    log_rate = np.log(np.maximum(rate, np.exp(LEAST_LOG_RATE)))
    return total * log_rate - seen * rate
