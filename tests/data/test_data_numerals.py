"""Numbers as people write them are numbers, and what could be read in two ways stays text."""

import csv
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tractable as tr
from tractable.data import Table, as_table, read
from tractable.data.numerals import read_numeral

FIT: dict[str, tuple[list[str], list[float]]] = {
    "dollars": (["$12", "$ 15.5", "-$3"], [12, 15.5, -3]),
    "minus before or behind": (["-€1", "€-2", "€3"], [-1, -2, 3]),
    "euros": (["12 EUR", "15,5 EUR", "7EUR"], [12, 15.5, 7]),
    "a sign behind": (["12 €", "1.234,50 €", "-"], [12, 1234.5, np.nan]),
    "currency codes": (["USD 12", "USD 1,234,567.8", "."], [12, 1234567.8, np.nan]),
    "percent": (["12 %", "0.5%", "100 %"], [12, 0.5, 100]),
    "units": (["12 kg", "13.5 kg", "-7kg"], [12, 13.5, -7]),
    "units with signs": (["12 km/h", "13 km/h", "14 km/h"], [12, 13, 14]),
    "degrees": (["12°C", "13.25 °C", "\u221214 °C"], [12, 13.25, -14]),
    "short units": (["12 m", "13m", "14 m"], [12, 13, 14]),
    "English thousands": (["1,234", "12,345,678", "7"], [1234, 12345678, 7]),
    "English thousands and decimals": (["1,234.5", "0.25", "7"], [1234.5, 0.25, 7]),
    "German thousands and decimals": (["1.234,5", "0,25", "7"], [1234.5, 0.25, 7]),
    "decimal commas": (["3,14", "2,5", "-1"], [3.14, 2.5, -1]),
    "blanks between thousands": (["1 234", "12 345,5", "7"], [1234, 12345.5, 7]),
    "hard blanks": (["1\u00a0234", "12\u202f345.5", "7"], [1234, 12345.5, 7]),
    "apostrophes": (["1'234.5", "12\u2019345", "7"], [1234.5, 12345, 7]),
    "exponents": (["1,5e3", "2,5E-1", "1"], [1500, 0.25, 1]),
}
STAY: dict[str, list[str]] = {
    "labels": ["A12", "A13", "A14"],
    "labels behind": ["3a", "4a", "5a"],
    "other units": ["12 kg", "13 lb", "14 kg"],
    "units at some cells": ["12 kg", "13", "14 kg"],
    "other currencies": ["$12", "€13", "$14"],
    "codes of nothing": ["REF 12", "REF 13", "REF 14"],
    "ordinals": ["4th", "5th", "6th"],
    "clocks": ["10 am", "11 am", "9 am"],
    "days": ["12 May", "13 May", "14 May"],
    "leading zeros": ["007 kg", "012 kg", "1 kg"],
    "ranges": ["18-25", "26-40", "41-60"],
    "versions": ["1.2.3", "1.2.4", "1.3.0"],
    "addresses": ["10.0.0.1", "10.0.0.2", "10.0.0.3"],
    "telephones": ["030 123 456", "040 123 456", "041 123 456"],
    "limits": ["<5", ">100", "<7"],
    "lists": ["1,2,3", "2,3", "4,5,6"],
    "dates": ["01.02.2020", "02.02.2020", "13.02.2020"],
    "mixed thousands": ["1,234.5", "1.234,5", "7"],
    "words": ["12 kg", "unknown", "13 kg"],
}


def file_of(path: Path, cells: list[str], sep: str = ",") -> Path:
    quoted = (f'"{cell}"' for cell in cells)
    path.write_text(f"x{sep}n\n" + "".join(f"{cell}{sep}{i}\n" for i, cell in enumerate(quoted)))
    return path


