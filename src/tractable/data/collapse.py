"""Equal rows are collapsed to one row, whose weight is the sum of theirs."""

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.data.table import Table, mark_distinct


def collapse(table: Table) -> tuple[Table, Ints]:
    """The distinct rows in order of appearance, weighted, and for each row the number of its distinct row.

    Missing cells are equal to each other and to nothing else. A table that came out of `collapse`, or rows
    that were taken from one, are known to be distinct and are not compared again.
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
    """The first row of each set of equal rows, and each row's set."""
    from tractable.data.kernels import distinct_rows

    with np.errstate(over="ignore"):  # hashes overflow by design; compiled code never tells
        return distinct_rows(values, values.view(np.int64))
