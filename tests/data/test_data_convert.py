from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tractable.data import Schema, Table, TableWarning, Variable, as_table, discrete_schema

PET = Schema(
    (
        Variable("pet", "categorical", ("cat", "dog")),
        Variable("age", "count"),
        Variable("weight", "real"),
    )
)
MAKERS: list[Callable[[dict[str, list[Any]]], Any]] = [
    pd.DataFrame,
    pl.DataFrame,
    pl.LazyFrame,
    pa.table,
    dict,
    lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
]


@pytest.mark.parametrize("make", MAKERS)
def test_columns_are_found_by_name_in_any_order(make: Callable[[dict[str, list[Any]]], Any]) -> None:
    data = make({"weight": [3.5, None], "pet": ["dog", None], "age": [2, 4]})
    table = as_table(data, PET)
    np.testing.assert_array_equal(table.values, [[1, 2, 3.5], [np.nan, 4, np.nan]])


def test_columns_of_an_array_are_found_by_position() -> None:
    table = as_table(np.array([["dog", 2, 3.5], [None, None, None]], dtype=object), PET)
    np.testing.assert_array_equal(table.values, [[1, 2, 3.5], [np.nan] * 3])


def test_an_array_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="the array has 2 columns, but the schema has 3"):
        as_table(np.zeros((4, 2)), discrete_schema([2, 2, 2]))


def test_a_column_that_the_schema_lacks_is_named_or_ignored() -> None:
    data = {"pet": ["cat"], "age": [1], "weight": [2.0], "colour": ["red"]}
    with pytest.raises(ValueError, match="column 'colour' of the table is not in the schema"):
        as_table(data, PET, extra="error")
    with pytest.warns(TableWarning, match="column 'colour' of the table is not in the schema: it is ignored"):
        assert as_table(data, PET).values.tolist() == [[0, 1, 2]]
    assert as_table(data, PET, extra="ignore").values.tolist() == [[0, 1, 2]]


