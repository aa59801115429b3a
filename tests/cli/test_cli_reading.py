"""Every command that reads a table takes the same options for it, and files that are no table are refused."""

import bz2
import gzip
import io
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import fields
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tractable as tr
from tractable.cli import run
from tractable.cli.app import COMMANDS
from tractable.cli.reading import Reading
from tractable.cli.training import default_place

Shell = pytest.CaptureFixture[str]
TABLES = {"train", "valid", "data", "rows", "table"}  # parameters that are files of tables
FOLDERS = {"bench"}  # whose `--data` is a folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.__name__)
def test_every_command_that_reads_tables_has_all_options_for_them(command: Callable[..., None]) -> None:
    parameters = set(signature(command).parameters)
    if parameters & TABLES and command.__name__ not in FOLDERS:
        assert {field.name for field in fields(Reading)} <= parameters


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that needs an option to be read for almost everything about it, and a model of it."""
    place = tmp_path_factory.mktemp("reading")
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(5)},25  {word}   {rng.integers(9)}" for word in rng.choice(["ü", "v"], 60)]
    text = "a title\n" + "\n".join([*rows, "1,5  unknown  3"]) + "\n"
    with zipfile.ZipFile(place / "t.zip", "w") as archive:
        archive.writestr("t.txt", text.encode("utf-16-le"))
        archive.writestr("u.txt", text)
    assert run(["learn", "independent", str(place / "t.zip"), "-o", str(place / "m.tract"), "-q", *ODD]) == 0
    return place


ODD = ["--table", "t.txt", "--encoding", "utf-16-le", "--no-header", "--sep", "space", "--skip", "1"]
ODD += ["--na", "unknown", "--decimal", ","]
CALLS = {
    "schema": ["t.zip"],
    "learn": ["chow-liu", "t.zip", "--valid", "t.zip", "-o", "new.tract"],
    "parameters": ["m.tract", "t.zip", "--valid", "t.zip", "-o", "new.tract", "--set", "iterations=1"],
    "tune": ["independent", "t.zip", "--valid", "t.zip", "--trials", "1", "-o", "new.tract"],
    "stack": ["m.tract", "m.tract", "--valid", "t.zip", "-o", "new.tract"],
    "score": ["m.tract", "t.zip"],
    "marginals": ["m.tract", "--rows", "t.zip"],
    "sample": ["m.tract", "1", "--rows", "t.zip"],
    "impute": ["m.tract", "t.zip"],
    "classify": ["m.tract", "t.zip", "--target", "x1"],
}


@pytest.mark.parametrize("command", CALLS)
def test_a_table_that_needs_every_option_is_read_by_every_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shell, command: str
) -> None:
    monkeypatch.chdir(folder)
    assert run([command, *CALLS[command], *ODD]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert run([command, *CALLS[command]]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_options_have_the_same_meaning_in_python(folder: Path) -> None:
    table = tr.read(
        folder / "t.zip", table="t.txt", encoding="utf-16-le", header=False, sep=" ", skip=1, na="unknown"
    )
    assert table.schema == tr.load(folder / "m.tract").schema
    assert table.schema.names == ("x0", "x1", "x2")
    assert table.schema[1].states == ("v", "ü")
    assert table.missing.sum() == 1
    assert set(table.values[:, 0]) <= {1.5, *(i + 0.25 for i in range(5))} | set(range(6))


@pytest.mark.parametrize("command", ["learn", "score", "impute", "schema"])
def test_a_part_may_stand_in_the_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shell, command: str
) -> None:
    monkeypatch.chdir(folder)
    call = [word.replace("t.zip", "t.zip::u.txt") for word in CALLS[command]]
    assert run([command, *call, *ODD[4:]]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "stem"),
    [
        ("a/train.csv", "train"),
        ("train.csv.gz", "train"),
        ("train.v2.csv.zst", "train.v2"),
        ("-", "table"),
        ("b.xlsx::Sheet 2", "b-Sheet 2"),
        ("b.zip::in/t.csv", "b-in-t"),
        ("b.db::v1.0", "b-v1.0"),
    ],
)
def test_a_model_is_called_after_its_table(path: str, stem: str) -> None:
    assert default_place(Path(path), "acmn") == Path(f"{stem}.acmn.tract")


# ---- files that are no table ---------------------------------------------------------------------------


def workbook(*rows: list[object], sheet: str = "s") -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame(rows).to_excel(buffer, sheet_name=sheet, index=False, header=False)
    return buffer.getvalue()


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name, content in members.items():
            made.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


def encrypted(raw: bytes) -> bytes:
    """The archive with the mark of encryption at its only file."""
    changed = bytearray(raw)
    changed[6] |= 1
    changed[raw.index(b"PK\1\2") + 8] |= 1
    return bytes(changed)


GOOD = b"a,b\n1,x\n2,y\n"
BOOK = workbook(["a", "b"], [1, "x"], [2, "y"])
REFUSED: dict[str, tuple[str, bytes, str]] = {
    "nothing": ("t.csv", b"", "t.csv: the first line has no column names"),
    "blank lines": ("t.csv", b"\n \n\n", "t.csv: the first line has no column names"),
    "a mark and nothing": ("t.csv", b"\xef\xbb\xbf", "t.csv: the first line has no column names"),
    "a header alone": ("t.csv", b"a,b\n", "t.csv: the table has no rows"),
    "twice the same name": ("t.csv", b"a,b,a\n1,2,3\n", "t.csv: two columns are called 'a'"),
    "a row as a header": ("t.csv", b"1.5,1.5\n2,3\n", "two columns are called '1.5' (is it a file without"),
    "no name": ("t.csv", b"a,,c\n1,2,3\n", "t.csv: column 2 has no name"),
    "a short row": ("t.csv", b"a,b\n1,2\n3\n", "t.csv, line 3: 1 cells instead of 2"),
    "a long row": ("t.csv", b"a,b\r\n1,2\r\n\r\n3,4,5\r\n", "t.csv, line 4: 3 cells instead of 2"),
    "zeros": ("t.csv", b"a,b\n1,\0\n", "t.csv: byte 6 is zero"),
    "an empty workbook": ("t.xlsx", workbook(), "t.xlsx: no sheet has any cells"),
    "a header in a sheet": ("t.xlsx", workbook(["a", "b"]), "t.xlsx: the table has no rows"),
    "a title in a sheet": (
        "t.xlsx",
        workbook(["Sales of 2020", None, None], [None] * 3, ["a", "b", "c"], [1, 2, 3]),
        "t.xlsx, sheet 's': row 1 names only one of 3 columns; if it is a title, skip the rows above the"
        " header (skip=1, --skip 1)",
    ),
    "twice the same name in a sheet": ("t.xlsx", workbook(["a", "a"], [1, 2]), "two columns are called 'a'"),
    "no name in a sheet": ("t.xlsx", workbook(["a", None], [1, 2]), "t.xlsx, sheet 's': row 1 names only"),
    "a column without a name": ("t.xlsx", workbook(["a", None, "c"], [1, 2, 3]), "column B has no name"),
    "half a workbook": ("t.xlsx", BOOK[: len(BOOK) // 2], "t.xlsx: the workbook is damaged or incomplete"),
    "a workbook called .csv": ("t.csv", BOOK, "t.csv: the file is an Excel workbook, despite its suffix"),
    "a workbook called .csv.gz": ("t.csv.gz", gzip.compress(BOOK), "an Excel workbook, despite its"),
    "text called .xlsx": ("t.xlsx", GOOD, "t.xlsx: the file is text, not an Excel workbook"),
    "text called .parquet": ("t.parquet", GOOD, "t.parquet: the file is text, not a Parquet file"),
    "text called .db": ("t.db", GOOD, "t.db: the file is text, not an SQLite database"),
    "text called .gz": ("t.csv.gz", GOOD, "t.csv.gz: Not a gzipped file"),
    "packed text called .csv": ("t.csv", gzip.compress(GOOD), "the file is a gzipped file, despite"),
    "bzip2 called .txt": ("t.txt", bz2.compress(GOOD), "the file is a file compressed by bzip2, despite"),
    "a web page": ("t.csv", b"\n<!DOCTYPE html><html>", "the file is a web page, despite its suffix"),
    "an encrypted workbook": (
        "t.xlsx",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"),
        "an encrypted Office document: save it without a password",
    ),
    "an encrypted archive": ("t.zip", encrypted(archive(t_csv=GOOD)), "t.zip::t.csv: it is encrypted"),
    "half an archive": ("t.zip", archive(t_csv=GOOD)[:40], "t.zip: the .zip file is damaged or incomplete"),
    "an archive of nothing": ("t.zip", archive(), "t.zip: there is no file in it"),
    "an archive of two files": ("t.zip", archive(a_csv=GOOD, b_csv=GOOD), "2 files in it ('a.csv', 'b.csv')"),
    "an archive of pictures": ("t.zip", archive(a_png=b"\x89PNG"), "'t.zip::a.png' is not a table"),
    "half a line of JSON": ("t.jsonl", b'{"a": 1}\n{"a": \n', "t.jsonl, line 2: the JSON is not well formed"),
    "half a list of JSON": ("t.json", b'[{"a": 1},\n{"a"', "t.json, line 2: the JSON is not well formed"),
    "a number of JSON": ("t.json", b"1", "t.json: a table in JSON must be a list of records or a dictionary"),
    "numbers of JSON": ("t.json", b"[1, 2]", "t.json: row 0 of the list is not a record"),
    "columns of two lengths": (
        "t.json"
    , b'{"a": [1], "b": [1, 2]}', "t.json: column 'b' does not have the rows"),
    "lists in JSON": ("t.json", b'[{"a": 1, "b": [1]}]', "t.json: column 'b', row 0: [1] is not text"),
    "not a list of cells": ("t.json", b'{"a": 1, "b": 2}', "t.json: 'a' is not a list of cells"),
    "half a database": ("t.db", b"SQLite format 3\0" + bytes(90), "t.db: "),
    "a database of nothing": ("t.duckdb", b"", "t.duckdb: the file is empty, not a DuckDB database"),
    "half another database": ("t.duckdb", bytes(8) + b"DUCK" + bytes(90), "t.duckdb: "),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_no_table_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shell, case: str
) -> None:
    name, content, words = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    assert run(["learn", "independent", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tractable: ")
    assert err.count("\n") == 1
    assert words in err
    with pytest.raises(ValueError, match=name.replace(".", r"\.")):
        tr.read(name)


def test_ordinary_oddities_of_text_are_no_fault(tmp_path: Path) -> None:
    expected = [[0, 1.5], [1, 2.5]]
    long = "x" * 300_000
    for text in (
        b"\xef\xbb\xbfa;b\rx;1.5\ry;2.5\r",
        b"a,b\nx,1.5\r\ny,2.5\r",
        b"\n\na,b\nx,1.5\n\ny,2.5",
        b"a,b,\nx,1.5,\ny,2.5,\n",  # as spreadsheets write columns without cells
        b",a,b\n0,x,1.5\n1,y,2.5\n",  # as pandas writes an index
        b'"","a","b"\n"Mazda",x,1.5\n"Fiat",y,2.5\n',  # as R writes row names
        b'"a" "b"\n"1" "x" 1.5\n"2" "y" 2.5\n',  # as R's write.table does
        b"   a    b\n0  x  1.5\n1  y  2.5\n",  # as pandas prints
        b"a | b\n".replace(b" ", b"") + b"x|1.5\ny|2.5\n",
        f"a;b\nx{long};1.5\ny{long};2.5\n".encode(),
    ):
        (tmp_path / "t.txt").write_bytes(text)
        table = tr.read(tmp_path / "t.txt")
        assert table.schema.names == ("a", "b"), text[:40]
        assert table.values.tolist() == expected, text[:40]


def test_one_column_of_text_is_not_cut_at_its_blanks(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("full name\nAda Lovelace\nAlan Turing\n")
    assert tr.read(tmp_path / "t.txt").schema.names == ("full name",)


def test_rows_above_the_header_are_skipped_where_they_are(tmp_path: Path) -> None:
    book = workbook(["A title", None], [None, None], ["a", "b"], [1.5, "x"], [2.5, "y"])
    (tmp_path / "t.xlsx").write_bytes(book)
    (tmp_path / "t.csv").write_text("A title, and more, of it\n\na,b\n1.5,x\n2.5,y\n3\n")
    for skip in (1, 2):
        assert tr.read(tmp_path / "t.xlsx", skip=skip).schema.names == ("a", "b")
    with pytest.raises(ValueError, match=r"t\.csv, line 6: 1 cells instead of 2"):
        tr.read(tmp_path / "t.csv", skip=1)
    with pytest.raises(ValueError, match="the sheet has no cells"):
        tr.read(tmp_path / "t.xlsx", skip=9)


def test_a_file_without_a_header_has_the_names_of_the_schema_or_numbered_ones(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\nx,1.5\ny,2.5\n")
    (tmp_path / "u.csv").write_text("y,2.5\nx,1.5\n")
    schema = tr.read(tmp_path / "t.csv").schema
    assert tr.read(tmp_path / "u.csv", header=False, schema=schema).values.tolist() == [[1, 2.5], [0, 1.5]]
    found = tr.read(tmp_path / "u.csv", header=False)
    assert found.schema.names == ("x0", "x1")
    assert len(found) == 2
    (tmp_path / "u.xlsx").write_bytes(workbook(["y", 2.5], ["x", 1.5]))
    assert tr.read(tmp_path / "u.xlsx", header=False).schema == found.schema


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "5.1,setosa\n4.9,b\n",
            "the columns are called 5.1, setosa; if these are cells, say that the file has no",
        ),
        ("5,3\n2,1\n", "the columns are called 5, 3; if these are cells, say that the file has no header"),
        ("2019,2020,2021\n1,2,3\n", ""),
        ("0,1\n2,3\n", ""),
        ("a,b\n1,2\n", ""),
        ("a  b\n1  2\n3\n", "one column is called 'a b'; if it is several columns, specify their separator"),
        ("a~b\n1~2\n3\n", ""),
    ],
)
def test_names_that_seem_to_be_something_else_are_told(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tr.read(tmp_path / "t.csv")
    assert [words in str(one.message) for one in told] == [True] * bool(words)
