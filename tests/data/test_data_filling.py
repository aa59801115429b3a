"""Imputation changes no observed cell, nor the type and place of its column, in any kind of table."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tractable as tr
from tractable.cli import run
from tractable.data import TableWarning

METHODS = ["mpe", "mean", "sample"]


@pytest.fixture(scope="module")
def circuit() -> tr.Circuit:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "species": rng.choice(["Adelie", "Gentoo"], 60),
            "mass": rng.normal(4000, 300, 60).round(1),
            "eggs": rng.integers(0, 40, 60),
            "tagged": rng.random(60) < 0.5,
        }
    )
    return tr.Independent().fit(frame).circuit_


ROWS: dict[str, list[Any]] = {
    "note": ["first", None, "third", "fourth"],
    "eggs": [3, None, 5, 6],
    "species": ["Emperor", None, "Gentoo", "Adelie"],
    "mass": [None, 3900.5, 4100.25, None],
    "site": [1, 2, 3, 4],
}
FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda rows: pd.DataFrame(rows, index=[7, 7, 8, 9]),
    "nullable pandas": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "categories of pandas": lambda rows: pd.DataFrame(rows).astype(
        {"species": "category", "note": "category"}
    ),
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "categories of polars": lambda rows: pl.DataFrame(rows, schema_overrides={"species": pl.Categorical}),
    "pyarrow": pa.table,
    "dictionary of pyarrow": lambda rows: pa.table(
        {**rows, "species": pa.array(rows["species"]).dictionary_encode()}
    ),
    "dict": dict,
    "rows": lambda rows: (
        pd.DataFrame(rows).astype(object).where(lambda x: x.notna(), None).to_dict("records")
    ),
}


def cells(frame: Any) -> dict[str, list[Any]]:
    """The cells of a frame by column, None where missing."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pd.DataFrame):
        plain = frame.astype(object)
        return {str(c): [None if pd.isna(x) else x for x in plain[c]] for c in frame.columns}
    if isinstance(frame, list):
        return cells(pd.DataFrame(frame))
    return (
        dict(frame)
        if isinstance(frame, dict)
        else frame.to_pydict()
        if isinstance(frame, pa.Table)
        else frame.to_dict(as_series=False)
    )


def types(frame: Any) -> list[str] | None:
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pd.DataFrame):
        return [t.name for t in frame.dtypes]
    return list(map(str, frame.schema.types if isinstance(frame, pa.Table) else frame.dtypes))


def check(before: Any, after: Any, known: list[str]) -> None:
    """Observed cells, unknown columns and the order stay, and what was missing of known columns is there."""
    old, new = cells(before), cells(after)
    assert list(new)[: len(old)] == list(old)
    assert set(new) == {*old, *known}
    for name, values in old.items():
        for one, other in zip(values, new[name], strict=True):
            if one is not None:
                assert one == other
            assert (other is None) == (one is None and name not in known)
    assert all(None not in new[name] for name in known)


@pytest.mark.filterwarnings("ignore::tractable.data.problems.TableWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", FRAMES)
def test_observed_cells_columns_and_types_stay(circuit: tr.Circuit, kind: str, method: Any) -> None:
    rows = FRAMES[kind](ROWS)
    known = list(circuit.schema.names)
    for whole in (circuit.impute(rows, method, random_state=0), circuit.mpe(rows=rows).rows):
        check(rows, whole, known)
        if kind in ("dict", "rows"):
            assert isinstance(whole, pd.DataFrame)
            continue
        if kind not in ("pandas", "categories of pandas"):  # where whole numbers are whole again
            assert types(whole)[: len(ROWS)] == types(rows)  # type: ignore[index]
        assert type(whole) is type(rows.collect() if kind == "lazy" else rows)
        if kind == "pandas":
            assert whole.index.tolist() == [7, 7, 8, 9]


@pytest.mark.filterwarnings("ignore::tractable.data.problems.TableWarning")
@pytest.mark.parametrize("kind", FRAMES)
def test_an_imputer_changes_no_observed_cell(kind: str) -> None:
    rows = FRAMES[kind](ROWS)
    train = {
        name: [ROWS[name][2], ROWS[name][3] or 4000.5, ROWS[name][2]] for name in ("eggs", "species", "mass")
    }
    model = tr.TractableImputer("independent", random_state=0).fit(pd.DataFrame(train))
    check(rows, model.transform(rows), list(train))


