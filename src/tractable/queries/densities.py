"""Whether an answer is a probability or a density.

A single value of a `real` or `datetime` column has a density, which may exceed one and depends on the unit of
the column. Values of all other columns, including whole numbers, and intervals have probabilities.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.data import Evidence, Schema, Variable

AnswerKind: TypeAlias = Literal["probability", "density"]


def has_density(variable: Variable) -> bool:
    """Whether single values of a column have a density instead of a probability."""
    return variable.is_numeric and not variable.is_whole


def density_mask(schema: Schema) -> Bools:
    """Which columns have densities and are random variables. Shape (columns,)."""
    return np.array([has_density(v) and v.role == "target" for v in schema], dtype=np.bool_)


def density_columns(schema: Schema, rows: Floats, given: Iterable[int] = ()) -> list[int]:
    """The columns whose density enters the log-probability of some row, except those in `given`."""
    counted = density_mask(schema) & ~np.isnan(rows).all(axis=0)
    counted[list(given)] = False
    return np.flatnonzero(counted).tolist()


def answer_kind(query: Evidence, given: Evidence, schema: Schema) -> AnswerKind:
    """The kind of P(query | given): a density if the query fixes a real number that is not given."""
    fixed = ~np.isnan(query.row) & np.isnan(given.row)
    return "density" if (fixed & density_mask(schema)).any() else "probability"