def test_a_column_that_the_table_lacks_is_named_or_missing() -> None:
    data = {"pet": ["cat"], "weight": [2.0]}
    with pytest.raises(ValueError, match="column 'age' is missing from the table"):
        as_table(data, PET, absent="error")
    with pytest.warns(TableWarning, match="column 'age' is missing from the table: it is summed out"):
        np.testing.assert_array_equal(as_table(data, PET).values, [[0, np.nan, 2]])
    with pytest.raises(ValueError, match="the table has none of the columns 'pet', 'age', 'weight'"):
        as_table({"colour": ["red"]}, PET)


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ({"pet": ["cat", "cow"], "age": [1, 1], "weight": [1, 1]}, "row 1: column 'pet' has no state 'cow'"),
        ({"pet": ["cat", "cat"], "age": [1, -1], "weight": [1, 1]}, "row 1: column 'age' holds counts"),
        ({"pet": ["cat", "cat"], "age": [1, 1.5], "weight": [1, 1]}, "row 1: column 'age' holds counts"),
        ({"pet": ["cat", "cat"], "age": [1, 1], "weight": [1, "x"]}, "row 1: column 'weight' is real: 'x'"),
        ({"pet": ["cat", "cat"], "age": [1, 1], "weight": [1, np.inf]}, "column 'weight', row 1: inf"),
    ],
)
def test_a_value_the_schema_does_not_know_is_named(cells: dict[str, list[Any]], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        as_table(pd.DataFrame(cells), PET)


def test_a_state_seen_only_in_validation_data_is_named() -> None:
    train, valid = as_table({"a": ["x", "y"]}), as_table({"a": ["y", "z"]})
    with pytest.raises(ValueError, match="row 1: column 'a' has no state 'z'"):
        as_table(valid, train.schema)


def test_a_table_is_coded_again_under_another_schema() -> None:
    train = as_table(pd.DataFrame({"n": np.arange(50), "s": ["a", "b"] * 25}))
    valid = as_table(pd.DataFrame({"s": ["b", "b"], "n": [3, 7]}))
    assert valid.schema[1].states == (3, 7)
    assert as_table(valid, train.schema).values.tolist() == [[3, 1], [7, 1]]


def test_a_table_under_its_own_schema_is_itself() -> None:
    table = as_table({"a": ["x", "y"]})
    assert as_table(table) is table
    assert as_table(table, table.schema) is table


def test_declared_states_that_no_row_has_need_not_be_known() -> None:
    column = pd.Categorical(["x"], categories=["x", "never"])
    schema = Schema((Variable("a", "categorical", ("w", "x")),))
    assert as_table(pd.DataFrame({"a": column}), schema).values.tolist() == [[1.0]]


def test_numbers_find_states_that_read_the_same() -> None:
    text = Schema((Variable("a", "categorical", ("0", "1.0")),))
    assert as_table(np.array([[0], [1]]), text).values.tolist() == [[0], [1]]
    numbers = Schema((Variable("a", "categorical", (2, 4)),))
    assert as_table({"a": ["4", "2"]}, numbers).values.tolist() == [[1], [0]]
    assert as_table({"a": [4.0, None]}, numbers).values[0, 0] == 1


def test_truth_values_and_zero_one_are_the_same_states() -> None:
    truth = Schema((Variable("a", "categorical", (False, True)),))
    assert as_table(np.array([[1], [0]]), truth).values.tolist() == [[1], [0]]
    assert as_table(np.array([[True], [False]]), discrete_schema([2])).values.tolist() == [[1], [0]]


@pytest.mark.parametrize("array", [np.array([[0, 2]]), np.array([[0, 0.5]]), np.array([[0, -1]])])
def test_an_array_of_codes_is_checked(array: np.ndarray[Any, Any]) -> None:
    with pytest.raises(ValueError, match="row 0: column 'x1' has no state"):
        as_table(array, discrete_schema([2, 2]))


def test_the_array_of_codes_is_copied() -> None:
    array = np.zeros((2, 2))
    table = as_table(array, discrete_schema([2, 2]))
    array[:] = 1
    assert table.values.sum() == 0


def test_rows_with_everything_missing_are_kept() -> None:
    table = as_table({"a": ["x", None], "b": [1.5, None]})
    assert table.missing.tolist() == [[False, False], [True, True]]


def test_weights_come_as_an_array_or_as_a_column() -> None:
    data = {"a": ["x", "y"], "w": [0, 2.5]}
    assert as_table(data, weights="w").row_weights.tolist() == [0, 2.5]
    assert as_table(data, weights="w").schema.names == ("a",)
    assert as_table(as_table(data), weights="w").schema.names == ("a",)
    assert as_table({"a": ["x", "y"]}, weights=[1, 2]).total_weight == 3
    assert as_table(np.zeros((2, 1)), discrete_schema([2]), weights=[1, 2]).total_weight == 3


def test_a_table_keeps_its_weights_under_another_schema() -> None:
    table = as_table({"a": ["x", "y"]}, weights=[1, 2])
    wider = Schema((Variable("a", "categorical", ("w", "x", "y")),))
    assert as_table(table, wider).row_weights.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("weights", "fault"),
    [
        ([1, np.nan], "weight of row 1 is nan"),
        ([-1, 1], "weight of row 0 is -1"),
        ([1, np.inf], "weight of row 1 is inf"),
        ([1, 1e300], "weight of row 1 is 1e.300: the sum of all weights must be at most 1e.250"),
        ([6e249, 7e249], "weight of row 1 is 7e.249: the sum of all weights"),
        ([1], "1 weights for 2 rows"),
        ("v", "no column 'v'"),
        ("a", "column 'a' does not hold numbers"),
    ],
)
def test_bad_weights_are_refused(weights: Any, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        as_table({"a": ["x", "y"]}, weights=weights)


def test_a_table_of_codes_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="column 'x1', row 1: 2 is not a valid value"):
        Table(discrete_schema([2, 2]), np.array([[0.0, 1.0], [np.nan, 2.0]]))
