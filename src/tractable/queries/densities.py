"""Whether an answer is a probability or a density.

A number of a `real` or `datetime` column has no probability, only a density: it may exceed one and depends on
the unit of the column. All other columns, whole numbers among them, have probabilities; so have intervals.
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
    """The columns of which a density enters the log-probability of some row; those given do not count."""
    counted = density_mask(schema) & ~np.isnan(rows).all(axis=0)
    counted[list(given)] = False
    return np.flatnonzero(counted).tolist()


def answer_kind(query: Evidence, given: Evidence, schema: Schema) -> AnswerKind:
    """What P(query | given) is: a density if the query fixes a real number that is not given."""
    fixed = ~np.isnan(query.row) & np.isnan(given.row)
    return "density" if (fixed & density_mask(schema)).any() else "probability"
