"""What is left out is not checked, and what is marked as missing is missing, in tables of every kind."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tractable as tr
from tractable.cli import run
from tractable.data import Table, TableWarning, as_table, date_parts, read

DATA: dict[str, list[Any]] = {
    "a": ["x", "y", "x"],
    "bad": [1.5, float("inf"), 2.5],
    "b": [0.5, -float("inf"), 1.0],
}
FRAMES = {
    "dict": dict,
    "rows": lambda data: pd.DataFrame(data).to_dict("records"),
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_column_that_is_left_out_is_not_checked(kind: str) -> None:
    frame = FRAMES[kind](DATA)
    with pytest.raises(
        ValueError, match=r"column 'bad', row 1: inf is not a finite number \(if it is missing, say na='inf'"
    ):
        as_table(frame)
    table = as_table(frame, drop=["bad", "b"])
    assert table.schema.names == ("a",)
    with pytest.warns(TableWarning, match="2 columns .'bad', 'b'. of the table are not in the schema"):
        assert as_table(frame, table.schema).values.tolist() == [[0], [1], [0]]
    np.testing.assert_array_equal(as_table(frame, table.schema, drop=("bad", "b")).values, table.values)
    with pytest.raises(ValueError, match="there is no column 'bat' to leave out; did you mean 'bad'"):
        as_table(frame, drop="bat")


@pytest.mark.parametrize("kind", FRAMES)
def test_infinite_cells_are_missing_if_that_is_asked_for(kind: str) -> None:
    frame = FRAMES[kind](DATA)
    table = as_table(frame, na=["inf", -np.inf])
    np.testing.assert_array_equal(table.values, [[0, 1.5, 0.5], [1, np.nan, np.nan], [0, 2.5, 1.0]])
    with pytest.raises(ValueError, match="column 'b', row 1: -inf is not a finite number"):
        as_table(frame, na="inf")
    np.testing.assert_array_equal(as_table(frame, table.schema, na=["inf", "-inf"]).values, table.values)


def test_marks_are_no_states() -> None:
    data = {"a": ["x", "none", "x"], "n": [1, -999, 2], "m": [True, "none", 3]}
    table = as_table(data, na=("none", -999))
    assert [v.states for v in table.schema] == [("x",), (1, 2), ("3", "True")]
    assert table.missing.tolist() == [[False] * 3, [True] * 3, [False] * 3]
    declared = pd.DataFrame({"a": pd.Categorical(["q", "none"], categories=["none", "p", "q"])})
    assert as_table(declared, na="none").schema[0].states == ("p", "q")


def test_arrays_are_read_without_columns_and_with_marks() -> None:
    array = np.array([[3.0, np.inf, 1.0], [1.0, 2.0, -999.0], [3.0, 2.0, 4.0]])
    table = as_table(array, drop=["x1"], na=-999)
    assert table.schema.names == ("x0", "x2")
    np.testing.assert_array_equal(table.values, [[1, 0], [0, np.nan], [1, 1]])
    again = as_table(array, table.schema, drop=["x1"], na=-999)
    np.testing.assert_array_equal(again.values, table.values)


def test_columns_of_one_name_may_be_left_out() -> None:
    frame = pd.DataFrame([[1, 2, "x"], [3, 4, "y"]], columns=["a", "a", "b"])
    arrow = pa.table([[1, 3], [2, 4], ["x", "y"]], names=["a", "a", "b"])
    for one in (frame, arrow):
        with pytest.raises(ValueError, match="two columns are called 'a'"):
            as_table(one)
        assert as_table(one, drop="a").schema.names == ("b",)
        only = as_table({"b": ["x", "y"]}).schema
        with pytest.warns(TableWarning, match="column 'a' of the table is not in the schema: it is ignored"):
            assert as_table(one, only).values.tolist() == [[0], [1]]


@pytest.mark.parametrize(
    ("header", "drop"),
    [("a,bad,b,bad", "bad"), ("a,,b,more", ["", "more"]), ("a,,b,", ""), ("a,bad,b,x", ["bad", "x"])],
)
def test_columns_of_files_are_left_out_before_they_are_checked(
    tmp_path: Path, header: str, drop: Any
) -> None:
    (tmp_path / "t.csv").write_text(f"{header}\nx,1,0.5,inf\ny,inf,0.25,-inf\nx,007,1.5,\n")
    with pytest.raises(ValueError, match=r"two columns are called|has no name|is not a finite number"):
        read(tmp_path / "t.csv")
    table = read(tmp_path / "t.csv", drop=drop)
    assert table.schema.names == ("a", "b")
    assert table.values.tolist() == [[0, 0.5], [1, 0.25], [0, 1.5]]
    np.testing.assert_array_equal(
        read(tmp_path / "t.csv", drop=drop, schema=table.schema).values, table.values
    )


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_infinite_cells_of_files_are_missing_if_that_is_asked_for(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({"a": [0.5, np.inf, 1.25], "b": ["x", "y", "x"]})
    place = tmp_path / name
    {"t.csv": frame.to_csv, "t.parquet": frame.to_parquet, "t.feather": frame.to_feather}[name](place)  # type: ignore[operator]
    drop = [""] if name == "t.csv" else []
    with pytest.raises(ValueError, match="column 'a', row 1: inf is not a finite number"):
        read(place, drop=drop)
    for na in ("inf", ["inf"], float("inf"), [np.inf]):
        np.testing.assert_array_equal(read(place, drop=drop, na=na).values[:, 0], [0.5, np.nan, 1.25])


def test_parts_of_dates_are_taken_beside_columns_that_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("when,bad,bad\n2020-01-05,inf,1\n2020-02-05,1,2\n")
    table = read(tmp_path / "t.csv", drop="bad", parts={"when": ["month"]})
    assert table.schema.names == ("when", "when_month")
    with pytest.raises(ValueError, match="no column 'wen' to take parts of; did you mean 'when'"):
        date_parts(pd.DataFrame({"when": ["2020-01-05"]}), "wen")


def test_a_model_ignores_what_is_wrong_in_columns_that_it_does_not_know() -> None:
    circuit = tr.Independent().fit({"a": ["x", "y", "x"]}).circuit_
    with pytest.warns(TableWarning, match="not in the schema"):
        assert np.isfinite(circuit.log_prob(pd.DataFrame(DATA))).all()


def test_weights_are_taken_from_a_column_that_no_model_has() -> None:
    table = as_table({"a": ["x", "y"], "w": [1, 2]}, weights="w", drop="w")
    assert isinstance(table, Table)
    assert table.row_weights.tolist() == [1, 2]


# ---- the command line ----------------------------------------------------------------------------------


def test_schema_goes_on_after_a_bad_column_and_lists_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(",a,bad,b,b,c,none\n0,x,inf,1,2,0.5,\n1,y,1,2,3,1.5,\n2,x,2,3,4,2.5,\n")
    assert run(["schema", "t.csv", "-o", "s.json"]) == 2
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()[:2]] == ["a", "c"]
    for words in ("two columns are called 'b'", "row 0: inf", "no value in any row"):
        assert words in out
    told = [line for line in err.splitlines() if "the first column has no name" not in line]
    assert told == ["tractable: 3 columns cannot be used (to leave out: --drop 'b,bad,none')"]
    assert not Path("s.json").exists()
    assert run(["schema", "t.csv", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert [one["column"] for one in found["problems"]] == ["b", "bad", "none"]
    assert [one["name"] for one in found["columns"]] == ["a", "c"]
    assert run(["schema", "t.csv", "--drop", "", "--drop", "b,none", "--na", "inf"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["a", "bad", "c"]
    assert run(["schema", "t.csv", "--drop", "", "--drop", "b,none,bad", "--kinds", "a=real"]) == 2
    assert "row 0: column 'a' is real: 'x' is not a number" in capsys.readouterr().out


def test_options_for_codes_infinite_cells_and_columns_to_leave_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{i},{code},{'-inf' if i % 7 == 3 else i / 4},1" for i, code in enumerate(["12", "7", "8"] * 10)
    ]
    Path("t.csv").write_text(",".join(["", "zip", "x", "x2"]) + "\n" + "\n".join(lines) + "\n")
    options = ["--drop", "", "--text", "zip", "--na=-inf", "--drop", "x2"]
    assert run(["learn", "independent", "t.csv", *options, "-o", "m.tract", "-q"]) == 0
    assert tr.load("m.tract").schema[0].states == ("12", "7", "8")
    assert run(["score", "m.tract", "t.csv", *options, "-q"]) == 0
    assert run(["query", "m.tract", "P(zip==12)", "P(zpi=12)", "-q"]) == 2
    assert "there is no column 'zpi' (columns: 'zip', 'x'); did you mean 'zip'?" in capsys.readouterr().err
