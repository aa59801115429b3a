"""A table as a matrix of features whose weighted column sums are the sufficient statistics of leaves.

The features of a row are, in this order:
- the constant one;
- for each state but the first of each categorical column, whether the row has that state;
- for each real column its standardised value, then for each its square;
- for each count column its value;
- for each column with missing cells, whether the cell is observed.

A missing cell has zeros in all features of its column. The count of a column's first state is the count of
rows in which the column is observed, less those of its other states: so a table of many zeros stays sparse.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.leaves.gaussian import LEAST_SCALE
from tractable.circuit.leaves.rounded import rounding_step
from tractable.data import Schema, Table, collapse

Matrix: TypeAlias = "Floats | sparse.csr_array"

MANY = 100_000  # rows of which a sample is enough to find a tree
ROUNDING = 1e-15  # a column whose spread is a smaller share of its largest value is constant
SPARSE = 0.05  # a matrix with a smaller share of non-zeros than this is kept sparse


class FeatureLayout(NamedTuple):
    """Which features describe which column."""

    categorical: Ints  # the categorical columns, ascending
    real: Ints  # the numeric columns that are no counts
    counted: Ints  # the count columns
    owner: Ints  # (state features,) the position in `categorical` of the column that each describes
    state: Ints  # (state features,) the state that each indicates, from 1 up
    seen: Ints  # (columns,) the feature that is one where a column is observed; 0 if it always is
    features: int

    @property
    def states(self) -> slice:
        """The features of states."""
        return slice(1, 1 + self.owner.size)

    @property
    def values(self) -> slice:
        """The features of real values."""
        return slice(self.states.stop, self.states.stop + self.real.size)

    @property
    def squares(self) -> slice:
        """The features of squared real values."""
        return slice(self.values.stop, self.values.stop + self.real.size)

    @property
    def counts(self) -> slice:
        """The features of counts."""
        return slice(self.squares.stop, self.squares.stop + self.counted.size)

    def by_column(self, states: Floats) -> Floats:
        """Sums over the states of each column: (state features, ...) to (categorical columns, ...)."""
        first = np.searchsorted(self.owner, np.arange(self.categorical.size))
        filled = np.diff(first, append=self.owner.size) > 0
        added = states  # columns of at most two states have one feature at most: nothing to add up
        if filled.sum() < self.owner.size:
            added = np.add.reduceat(states, first[filled], axis=0)
        if filled.all():
            return added
        answer = np.zeros((filled.size, *states.shape[1:]))
        answer[filled] = added
        return answer


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """The features of a table's distinct rows of positive weight."""

    table: Table  # the distinct rows
    weights: Floats  # (rows,)
    layout: FeatureLayout
    matrix: Matrix  # (rows, features)
    centre: Floats  # (columns,) the mean of each numeric column, zero elsewhere
    scale: Floats  # (columns,) its standard deviation, one elsewhere
    prior: (
        Floats  # (features,) one pseudo-count: states equally likely, numeric columns as in the whole table
    )
    constant: Floats  # (rows,) the part of a row's log-probability that depends on no parameter
    step: Floats  # (columns,) to which numbers are rounded: one for whole numbers, zero where none is seen

    @property
    def total(self) -> float:
        """The total weight of the rows."""
        return float(self.weights.sum())

    @property
    def rows(self) -> float:
        """The total weight, or one if it is zero, to divide by."""
        return self.total or 1.0

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.table.schema

    def mean(self, column: int) -> float:
        """The mean of a numeric column."""
        if column not in self.layout.counted:
            return float(self.centre[column])
        place = np.searchsorted(self.layout.counted, column)
        return float(self.prior[self.layout.counts][place])

    def sums(self, share: Floats) -> Floats:
        """The weighted statistics of groups that have the given shares of each row, (rows, groups).

        Shape (features, groups).
        """
        return np.asarray(self.matrix.T @ (share * self.weights[:, None]), dtype=np.float64)

    def with_weights(self, weights: Floats) -> "Encoding":
        """The rows with other weights; the standardisation of numeric columns is unchanged."""
        return replace(self, weights=weights)

    def part(self, rows: Ints | Bools | slice, columns: Ints) -> "Encoding":
        """Some of the rows and some of the columns, ascending; standardisation and priors stay the same."""
        table = Table(self.schema.select(columns), self.table.values[rows][:, columns], self.weights[rows])
        layout, kept = layout_of(self, columns)
        matrix = self.matrix[rows][:, kept]
        if columns.size < len(self.schema):  # rows that differ only in other columns are equal now
            table, inverse = collapse(table)
            matrix = matrix[_first_places(inverse, len(table))]
        constant = _constant(table, layout)
        standards = self.centre[columns], self.scale[columns]
        rest = self.prior[kept], constant, self.step[columns]
        return Encoding(table, table.row_weights, layout, matrix, *standards, *rest)


