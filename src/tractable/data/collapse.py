"""Collapsing of equal rows into one row with the sum of their weights."""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.data.table import Table, mark_distinct

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
