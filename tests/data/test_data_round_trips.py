from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tractable.data import Schema, Table, Variable, as_table, clinic, discrete_schema, frame_kind, to_frame

KINDS = ["pandas", "polars", "pyarrow", "numpy", "any"]
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=4)
STATES: st.SearchStrategy[list[Any]] = st.one_of(
    st.lists(TEXT, min_size=1, max_size=5, unique=True),
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=5, unique=True),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5, unique=True),
    st.just([False, True]),
)


@st.composite
def variables(draw: st.DrawFn, name: str) -> Variable:
    kind = draw(st.sampled_from(["categorical", "real", "count"]))
    if kind == "categorical":
        return Variable(name, "categorical", tuple(draw(STATES)))
    return Variable(name, "real" if kind == "real" else "count")


def cells(variable: Variable) -> st.SearchStrategy[float]:
    if variable.is_categorical:
        return st.integers(0, variable.cardinality - 1).map(float)
    return st.floats(-1e9, 1e9) if variable.kind == "real" else st.integers(0, 10**9).map(float)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(1, 4))
    schema = Schema(tuple(draw(variables(f"column {i}")) for i in range(width)))
    row = st.tuples(*(st.one_of(st.just(np.nan), cells(v)) for v in schema))
    return Table(schema, np.array(draw(st.lists(row, min_size=1, max_size=6)), dtype=float))


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)  # the first call imports the library of the frame
@given(table=tables())
def test_a_table_comes_back_from_every_kind_of_frame(kind: str, table: Table) -> None:
    frame = to_frame(table, like=kind)
    again = as_table(frame, table.schema)
    np.testing.assert_array_equal(again.values, table.values)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (pd.DataFrame({"a": [1]}), "pandas"),
        (pl.DataFrame({"a": [1]}), "polars"),
        (pl.LazyFrame({"a": [1]}), "polars"),
        (pa.table({"a": [1]}), "pyarrow"),
        (np.zeros((1, 1)), "numpy"),
        ({"a": [1]}, "any"),
        ([{"a": 1}], "any"),
        (clinic(1), "any"),
    ],
)
def test_the_kind_of_a_frame_is_known(data: object, kind: str) -> None:
    assert frame_kind(data) == kind


@pytest.mark.parametrize(
    ("kind", "type_"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_a_frame_of_the_same_kind_comes_back(kind: str, type_: type) -> None:
    assert isinstance(to_frame(clinic(3), like=kind), type_)


def test_a_pandas_frame_comes_back_as_it_was() -> None:
    frame = pd.DataFrame({"t": ["b", "a "], "i": [3, 1], "f": [0.5, np.nan], "b": [True, False]})
    table = as_table(frame)
    pd.testing.assert_frame_equal(to_frame(table, like="pandas"), frame)


def test_coded_rows_are_shown_under_a_schema() -> None:
    frame = to_frame(np.array([[1.0, np.nan]]), discrete_schema([2, 3]), like="polars")
    assert frame.rows() == [(1, None)]
    with pytest.raises(ValueError, match="need a schema"):
        to_frame(np.zeros((1, 1)))


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (np.array([[0, 1], [1, 5]]), "int64"),
        (np.array([[0.5, 1], [1, 5]]), "float64"),
        (np.array([[True, False]]), "bool"),
        (np.array([["a", 1]], dtype=object), "object"),
    ],
)
def test_an_array_comes_back_in_the_narrowest_type(data: np.ndarray[Any, Any], dtype: str) -> None:
    array = to_frame(as_table(data), like="numpy")
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, data)


def test_an_unknown_kind_of_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="'excel' is not a kind of data frame"):
        to_frame(clinic(1), like="excel")