def layout_of(encoding: Encoding, columns: Ints) -> tuple[FeatureLayout, Ints]:
    """The layout of some of the columns, ascending, and which of all features are theirs."""
    schema = encoding.schema.select(columns)
    return _layout(schema, encoding.layout.seen[columns] > 0), _kept_features(encoding.layout, columns)


def encode(table: Table) -> Encoding:
    """The features of a table's distinct rows; rows of weight zero are left out."""
    weighs = table.row_weights > 0
    distinct, _ = collapse(table if weighs.all() else table.take(weighs))
    incomplete: Bools = np.logical_or.reduce(distinct.missing, axis=0)
    layout = _layout(table.schema, incomplete)
    centre, scale, spread = _standards(distinct, layout)
    prior = _prior(table.schema, layout, centre, spread)
    centre[layout.counted], scale[layout.counted] = 0.0, 1.0  # counts stay as they are
    real, counts = layout.real, np.nan_to_num(distinct.values[:, layout.counted])
    values = (
        distinct.values[:, real] / scale[real] - centre[real] / scale[real]
    )  # two quotients, because the difference of huge values overflows
    numbers = np.concatenate([values, values**2, counts], axis=1)
    matrix = _matrix(distinct, layout, np.nan_to_num(numbers))
    constant = _constant(distinct, layout)
    step = _rounding_steps(distinct, layout)
    return Encoding(distinct, distinct.row_weights, layout, matrix, centre, scale, prior, constant, step)


def encode_for_trees(table: Table) -> Encoding:
    """The features of a table, or of an evenly spaced sample of many rows that stands for all of them.

    It has all that the gains of links need.
    """
    if len(table) <= MANY:
        return encode(table)
    sample = table.take(np.linspace(0, len(table) - 1, MANY).astype(np.int64))
    return encode(sample.reweight(sample.row_weights * (table.total_weight / (sample.total_weight or 1.0))))


def with_all_rows(encoding: Encoding, table: Table) -> Encoding:
    """The encoding of a sample with all rows in their place; its matrix stays that of the sample.

    It has all that tables of categorical columns given their parents need.
    """
    return encoding if len(table) <= MANY else replace(encoding, table=table, weights=table.row_weights)


def _prior(schema: Schema, layout: FeatureLayout, centre: Floats, spread: Floats) -> Floats:
    """The statistics of one pseudo-count."""
    prior = np.zeros(layout.features)
    prior[0] = 1.0
    prior[layout.seen] = 1.0
    prior[layout.states] = 1.0 / schema.cardinalities[layout.categorical[layout.owner]]
    prior[layout.squares] = spread[layout.real] ** 2
    prior[layout.counts] = centre[layout.counted]
    return prior


def _constant(table: Table, layout: FeatureLayout) -> Floats:
    constant: Floats = -gammaln(np.nan_to_num(table.values[:, layout.counted]) + 1.0).sum(axis=1)
    return constant


def _kept_features(layout: FeatureLayout, columns: Ints) -> Ints:
    """The features that describe the columns, ascending."""
    chosen = np.zeros(layout.seen.size, dtype=np.bool_)
    chosen[columns] = True
    keep = np.zeros(layout.features, dtype=np.bool_)
    keep[layout.seen[columns]] = True
    keep[0] = True
    keep[layout.states] = chosen[layout.categorical[layout.owner]]
    keep[layout.values] = keep[layout.squares] = chosen[layout.real]
    keep[layout.counts] = chosen[layout.counted]
    return np.flatnonzero(keep)


def _first_places(inverse: Ints, size: int) -> Ints:
    """The position at which each of `size` values first occurs."""
    first = np.empty(size, dtype=np.int64)
    first[inverse[::-1]] = np.arange(inverse.size)[::-1]
    return first


