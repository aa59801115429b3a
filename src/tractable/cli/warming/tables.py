"""Small tables of all kinds of columns, with and without missing cells."""

import numpy as np

from tractable.data import Schema, Table, Variable, clinic, discrete_schema

ROWS = 80
WIDE = 1200  # columns: the probability of a row of so many is too small for a double


def categorical(missing: float = 0.0) -> Table:
    """Eight categorical columns."""
    return clinic(ROWS, 0, missing=missing)


def mixed() -> Table:
    """Numeric columns of each kind beside categorical ones, with missing cells."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=ROWS)
    size, visits = rng.normal(group, 0.3), rng.poisson(2 + 5 * group)
    values = np.stack([group, size, visits, rng.integers(-4, 5, size=ROWS)], axis=1).astype(np.float64)
    values[rng.random(values.shape) < 0.05] = np.nan
    variables = (
        Variable("group", "categorical", ("a", "b")),
        Variable("size", "real"),
        Variable("visits", "count"),
        Variable("floor", "integer"),
    )
    return Table(Schema(variables), values)


def wide() -> Table:
    """A table with enough columns that the values of a circuit need separate exponents."""
    values = np.random.default_rng(0).integers(2, size=(8, WIDE)).astype(np.float64)
    return Table(discrete_schema([2] * WIDE), values)


def large() -> Table:
    """A table with enough cells that equal rows are found by compiled code."""
    values = np.random.default_rng(0).integers(2, size=(60_000, 2)).astype(np.float64)
    return Table(discrete_schema([2, 2]), values)
