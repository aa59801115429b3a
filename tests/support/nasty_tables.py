"""Tables that are hard for learners: huge and tiny numbers, columns of nearly nothing, odd weights."""

from collections.abc import Callable
from datetime import datetime

import numpy as np

from tractable.base.arrays import AnyArray, Floats
from tractable.data import Schema, Table, Variable, as_table

ROWS = 30


def _numbers(*columns: AnyArray, kinds: str = "real") -> Table:
    """A table of numeric columns of one kind, or of the kinds that words name, and a column of two states."""
    named = kinds.split()
    named = named * len(columns) if len(named) == 1 else named
    values = np.column_stack([*columns, np.arange(len(columns[0])) % 3 == 0]).astype(np.float64)
    variables = [Variable(f"x{i}", kind) for i, kind in enumerate(named)]  # type: ignore[arg-type]
    return Table(Schema((*variables, Variable("y", "categorical", ("no", "yes")))), values)


def _normal(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).normal(size=shape or (ROWS,))


def constant() -> Table:
    return _numbers(np.full(ROWS, 3.5), np.full(ROWS, 7.0), np.zeros(ROWS), kinds="real integer count")


def one_row() -> Table:
    return _numbers(np.array([1.5]), np.array([-4.0]), np.array([2.0]), kinds="real integer count")


def nearly_empty() -> Table:
    """Three columns with a few cells each, beside two complete ones."""
    rng = np.random.default_rng(1)
    few = rng.normal(size=(60, 3)) * [1.0, 100.0, 1e-3]
    few[rng.random((60, 3)) < 0.95] = np.nan
    return _numbers(*few.T, rng.normal(size=60), rng.poisson(3, 60), kinds="real real real real count")


def nearly_empty_states() -> Table:
    rng = np.random.default_rng(2)
    values = rng.integers(0, 3, (60, 5)).astype(np.float64)
    values[:, :3][rng.random((60, 3)) < 0.95] = np.nan
    return Table(Schema(tuple(Variable(f"c{i}", "categorical", ("a", "b", "c")) for i in range(5))), values)


def huge() -> Table:
    z = _normal(3, 4, ROWS)
    return _numbers(1e300 * z[0], 1e300 * (1 + 1e-3 * z[1]), 1e308 * np.sign(z[2]), -1e308 + 0 * z[3])


def near_the_largest() -> Table:
    """Values whose differences are no doubles, one column with the largest double itself."""
    rng = np.random.default_rng(4)
    x = 1e308 * rng.uniform(-1.7, 1.7, ROWS)
    y = np.where(rng.random(ROWS) < 0.5, 1e308, -1e308) * rng.uniform(0.9, 1.1, ROWS)
    z = np.where(np.arange(ROWS) % 7 == 0, np.finfo(np.float64).max, 1.0)
    return _numbers(x, y, z)


def tiny() -> Table:
    z = _normal(5, 3, ROWS)
    return _numbers(1e-300 * z[0], 1e-308 * z[1], 1e-300 + 0 * z[2])


def subnormal_spread() -> Table:
    """Values that differ by the least that doubles can."""
    steps = np.arange(ROWS) % 5
    return _numbers(5e-324 * steps, 1.0 + 2.0**-52 * steps, 1e300 * (1 + 2.0**-52 * steps))


def mixed_scales() -> Table:
    """Columns, and values within one column, of every magnitude."""
    rng = np.random.default_rng(6)
    wide = rng.choice([-1.0, 1.0], ROWS) * 10.0 ** rng.uniform(-300, 308, ROWS)
    return _numbers(
        wide, 1e300 * rng.normal(size=ROWS), 1e-300 * rng.normal(size=ROWS), rng.normal(size=ROWS)
    )


def duplicates() -> Table:
    table = mixed_scales()
    return Table(table.schema, np.repeat(table.values[:4], 10, axis=0))


def wide_and_short() -> Table:
    """Eight rows of sixty-two columns."""
    return _numbers(*np.random.default_rng(7).normal(size=(61, 8)))


def collinear() -> Table:
    z = _normal(8, 2, ROWS)
    return _numbers(z[0], 2 * z[0] + 1, z[1], z[0] + z[1], -1e6 * z[0])


