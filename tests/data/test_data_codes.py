"""Codes such as 007 keep their spelling, in files and frames of every kind."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tractable as tr
from tractable.data import Table, as_table, read
from tractable.data.codes import may_have_codes

CODES = ["007", "7", "0049", "12", "007", "7", "0049", "12"]


def write(path: Path, cells: list[str], name: str = "code", sep: str = ",") -> Path:
    path.write_text(f"{name}{sep}n\n" + "".join(f"{cell}{sep}{i}.5\n" for i, cell in enumerate(cells)))
    return path


def test_leading_zeros_make_a_column_of_a_file_text(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", CODES)
    for options in ({}, {"kinds": {"code": "categorical"}}, {"text": "code"}, {"text": ["code"]}):
        table = read(file, **options)
        assert table.schema[0].states == ("0049", "007", "12", "7")
        assert table.values[:, 0].tolist() == [1, 3, 0, 2] * 2
    circuit = tr.Independent().fit(read(file)).circuit_
    assert circuit.prob("code=007") == circuit.prob("code=7")  # two rows each, and not four
    with pytest.raises(ValueError, match="column 'code' has no state '49'"):
        circuit.prob("code=49")
    np.testing.assert_array_equal(read(file, schema=circuit.schema).values, read(file).values)


@pytest.mark.parametrize(
    "cells",
    [
        ["01067", "8001"],
        ["+49", "48"],
        ["+4.9", "4.8"],
        ["-07", "7"],
        ["00", "1"],
        ["1234567890123456", "5"],
        ["12345678901234567890", "5"],
        ["-1234567890123456", "5"],
        ["0x1F", "8"],
        ["01.50", "2.5"],
        [" 007", "8"],
        ['"007"', "8"],
        ["007", "-"],
        ["", "007"],
        ["7", "00 7"],
    ],
)
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_a_cell_that_is_a_code_makes_its_column_text(tmp_path: Path, cells: list[str], sep: str) -> None:
    table = read(write(tmp_path / "t.csv", cells, sep=sep))
    texts = {cell.strip('"') for cell in cells if cell.strip('"')}
    assert set(table.schema[0].states) == texts
    assert table.schema[1].kind == "real" or not table.schema[1].has_text_states


@pytest.mark.parametrize(
    "cells",
    [
        ["0", "1"],
        ["0.5", "-0.25"],
        ["10", "100"],
        ["1e05", "2E+07"],
        ["123456789012345", "5"],
        ["0.12345678901234567", "1234567890123456.5"],
        ["-0", "-0.0"],
        ["0", "-"],
        ["1.50", "1.5"],
    ],
)
def test_canonical_numbers_stay_numbers(tmp_path: Path, cells: list[str]) -> None:
    assert not read(write(tmp_path / "t.csv", cells)).schema[0].has_text_states


def test_a_column_that_is_said_to_hold_numbers_holds_numbers(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", ["007", "+12.5", "1234567890123456"])
    known = as_table({"code": [7.0, 12.5, 30.25], "n": [0.25, 0.5, 0.75]}).schema
    for options in ({"kinds": {"code": "real"}}, {"schema": known}):
        assert read(file, **options).values[:, 0].tolist() == [7, 12.5, 1234567890123456]
    assert read(file, weight="code").row_weights.tolist() == [7, 12.5, 1234567890123456]


def test_dates_and_times_are_no_codes(tmp_path: Path) -> None:
    for cells, kind in ((["2020-01-05", "2020-10-07"], "date"), (["05/03/2020", "25/03/2020"], "date")):
        assert read(write(tmp_path / "t.csv", cells)).schema[0].kind == kind
        table = read(write(tmp_path / "t.csv", cells), text="code")
        assert table.schema[0].states == tuple(cells)


def test_text_is_text_in_frames_of_all_kinds(tmp_path: Path) -> None:
    zeros = ["007", "7", "007"]
    data = {
        "code": zeros,
        "n": [1, 2, 1],
        "x": [0.5, 1.0, None],
        "d": ["2020-01-05"] * 3,
        "b": [True, False, None],
    }
    pd.DataFrame(data).to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    pd.DataFrame(data).to_parquet(tmp_path / "t.parquet")
    tables: list[Table] = [
        as_table(frame, text=["n", "x", "d", "b"])
        for frame in (data, pd.DataFrame(data), pl.DataFrame(data), pa.table(data), as_table(data))
        if not isinstance(frame, Table)
    ]
    tables += [read(tmp_path / name, text=["n", "x", "d", "b"]) for name in ("t.jsonl", "t.parquet")]
    for table in tables:
        assert [v.states for v in table.schema] == [
            ("007", "7"), ("1", "2"), ("0.5", "1"), ("2020-01-05",), ("False", "True")
        ]  # fmt: skip
    with pytest.raises(ValueError, match="there is no column 'nn' to be text; did you mean 'n'"):
        as_table(data, text=["nn"])


def plainly(text: bytes, sep: str) -> bool:
    """Whether a cell begins like a code, one cell after another; spaces before it do not count."""
    for line in text.replace(b'"', b" ").replace(b"\r", b"\n").split(b"\n"):
        for cell in line.replace(b" ", sep.encode()).split(sep.encode()):
            body = cell.removeprefix(b"-")
            if cell[:1] == b"+" or (
                body[:1] == b"0" and body[1:2] in [*(b"%d" % i for i in range(10)), b"x", b"X"]
            ):
                return True
    return False


@given(
    text=st.lists(st.sampled_from(list('07+-x,; "\n.5')), max_size=40).map("".join), sep=st.sampled_from(",;")
)
def test_looking_at_bytes_misses_no_code(text: str, sep: str) -> None:
    content = text.encode()
    found = may_have_codes(io.BytesIO(content), sep)
    assert found >= plainly(content, sep)


@pytest.mark.parametrize("code", [b"007", b"-07", b"+7", b"0x7"])
@pytest.mark.parametrize("before", [0, 1, 2, 3, 4])
def test_a_code_between_two_chunks_is_found(code: bytes, before: int) -> None:
    size = 1 << 22
    content = b"1," * (size // 2 - 3) + b"1" * (6 - before) + b"," + code + b",1,1,1,1"
    assert may_have_codes(io.BytesIO(content), ",")
    assert not may_have_codes(io.BytesIO(content.replace(code, b"700")), ",")
