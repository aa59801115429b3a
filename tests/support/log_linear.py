"""Log-linear models by their definition: every row enumerated, every feature a conjunction."""

import itertools

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.data import Table, discrete_schema
from tractable.learning.growing import Conditions


def all_rows(states: Ints) -> Ints:
    return np.array(list(itertools.product(*(range(k) for k in states))), dtype=np.int64)


def holds(rows: Ints, conditions: Conditions) -> Floats:
    answer = np.ones(len(rows))
    for column, state in conditions:
        answer *= rows[:, column] == state
    return answer


def log_linear(rows: Ints, features: list[Conditions], weight: Floats) -> Floats:
    """The unnormalised log-probability of every row, by definition."""
    return np.sum([w * holds(rows, f) for w, f in zip(weight, features, strict=True)], axis=0)


def dependent_table(rows: int = 400, seed: int = 0, missing: float = 0.0) -> Table:
    """Four columns that depend on a hidden one, and a column of three states that depends on two of them."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(2, size=rows)
    values = np.stack([(rng.random(rows) < 0.2 + 0.6 * hidden).astype(float) for _ in range(4)], axis=1)
    values = np.column_stack([values, (values[:, 0] + 2 * values[:, 1]) % 3])
    values[rng.random(values.shape) < missing] = np.nan
    return Table(discrete_schema([2, 2, 2, 2, 3]), values)