def first_and_last_dates() -> Table:
    rng = np.random.default_rng(9)
    days = ["0001-01-01", "9999-12-31", "1970-01-01", "2024-02-29"]
    moments = [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59), datetime(2001, 5, 6, 7, 8, 9)]
    return as_table(
        {
            "day": [days[i] for i in rng.integers(0, 4, ROWS)],
            "moment": [moments[i] for i in rng.integers(0, 3, ROWS)],
            "y": ["yes" if u < 0.3 else "no" for u in rng.random(ROWS)],
        },
        kinds={"day": "date", "moment": "datetime", "y": "categorical"},
    )


def one_outlier() -> Table:
    z = _normal(10, 3, ROWS)
    z[:, 4] = 1e15
    return _numbers(z[0], np.rint(z[1]), np.abs(np.rint(z[2])), kinds="real integer count")


def beyond_exact_integers() -> Table:
    steps = np.random.default_rng(11).integers(-5, 6, (2, ROWS))
    return _numbers(2.0**53 + 2 * steps[0], -(2.0**62) + 1024.0 * steps[1], kinds="integer integer")


def a_state_for_each_row() -> Table:
    states = Variable("id", "categorical", tuple(f"r{i}" for i in range(ROWS)))
    values = np.column_stack([np.arange(ROWS), _normal(12), np.arange(ROWS) % 2])
    return Table(Schema((states, Variable("x", "real"), Variable("y", "categorical", ("no", "yes")))), values)


def all_missing_but_one_cell() -> Table:
    table = _numbers(*np.zeros((4, ROWS)), kinds="real integer count real")
    values = np.full_like(table.values, np.nan)
    values[3, 0] = 2.5
    return Table(table.schema, values)


def weights_of_zero_and_huge() -> Table:
    z = _normal(14, 3, ROWS)
    table = _numbers(z[0], np.rint(5 * z[1]), np.abs(np.rint(3 * z[2])), kinds="real integer count")
    weights = np.ones(ROWS)
    weights[::3], weights[1] = 0.0, 1e200
    return Table(table.schema, table.values, weights)


def ties_with_zeros() -> Table:
    rng = np.random.default_rng(15)
    x = np.where(rng.random((3, ROWS)) < 0.8, 0.0, rng.normal(size=(3, ROWS)) * [[1.0], [1e-6], [1e6]])
    return _numbers(
        *x, np.where(rng.random(ROWS) < 0.9, 0, rng.poisson(50, ROWS)), kinds="real real real count"
    )


def signed_zeros() -> Table:
    rng = np.random.default_rng(16)
    return _numbers(
        rng.choice([0.0, -0.0], ROWS), rng.choice([-0.0, 0.0, 5e-324], ROWS), rng.choice([-0.0, 1.0], ROWS)
    )


def zero_counts_and_a_huge_one() -> Table:
    zeros = np.zeros(ROWS)
    huge = zeros.copy()
    huge[7] = 1e9
    return _numbers(zeros, huge, huge, zeros, kinds="count count integer integer")


NASTY: dict[str, Callable[[], Table]] = {
    make.__name__.replace("_", " "): make
    for make in (
        constant, one_row, nearly_empty, nearly_empty_states, huge, near_the_largest, tiny, subnormal_spread,
        mixed_scales, duplicates, wide_and_short, collinear, first_and_last_dates, one_outlier,
        beyond_exact_integers, a_state_for_each_row, all_missing_but_one_cell, weights_of_zero_and_huge,
        ties_with_zeros, signed_zeros, zero_counts_and_a_huge_one,
    )
}  # fmt: skip


def conditional(table: Table, *, numeric_targets: bool, single: bool = False) -> Table:
    """The same rows with roles: categorical columns are targets, complete numeric ones are inputs.

    With `numeric_targets` half of the numeric columns are targets too, and all that have missing cells. An
    input of two states comes first, so that there always is one. With `single` the last target stays alone.
    """
    schema = Schema((Variable("z", "categorical", ("even", "odd")), *table.schema))
    values = np.column_stack([np.arange(len(table)) % 2, table.values])
    numeric = [c for c, v in enumerate(schema) if v.is_numeric]
    complete = [c for c in numeric if not np.isnan(values[:, c]).any()]
    inputs = [0, *(complete[::2] if numeric_targets else complete)]
    targets = [c for c, v in enumerate(schema) if c not in inputs and (numeric_targets or not v.is_numeric)]
    kept = sorted([*inputs, *(targets[-1:] if single else targets)])
    return Table(schema.with_targets(targets).select(kept), values[:, kept], table.weights)
