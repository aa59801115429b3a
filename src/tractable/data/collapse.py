"""Equal rows made one, with their weights summed."""

import numpy as np

from tractable.arrays import Ints
from tractable.data.table import Table


def collapse(table: Table) -> tuple[Table, Ints]:
    """The distinct rows in order of appearance, weighted, and for each row the number of its distinct row.

    Missing cells are equal to each other and to nothing else.
    """
    from tractable.data.kernels import distinct_rows

    values = np.ascontiguousarray(table.values)
    with np.errstate(over="ignore"):  # hashes overflow by design; compiled code never tells
        first, inverse = distinct_rows(values, values.view(np.int64))
    weights = np.bincount(inverse, weights=table.weights, minlength=len(first)).astype(np.float64)
    kept = values if len(first) == len(values) else values[first]
    return Table(table.schema, kept, weights), inverse
