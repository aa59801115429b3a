"""Cells that are known without a query: targets with a single state.

A circuit may have no leaf over such a column.
"""

from collections.abc import Sequence

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.data import Schema


def fill_certain(schema: Schema, rows: Floats) -> Floats:
    """The rows in which missing cells of columns with a single state are filled."""
    certain = _certain(schema)
    return np.where(np.isnan(rows) & certain, 0.0, rows) if certain.any() else rows


def certain_posteriors(schema: Schema, posteriors: Sequence[Floats]) -> list[Floats]:
    """The posteriors of all columns, with probability one for columns with a single state."""
    pairs = zip(_certain(schema).tolist(), posteriors, strict=True)
    return [np.ones_like(posterior) if certain else posterior for certain, posterior in pairs]


def _certain(schema: Schema) -> Bools:
    answer: Bools = (schema.cardinalities == 1) & ~schema.is_given
    return answer