def _layout(schema: Schema, incomplete: Bools) -> FeatureLayout:
    categorical = np.flatnonzero(schema.cardinalities > 0)
    counts = np.array([v.kind == "count" for v in schema], dtype=np.bool_)
    real, count = np.flatnonzero((schema.cardinalities == 0) & ~counts), np.flatnonzero(counts)
    size = schema.cardinalities[categorical] - 1
    owner = np.repeat(np.arange(categorical.size), size)
    state = np.arange(owner.size) - np.repeat(np.cumsum(size) - size, size) + 1
    own = 1 + owner.size + 2 * real.size + count.size
    seen = np.where(incomplete, own + np.cumsum(incomplete) - 1, 0)
    return FeatureLayout(categorical, real, count, owner, state, seen, own + int(incomplete.sum()))


def _rounding_steps(table: Table, layout: FeatureLayout) -> Floats:
    """The step to which each numeric column was rounded, as far as its values tell. Shape (columns,)."""
    step = np.array([float(v.is_whole) for v in table.schema])
    for column in layout.real[step[layout.real] == 0].tolist():
        seen = ~np.isnan(table.values[:, column])
        step[column] = rounding_step(table.values[seen, column], table.row_weights[seen])
    return step


def _standards(table: Table, layout: FeatureLayout) -> tuple[Floats, Floats, Floats]:
    """Centre and scale of each numeric column, and its standard deviation afterwards: one, or zero.

    Dividing by the largest value first keeps the squares of huge values finite.
    """
    centre = np.zeros(len(table.schema))
    scale, spread = np.ones((2, len(table.schema)))
    numbers = np.concatenate([layout.real, layout.counted])
    values = table.values[:, numbers]
    seen = ~np.isnan(values)
    weight = np.where(seen, table.row_weights[:, None], 0.0)
    total = weight.sum(axis=0)
    known = total > 0
    safe = np.where(known, total, 1.0)
    x = np.where(seen, values, 0.0)
    largest = np.abs(x).max(axis=0, initial=0.0)
    largest[largest == 0] = 1.0
    x = x / largest
    mean = (weight * x).sum(axis=0) / safe
    mean += (weight * (x - mean)).sum(axis=0) / safe  # what rounding took from a mean of close values
    sd = np.sqrt((weight * (x - mean) ** 2).sum(axis=0) / safe)
    varies = sd > ROUNDING  # otherwise the values differ by rounding only
    centre[numbers] = np.where(known, mean * largest, 1.0)  # a rate of one where no count is known
    centre[layout.real] *= known[: layout.real.size]
    scale[numbers] = np.where(known, np.maximum(np.where(varies, sd, 1.0) * largest, LEAST_SCALE), 1.0)
    spread[numbers] = varies | ~known
    return centre, scale, spread


def _matrix(table: Table, layout: FeatureLayout, numbers: Floats) -> Matrix:
    codes = table.values[:, layout.categorical]
    incomplete = np.flatnonzero(layout.seen)
    seen = ~np.isnan(table.values[:, incomplete])
    if _is_sparse(codes, layout):
        ones = np.ones((len(table), 1))
        right = np.concatenate([numbers, seen], axis=1, dtype=np.float64)
        parts = (sparse.csr_array(ones), _sparse_states(codes, layout), sparse.csr_array(right))
        return sparse.csr_array(sparse.hstack(parts))
    matrix = np.zeros((len(table), layout.features))
    matrix[:, 0] = 1.0
    matrix[:, layout.states][_filled_states(codes, layout)] = 1.0  # far fewer than there are features
    matrix[:, layout.values.start : layout.counts.stop] = numbers
    matrix[:, layout.counts.stop :] = seen
    return matrix


def _is_sparse(codes: Floats, layout: FeatureLayout) -> bool:
    """Whether few of the features are non-zero, those of numeric columns and missing cells included."""
    others = layout.features - layout.owner.size
    filled = int(np.count_nonzero(codes > 0)) + others * len(codes)
    return filled < SPARSE * layout.features * len(codes)


def _sparse_states(codes: Floats, layout: FeatureLayout) -> "sparse.csr_array":
    """The features of states without their zeros."""
    row, column = _filled_states(codes, layout)
    return sparse.csr_array((np.ones(row.size), (row, column)), shape=(len(codes), layout.owner.size))


def _filled_states(codes: Floats, layout: FeatureLayout) -> tuple[Ints, Ints]:
    """The rows and the positions among the features of states where these are one."""
    first = np.searchsorted(layout.owner, np.arange(layout.categorical.size))
    row, position = np.nonzero(codes > 0)
    return row, first[position] + codes[row, position].astype(np.int64) - 1
