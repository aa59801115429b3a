"""Columns that may not be meant as they look get one line of warning each, which says what to do."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tractable as tr
from tractable.data import as_table

ROWS = 200
RNG = np.random.default_rng(0)
FINE = {
    "text": list(RNG.choice(["a", "b", "c"], ROWS)),
    "real": RNG.normal(size=ROWS),
    "integer": RNG.integers(0, 1000, ROWS),
    "date": pd.date_range("2020-01-01", periods=ROWS),
}


def told(data: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        as_table(pd.DataFrame(data), **options)
    return [str(one.message) for one in found]


def test_an_ordinary_table_has_no_warning() -> None:
    assert told(FINE) == []


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            [f"id {i}" for i in range(ROWS)],
            "has a different value in almost every row: if it is an id, leave it out",
        ),
        ([f"w{i % 150}" for i in range(ROWS)], "has 150 states: group them"),
        (
            [f"{i / 8}" for i in range(ROWS)],
            "holds numbers as text; if they are numbers, declare them as such (kinds=",
        ),
        (np.arange(ROWS) + 1000, "numbers the rows: if it is an id"),
        (["same"] * ROWS, "has the same value in every row: if it is not useful"),
        ([7] * ROWS, "has the same value in every row"),
        ([0.5] * ROWS, "has the same value in every row"),
        (["2020-02-30", "2020-01-01"] * (ROWS // 2), "seems to hold dates that cannot be read, such as"),
        (["03/04/2020", "05/06/2020"] * (ROWS // 2), "seems to hold dates that cannot be read"),
        ([1.5, 2.5, *[None] * (ROWS - 2)], "is missing in 99.0% of the rows"),
        ([2**60 + i for i in range(ROWS)], "holds whole numbers too large to be kept exactly"),
    ],
)
def test_a_suspicious_column_has_one_line(cells: Any, words: str) -> None:
    (line,) = told({**FINE, "odd": cells})
    assert line.startswith("column 'odd' ")
    assert words in line
    assert "\n" not in line
    assert told({**FINE, "odd": cells}, drop=["odd"]) == []


def test_a_chosen_kind_and_declared_categories_are_not_doubted() -> None:
    ids = [f"id {i}" for i in range(ROWS)]
    assert told({"odd": ids}, kinds={"odd": "categorical"}) == []
    assert told({"odd": pd.Categorical(ids)}) == []


def test_a_small_table_is_no_ground_for_suspicion() -> None:
    assert told({"id": ["a", "b", "c"], "n": [1, 2, 3]}) == []


def test_rows_under_a_schema_are_not_doubted_again() -> None:
    frame = pd.DataFrame({"odd": ["same"] * ROWS})
    with pytest.warns(tr.TableWarning):
        schema = as_table(frame).schema
    assert told(frame, schema=schema) == []