def test_an_array_keeps_its_type_and_its_unknown_states() -> None:
    train = np.array([["a", 1.5], ["b", 2.5], ["a", 2.0]], dtype=object)
    circuit = tr.Independent().fit(train).circuit_
    rows = np.array([["c", None], [None, 9.0]], dtype=object)
    with pytest.warns(TableWarning, match="1 row has states"):
        whole = circuit.impute(rows)
    assert whole[0, 0] == "c"
    assert whole[1].tolist() == ["a", 9.0]
    assert circuit.impute(np.array([[1.0, np.nan]]), "mean").dtype == float


@pytest.mark.filterwarnings("ignore::tractable.data.problems.TableWarning")
def test_a_filled_cell_that_does_not_fit_makes_the_column_wider() -> None:
    circuit = tr.Independent().fit({"x": [0.25, 1.5, 1.0], "s": ["7", "b", "b"]}).circuit_
    for frame in (
        pa.table({"x": pa.array([1, None]), "s": pa.array([7, None])}),
        pl.DataFrame({"x": [1, None], "s": [7, None]}),
        pd.DataFrame({"x": pd.array([1, None], "Int64"), "s": pd.array([7, None], "Int64")}),
    ):
        found = cells(circuit.impute(frame, "mean"))
        assert found["x"] == [1, pytest.approx(circuit.expectation("x"))]
        assert [str(x) for x in found["s"]] == ["7", "b"]


@pytest.mark.filterwarnings("ignore::tractable.data.problems.TableWarning")
def test_a_table_without_a_row_or_a_hole_stays(circuit: tr.Circuit) -> None:
    for frame in (pd.DataFrame(ROWS).iloc[:0], pl.DataFrame(ROWS).clear(), pa.table(ROWS).slice(0, 0)):
        whole = circuit.impute(frame)
        assert len(whole) == 0
        assert list(cells(whole))[:5] == list(ROWS)
    assert circuit.impute([]).shape[0] == 0


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.jsonl"])
def test_the_command_changes_no_observed_cell(
    circuit: tr.Circuit,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    circuit.save("m.tract")
    frame = pd.DataFrame(ROWS).assign(site=["007", "+1", "7", "12"])
    if name == "rows.csv":
        frame.to_csv(name, index=False)
    elif name == "rows.parquet":
        frame.to_parquet(name)
    else:
        frame.to_json(name, orient="records", lines=True)
    assert run(["impute", "m.tract", name, "-o", "whole.parquet"]) == 0
    check(frame, pd.read_parquet("whole.parquet"), list(circuit.schema.names))
    assert run(["impute", "m.tract", name, "--drop", "note,site"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].replace('"', "") == "eggs,species,mass,tagged"
    assert "Emperor" in out
    assert err.count("filled 8 cells of 4 rows") == 2  # four of which are of a column that the file lacks


def test_nothing_is_told_twice(circuit: tr.Circuit) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        circuit.impute(pd.DataFrame(ROWS))
    assert len(caught) == len({str(one.message) for one in caught}) == 3


def test_rows_without_a_frame_become_arrays_where_the_model_was_fitted_on_one() -> None:
    circuit = tr.Independent().fit(np.array([["a", 1.5], ["b", 2.5], ["a", 2.0]], dtype=object)).circuit_
    assert circuit.impute([["b", None]], "mpe").shape == (1, 2)
    with pytest.warns(TableWarning, match="1 row has states"):
        whole = circuit.impute([["c", None], [None, 9.0]])
    assert whole[0, 0] == "c"
    assert whole[1].tolist() == ["a", 9.0]


def test_whole_numbers_of_pandas_are_whole_again_unless_one_is_not(circuit: tr.Circuit) -> None:
    frame = pd.DataFrame({"eggs": [3.0, np.nan], "tagged": [True, None]})
    whole = circuit.impute(frame)
    assert [t.kind for t in whole.dtypes][:2] == ["i", "b"]
    with pytest.warns(TableWarning, match="held whole numbers"):
        broken = circuit.impute(frame.assign(eggs=[2.5, np.nan]))
    assert broken["eggs"].dtype == float
    assert broken["eggs"][0] == 2.5