def quietly(path: Path, **options: object) -> tuple[Table, list[str]]:
    """The table, and what is told of its first column."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        table = read(path, **options)  # type: ignore[arg-type]
    return table, [str(one.message) for one in found if "column 'x'" in str(one.message)]


@pytest.mark.parametrize("case", FIT)
def test_written_numbers_are_numbers_with_one_line_that_shows_an_example(tmp_path: Path, case: str) -> None:
    cells, numbers = FIT[case]
    table, told = quietly(file_of(tmp_path / "t.csv", cells), kinds={"x": "real"})
    np.testing.assert_array_equal(table.values[:, 0], numbers)
    assert len(told) == 1
    assert told[0].startswith(f"column 'x' is read as numbers: {cells[0]!r} is {numbers[0]:g}; if it is text")


@pytest.mark.parametrize("case", STAY)
def test_what_is_no_number_with_one_unit_stays_text(tmp_path: Path, case: str) -> None:
    table, told = quietly(file_of(tmp_path / "t.csv", STAY[case]))
    assert case == "dates" or table.schema[0].states == tuple(sorted(STAY[case]))
    assert told == []


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.json", "t.jsonl", "t.xlsx", "t.db", "t.feather"])
def test_numbers_are_understood_in_files_of_every_format(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({"x": ["1.234,5 €", "12 €", "0,5 €"], "n": [1, 2, 3]})
    path = tmp_path / name
    if name == "t.db":
        with closing(sqlite3.connect(path)) as database:
            frame.to_sql("t", database, index=False)
    elif name == "t.jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        writers: dict[str, Any] = {
            ".csv": lambda: frame.to_csv(path, index=False),
            ".xlsx": lambda: frame.to_excel(path, index=False),
            ".json": lambda: frame.to_json(path),
            ".parquet": lambda: frame.to_parquet(path),
            ".feather": lambda: frame.to_feather(path),
        }
        writers[path.suffix]()
    table, told = quietly(path)
    assert table.values[:, 0].tolist() == [1234.5, 12, 0.5]
    assert len(told) == 1


def test_a_column_that_can_be_read_in_two_ways_stays_text_until_somebody_decides(tmp_path: Path) -> None:
    path = file_of(tmp_path / "t.csv", ["1,234", "12,500", "7"])
    table, told = quietly(path)
    assert table.schema[0].states == ("1,234", "12,500", "7")
    assert "'1,234' may be 1234 or 1.234; specify the decimal point" in told[0]
    for decimal, numbers in ((".", [1234, 12500, 7]), (",", [1.234, 12.5, 7])):
        table = quietly(path, decimal=decimal, kinds={"x": "real"})[0]
        assert table.values[:, 0].tolist() == numbers
    with pytest.raises(ValueError, match=r"the decimal point must be '.' or ',', not ';'"):
        read(path, decimal=";")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ('x,n\n"1,234","3,5"\n"2,345","4,5"\n', [1.234, 2.345]),
        ('x,n\n"1,234","$1,234.5"\n"2,345","$4.5"\n', [1234, 2345]),
        ("x;n\n1.234;3,5\n-;4,5\n2.345.678;1,5\n", [1234, np.nan, 2345678]),
        ("x;n\n1.234;3,5\n-;4,5\n2.345;1,5\n", [1234, np.nan, 2345]),  # which alone would be fractions
        ("x;n\n1.25;3,5\n-;4,5\n2.345;1,5\n", [1.25, np.nan, 2.345]),  # which are fractions
        ("x;n\n1.234;3.5\n2.345;1.5\n", [1.234, 2.345]),
    ],
)
def test_other_columns_of_a_file_tell_its_decimal_point(
    tmp_path: Path, text: str, numbers: list[float]
) -> None:
    (tmp_path / "t.csv").write_text(text)
    table, _ = quietly(tmp_path / "t.csv", kinds={"x": "real"})
    np.testing.assert_array_equal(table.values[:, 0], numbers)


def test_decimal_commas_between_semicolons_are_nothing_to_tell(tmp_path: Path) -> None:
    table, told = quietly(file_of(tmp_path / "t.csv", ["1,5", "2,25", "3,125"], sep=";"))
    assert table.values[:, 0].tolist() == [1.5, 2.25, 3.125]
    assert told == []


def test_a_column_may_stay_as_it_is(tmp_path: Path) -> None:
    cells = ["$12", "$13", "$14"]
    path = file_of(tmp_path / "t.csv", cells)
    table, told = quietly(path, kinds={"x": "categorical"})
    assert (table.schema[0].states, told) == (tuple(cells), [])
    again, told = quietly(path, schema=table.schema)
    assert (again.schema, told) == (table.schema, [])
    assert quietly(path, drop=["x"])[1] == []


def test_a_model_of_numbers_reads_numbers_with_units_again(tmp_path: Path) -> None:
    train = quietly(file_of(tmp_path / "t.csv", [f"{i}.5 kg" for i in range(30)]))[0]
    assert train.schema[0].kind == "real"
    test = quietly(file_of(tmp_path / "u.csv", ["7 kg", "8 kg"]), schema=train.schema)[0]
    assert test.values[:, 0].tolist() == [7, 8]
    with pytest.raises(
        ValueError, match=r"u.csv: row 1: column 'x' holds numbers, but '\?8 kg' is not a number"
    ):
        read(file_of(tmp_path / "u.csv", ["7 kg", "?8 kg"]), schema=train.schema)


def slow_reading(cell: str, point: str) -> float | None:
    """The number that a cell without a unit is with a decimal point, by the definition."""
    for mark in {",", ".", " ", "'"} - {point}:
        whole, comma, rest = cell.lstrip("-").partition(point)
        groups = whole.split(mark)
        is_whole = all(group.isdecimal() for group in groups) and all(len(group) == 3 for group in groups[1:])
        if len(groups) > 1:
            is_whole = is_whole and len(groups[0]) <= 3 and groups[0][0] != "0"
        plain = "".join(groups)
        is_whole = is_whole and (plain == "0" or not plain.startswith("0"))
        if (is_whole or (not whole and comma)) and (not comma or rest.isdecimal()):
            return float(("-" if cell.startswith("-") else "") + plain + "." + (rest or "0"))
    return None


@settings(max_examples=300)
@given(st.from_regex(r"-?[,.]?[0-9]([0-9,.' ]{0,7}[0-9])?", fullmatch=True))
def test_numbers_are_read_as_the_definition_says(cell: str) -> None:
    expected = {point: number for point in ".," if (number := slow_reading(cell, point)) is not None}
    found = read_numeral(pa.array([cell]))
    assert ({} if found is None else {point: one[0] for point, one in found.readings.items()}) == expected


@given(st.lists(st.integers(1, 10**8).map(lambda x: x / 100), min_size=1), st.sampled_from([".", ","]))
def test_numbers_that_python_writes_are_read_back(numbers: list[float], point: str) -> None:
    other = "," if point == "." else "."
    swap = str.maketrans({".": point, ",": other})
    cells = [f"{number:,.2f} kg".translate(swap) for number in numbers]
    found = read_numeral(pa.array(cells))
    assert found is not None
    assert found.readings[point] == [float(f"{x:.2f}") for x in dict.fromkeys(numbers)]
    assert list(found.readings) == [point]  # two decimals say which it is


def test_sentinels_and_numbers_with_words_are_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{-999 if i % 7 == 0 else i % 40 / 2},{'n.d.' if i % 9 == 0 else i % 30}" for i in range(90)]
    path.write_text("x,y\n" + "\n".join(rows) + "\n")
    with pytest.warns(tr.TableWarning) as told:
        read(path)
    texts = [str(one.message) for one in told]
    assert texts == [
        "column 'x' holds -999 apart from all its other numbers: if it marks missing cells, declare it as"
        " such (na=['-999'], --na -999)",
        "column 'y' holds numbers and 'n.d.', so all of its values are text: if it marks missing cells,"
        " declare it as such (na=['n.d.'], --na n.d.)",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read(path, na=["-999", "n.d."])
    assert table.missing.sum(axis=0).tolist() == [13, 10]
    assert [v.kind for v in table.schema] == ["real", "integer"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.xlsx", "t.json", "t.jsonl"])
def test_a_number_marks_missing_cells_however_it_is_written(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({"a": [1.5, -999.0, 2.5], "b": [-999, 3, 4], "c": ["x", "-999", "no"]})
    path = tmp_path / name
    if name == "t.csv":
        path.write_text('a,b,c\n1.5,-999.0,x\n-999.00,3,"-999"\n2.5,4,no\n')
    elif name == "t.xlsx":
        frame.to_excel(path, index=False)
    elif name == "t.parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=name == "t.jsonl")
    missing = read(path, na="-999").missing
    assert missing.tolist() == [[False, True, False], [True, False, True], [False, False, False]]
    assert read(path, na=["-999", "no"]).missing[2].tolist() == [False, False, True]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.xlsx", "t.json", "t.jsonl"])
def test_numbers_beside_a_mark_are_numbers_and_codes_are_not(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame(
        {"a": ["18", "unknown", "2.5"], "b": ["007", "unknown", "01"], "c": ["1", "unknown", "2"]}
    )
    path = tmp_path / name
    if name == "t.csv":
        frame.to_csv(path, index=False, quoting=csv.QUOTE_ALL)
    elif name == "t.xlsx":
        frame.to_excel(path, index=False)
    elif name == "t.parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=name == "t.jsonl")
    table = read(path, na="unknown", kinds={"a": "real", "c": "categorical"})
    np.testing.assert_array_equal(table.values[:, 0], [18, np.nan, 2.5])
    assert table.schema[1].states == ("007", "01")
    assert table.schema[2].states == ((1, 2) if name == "t.csv" else ("1", "2"))


def test_marks_are_missing_in_columns_of_categories(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x", "none", "y"]), "b": pd.Categorical([1, -9, 2])})
    frame.to_parquet(tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet", na=["none", "-9"])
    assert table.missing.tolist() == [[False, False], [True, True], [False, False]]


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        ([-999, 0.5, 30.25], "-999"),
        ([9999999, 12.5, 3000], "9999999"),
        ([99, 1, 2], "99"),
        ([-9, 0, 100], "-9"),
        ([99, 98, 1], None),
        ([-99, -98, 7], None),
        ([1000, 1, 2], None),
        ([999.5, 1, 2], None),
    ],
)
def test_a_number_of_nines_apart_from_all_others_is_pointed_out(cells: list[float], mark: str | None) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        as_table({"x": np.array(cells * 10), "n": np.random.default_rng(0).normal(size=30)})
    told = [str(one.message) for one in found if "apart from all" in str(one.message)]
    assert [line.split(" --na ")[1] for line in told] == ([f"{mark})"] if mark else [])
