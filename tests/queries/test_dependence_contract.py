"""No learner returns independence for columns that depend on each other, whatever their kinds."""

import numpy as np
import pytest
from small_settings import SMALL

from tractable.base.arrays import Floats
from tractable.data import Schema, Table, Variable
from tractable.engine import log_values
from tractable.learning.joint import LEARNERS

ROWS = 200


def numbers(kind: str, hidden: Floats, rng: np.random.Generator) -> Floats:
    """A column of a kind that depends strongly on a hidden number."""
    noisy = hidden + 0.2 * rng.normal(size=hidden.size)
    if kind == "count":
        return np.rint(np.exp(2 + noisy))
    return noisy if kind == "real" else np.rint(5000 + 300 * noisy)


def dependent_table(first: str, second: str, shape: str = "normal") -> Table:
    rng = np.random.default_rng(5)
    hidden = rng.normal(size=ROWS) if shape == "normal" else rng.uniform(-1.7, 1.7, ROWS)
    schema, columns = [], []
    for name, kind in (("x", first), ("y", second)):
        if kind == "categorical":
            schema.append(Variable(name, "categorical", ("low", "high")))
            columns.append((hidden > 0).astype(np.float64))
        else:
            schema.append(Variable(name, kind))  # type: ignore[arg-type]
            columns.append(numbers(kind, hidden, rng))
    return Table(Schema(tuple(schema)), np.column_stack(columns))


def dependence(name: str, table: Table) -> float:
    """The mean over rows of log P(x, y) - log P(x) - log P(y): zero for independence."""
    graph = LEARNERS[name](**SMALL.get(name, {})).learn(table, np.random.default_rng(0))
    alone = []
    for column in range(2):
        rows = table.values.copy()
        rows[:, 1 - column] = np.nan
        alone.append(log_values(graph, rows))
    return float(np.mean(log_values(graph, table.values) - alone[0] - alone[1]))


def cases(pairs: list[tuple[str, str, str]]) -> list[object]:
    names = [name for name in LEARNERS if name != "independent"]
    return [pytest.param(name, *pair, id=f"{name} {' '.join(pair)}") for name in names for pair in pairs]


@pytest.mark.parametrize(
    ("name", "first", "second", "shape"),
    cases(
        [
            ("real", "real", "normal"),
            ("real", "real", "uniform"),
            ("integer", "real", "normal"),
            ("count", "date", "normal"),
            ("categorical", "real", "normal"),
            ("integer", "categorical", "normal"),
        ]
    ),
)
def test_dependent_columns_stay_dependent(name: str, first: str, second: str, shape: str) -> None:
    assert dependence(name, dependent_table(first, second, shape)) > 0.2
