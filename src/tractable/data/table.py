"""Coded rows with a schema."""

from dataclasses import dataclass, field

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.data.schema import Schema

MOST_WEIGHT = 1e250  # of all rows, so that log-likelihoods of weighted rows are finite


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A coded matrix: states as 0, 1, ..., numbers unchanged, NaN for missing cells.

    `weights` is the number of rows (possibly fractional) that each row represents. The rows of a table
    returned by `collapse`, and selections of them, are marked as distinct. Cells with unknown states are
    missing, and `unseen` marks them.
    """

    schema: Schema
    values: Floats  # (rows, columns)
    weights: Floats | None = None  # (rows,); one each when None
    unseen: Bools | None = None  # (rows, columns); None when there is no such cell
    has_distinct_rows: bool = field(default=False, init=False, repr=False)  # as far as is known

    def __post_init__(self) -> None:
        _check_shape(self)
        _check_values(self)
        _check_weights(self)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def missing(self) -> Bools:
        """Which cells are missing. Shape (rows, columns)."""
        return np.isnan(self.values)

    @property
    def row_weights(self) -> Floats:
        """The weight of each row. Shape (rows,)."""
        return np.ones(len(self.values)) if self.weights is None else self.weights

    @property
    def total_weight(self) -> float:
        """The total weight of the rows."""
        return float(len(self.values)) if self.weights is None else float(self.weights.sum())

    @property
    def unseen_cells(self) -> Ints:
        """The number of cells of each row with unknown states. Shape (rows,)."""
        if self.unseen is None:
            return np.zeros(len(self.values), dtype=np.int64)
        return self.unseen.sum(axis=1)

    def take(self, rows: Ints | Bools | slice) -> "Table":
        """The table of selected rows."""
        weights = None if self.weights is None else self.weights[rows]
        unseen = None if self.unseen is None else self.unseen[rows]
        table = Table(self.schema, self.values[rows], weights, unseen)
        return mark_distinct(table) if self.has_distinct_rows and _never_repeats(rows) else table

    def useful_rows(self) -> "Table":
        """The rows with a positive weight and a known target."""
        useful = (self.row_weights > 0) & ~self.missing[:, self.schema.targets].all(axis=1)
        return self if useful.all() else self.take(useful)

    def select(self, columns: list[int] | Ints) -> "Table":
        """The table of selected columns; rows that become equal are not merged."""
        chosen = np.asarray(columns, dtype=np.int64)
        unseen = None if self.unseen is None else self.unseen[:, chosen]
        table = Table(self.schema.select(columns), self.values[:, chosen], self.weights, unseen)
        keeps_all = np.unique(np.arange(len(self.schema))[chosen]).size == len(self.schema)
        return mark_distinct(table) if self.has_distinct_rows and keeps_all else table

    def reweight(self, weights: Floats) -> "Table":
        """The table with other weights, (rows,)."""
        table = Table(self.schema, self.values, weights, self.unseen)
        return mark_distinct(table) if self.has_distinct_rows else table


def mark_distinct(table: Table) -> Table:
    """The table, marked as having no equal rows."""
    object.__setattr__(table, "has_distinct_rows", True)  # tables are frozen for everybody else
    return table


def _never_repeats(rows: Ints | Bools | slice) -> bool:
    """Whether a selection of rows obviously has no duplicates."""
    chosen = np.zeros(0) if isinstance(rows, slice) else np.asarray(rows)
    ascends = not chosen.size or bool(chosen[0] >= 0 and (np.diff(chosen) > 0).all())
    return chosen.dtype == np.bool_ or ascends


def _check_shape(table: Table) -> None:
    if table.values.ndim != 2 or table.values.shape[1] != len(table.schema):
        shape = " x ".join(map(str, table.values.shape))
        raise ValueError(f"the schema has {len(table.schema)} columns, but the values have the shape {shape}")


def _check_values(table: Table) -> None:
    """Refuse infinite numbers and invalid codes, by checks of whole columns."""
    values = table.values
    if not values.size:
        return
    with np.errstate(invalid="ignore"):
        low = np.fmin.reduce(values, axis=0)
        high = np.fmax.reduce(values, axis=0)
    bottom, top = table.schema.limits
    bad = (low < bottom) | (high > top)  # a column that is all missing has NaN here, and passes
    if bad.any():
        i = int(np.argmax(bad))
        column = values[:, i]
        row = int(np.argmax((column < bottom[i]) | (column > top[i])))
        name = table.schema[i].name
        raise ValueError(f"column '{name}', row {row}: {column[row]:g} is not a valid value")


def _check_weights(table: Table) -> None:
    weights = table.weights
    if weights is None:
        return
    if weights.shape != (len(table.values),):
        raise ValueError(f"there are {weights.size} weights for {len(table.values)} rows")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"the weight of row {row} is {weights[row]:g}: weights must be finite and non-negative"
        )
    if weights.size and (weights.max() > MOST_WEIGHT or weights.sum() > MOST_WEIGHT):
        row = int(weights.argmax())
        raise ValueError(
            f"the weight of row {row} is {weights[row]:g}: the sum of all weights must be at most"
            f" {MOST_WEIGHT:g}"
        )


# ---- collapsing of equal rows into one row with the sum of their weights --------------------------------


FEW_CELLS = 100_000  # of a table whose rows are compared in less time than it takes to load a kernel


def collapse(table: Table) -> tuple[Table, Ints]:
    """The distinct rows in order of appearance with their weights, and the index of each row's distinct row.

    Missing cells are equal only to each other. The rows of a table returned by `collapse`, and selections of
    them, are known to be distinct and are not compared again.
    """
    values = np.ascontiguousarray(table.values)
    if table.has_distinct_rows:
        is_ready = values is table.values and table.weights is not None
        same = table if is_ready else mark_distinct(Table(table.schema, values, table.row_weights))
        return same, np.arange(len(values))
    first, inverse = _find_distinct_rows(values)
    weights = np.bincount(inverse, weights=table.weights, minlength=len(first)).astype(np.float64)
    kept = values if len(first) == len(values) else values[first]
    return mark_distinct(Table(table.schema, kept, weights)), inverse


def _find_distinct_rows(values: Floats) -> tuple[Ints, Ints]:
    """The index of the first row of each set of equal rows, and the set of each row."""
    return _compare_bytes(values) if values.size <= FEW_CELLS else _hash_rows(values)


def _compare_bytes(values: Floats) -> tuple[Ints, Ints]:
    """Distinct rows by a dictionary of their bytes, without compiled code."""
    known: dict[bytes, int] = {}
    plain = np.where(np.isnan(values), np.nan, values) + 0.0  # one NaN, one zero
    inverse = np.array([known.setdefault(row.tobytes(), len(known)) for row in plain], dtype=np.int64)
    return np.unique(inverse, return_index=True)[1], inverse


def _hash_rows(values: Floats) -> tuple[Ints, Ints]:
    """Distinct rows by a compiled hash table, for large tables."""
    from tractable.data.kernels import distinct_rows

    rows = len(values)
    slot = np.full(16 << max(0, (rows // 8).bit_length()), -1, dtype=np.int64)
    first, inverse = np.empty((2, rows), dtype=np.int64)
    with np.errstate(over="ignore"):  # hashes overflow by design; compiled code never tells
        hashes = np.empty(rows, dtype=np.uint64)
        found = distinct_rows(values, values.view(np.int64), slot, hashes, first, inverse)
    return first[:found].copy(), inverse
