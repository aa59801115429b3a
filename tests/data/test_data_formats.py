"""A table is the same in files of every format, packed or not, in any encoding."""

import bz2
import codecs
import gzip
import io
import json
import lzma
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xlwt

import tractable as tr
from tractable.data import Table, read
from tractable.data.packing import COMPRESSED
from tractable.data.readers import READERS

FRAME = pd.DataFrame(
    {
        "name": ["Ada", "José", None, "Ödön"] * 6,
        "height": [1.75, None, 1.5, 1.82] * 6,
        "n": range(100, 124),
        "day": pd.date_range("2020-01-01", periods=24),
    }
)
Writer = Callable[[Path], object]


def write_xls(path: Path) -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("people")
    day = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    for i, name in enumerate(FRAME):
        sheet.write(0, i, name)
        for row, cell in enumerate(FRAME[name]):
            if not pd.isna(cell):
                sheet.write(row + 1, i, cell, *([day] if name == "day" else []))
    book.save(str(path))


def write_sheet(path: Path) -> None:
    buffer = io.BytesIO()
    FRAME.to_excel(buffer, index=False, sheet_name="people")
    path.write_bytes(buffer.getvalue())


def write_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        FRAME.to_sql("people", database, index=False)


def write_duckdb(path: Path) -> None:
    with duckdb.connect(str(path)) as database:
        frame = pa.Table.from_pandas(FRAME)
        database.register("given", frame)
        database.execute("CREATE TABLE people AS SELECT * FROM given")


def write_json(path: Path) -> None:
    FRAME.to_json(path, orient="records", date_format="iso", force_ascii=False)


def write_json_lines(path: Path) -> None:
    FRAME.to_json(path, orient="records", lines=True, date_format="iso")


WRITERS: dict[str, Writer] = {
    ".csv": lambda path: FRAME.to_csv(path, index=False),
    ".tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    ".txt": lambda path: FRAME.to_csv(path, index=False, sep=";", decimal=","),
    ".json": write_json,
    ".jsonl": write_json_lines,
    ".ndjson": write_json_lines,
    ".parquet": FRAME.to_parquet,
    ".feather": FRAME.to_feather,
    ".arrow": lambda path: pl.from_pandas(FRAME).write_ipc(path),
    ".xlsx": write_sheet,
    ".xlsm": write_sheet,
    ".xlsb": write_sheet,  # the reader looks at the content
    ".ods": write_sheet,
    ".xls": write_xls,
    ".sqlite": write_sqlite,
    ".sqlite3": write_sqlite,
    ".db": write_sqlite,
    ".db3": write_sqlite,
    ".duckdb": write_duckdb,
    ".ddb": write_duckdb,
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda raw: bytes(pa.compress(raw, codec="zstd", asbytes=True)),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of each format with the same table."""
    place = tmp_path_factory.mktemp("formats")
    for suffix, write in WRITERS.items():
        write(place / f"t{suffix}")
    write_duckdb(place / "duck.db")
    return place


def zipped(path: Path, *members: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("__MACOSX")
        archive.writestr("__MACOSX/._t.csv", b"\0\5\26\7")
        for member in members:
            archive.write(member, f"folder/{member.name}")
    return path


def assert_same(found: Table, expected: Table) -> None:
    assert found.schema == expected.schema
    np.testing.assert_array_equal(found.values, expected.values)


def test_every_format_and_packing_is_tried() -> None:
    assert set(WRITERS) == set(READERS)
    assert set(PACKERS) == set(COMPRESSED)


def test_the_table_is_what_it_is(folder: Path) -> None:
    table = read(folder / "t.csv")
    assert [(v.name, v.kind) for v in table.schema] == [
        ("name", "categorical"),
        ("height", "real"),
        ("n", "integer"),
        ("day", "date"),
    ]
    assert table.schema[0].states == ("Ada", "José", "Ödön")
    assert table.missing.sum(axis=0).tolist() == [6, 6, 0, 0]


@pytest.mark.parametrize("name", [f"t{suffix}" for suffix in WRITERS] + ["duck.db"])
def test_every_format_holds_the_same_table_also_packed(folder: Path, tmp_path: Path, name: str) -> None:
    expected = read(folder / "t.csv")
    assert_same(read(folder / name), expected)
    raw = (folder / name).read_bytes()
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(raw))
    assert_same(read(tmp_path / f"{name}.gz"), expected)
    assert_same(read(zipped(tmp_path / "t.zip", folder / name)), expected)


@pytest.mark.parametrize("suffix", PACKERS)
def test_every_packing_is_undone(folder: Path, tmp_path: Path, suffix: str) -> None:
    packed = PACKERS[suffix]((folder / "t.csv").read_bytes())
    (tmp_path / f"t.csv{suffix}").write_bytes(packed)
    (tmp_path / f"t{suffix}").write_bytes(packed)
    (tmp_path / f"cut.csv{suffix}").write_bytes(packed[: len(packed) // 2])
    (tmp_path / f"no.csv{suffix}").write_bytes(b"a,b\n1,2\n")
    expected = read(folder / "t.csv")
    for name in (f"t.csv{suffix}", f"t{suffix}"):
        assert_same(read(tmp_path / name), expected)
    assert_same(read(zipped(tmp_path / "t.zip", tmp_path / f"t.csv{suffix}")), expected)
    for name in (f"cut.csv{suffix}", f"no.csv{suffix}"):
        with pytest.raises(ValueError, match=name.replace(".", r"\.")) as caught:
            read(tmp_path / name)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.json", "t.xlsx", "t.db", "t.duckdb", "t.zip"])
def test_standard_input_is_recognised_by_its_content(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    raw = (folder / name.removesuffix(".gz")).read_bytes() if name != "t.zip" else b""
    if name == "t.zip":
        raw = zipped(tmp_path / name, folder / "t.tsv").read_bytes()
    if name.endswith(".gz"):
        raw = gzip.compress(raw)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert_same(read("-"), read(folder / "t.csv"))


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252"]
)
@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.json", "t.jsonl"])
def test_encodings_are_found_or_named(folder: Path, tmp_path: Path, encoding: str, name: str) -> None:
    raw = (folder / name).read_text(encoding="utf-8")
    (tmp_path / name).write_bytes(raw.encode(encoding))
    expected = read(folder / "t.csv")
    assert_same(read(tmp_path / name), expected)
    assert_same(read(tmp_path / name, encoding=encoding), expected)


def test_only_a_guess_of_the_encoding_is_warned_about(tmp_path: Path) -> None:
    for encoding, warnings in {"cp1252": 1, "utf-16": 0, "utf-8-sig": 0}.items():
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes("a,b\nx,5 €\ny,6 €\n".encode(encoding))
        with pytest.warns(tr.TableWarning) as told:
            table = read(path)
        assert sum("UTF-8: the file is read as Windows-1252" in str(one.message) for one in told) == warnings
        assert table.values[:, 1].tolist() == [0, 1]
    (tmp_path / "t.csv").write_bytes(b"a,b\nx,\x81\ny,\xe9\n")  # 0x81 is no letter of Windows-1252
    with pytest.warns(tr.TableWarning, match="is read as Latin-1"):
        assert read(tmp_path / "t.csv").schema[1].states == ("\x81", "é")


@pytest.mark.parametrize(
    ("content", "encoding", "fault"),
    [
        (codecs.BOM_UTF16_LE + b"a\0\n\0x", None, "byte 4 is not text in utf-16-le"),
        ("a\né\n".encode(), "ascii", "byte 2 is not text in ascii; specify the encoding"),
        (b"a\nb\n", "klingon", "there is no encoding 'klingon'"),
        (b"a\nb\n", "rot13", "'rot13' is not an encoding of text"),
        (b"a\nb\n", "a\0", "there is no encoding"),
        (b"a,b\n1,\0\n", None, "byte 6 is zero: the file is damaged or is not text"),
        ("a,b\nä,ö\nü,".encode() + b"\xff\n", None, "byte 13 is not valid UTF-8: the file is damaged"),
        (b"a,b\n\xff\xfe\x01\x02,\x07\n", None, "byte 4 is not valid UTF-8: if it is text"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, encoding: str | None, fault: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(ValueError, match=fault) as caught:
        read(tmp_path / "t.csv", encoding=encoding)
    assert "\n" not in str(caught.value)


def test_a_part_of_a_file_is_named_in_the_path_or_beside_it(folder: Path, tmp_path: Path) -> None:
    with pd.ExcelWriter(tmp_path / "b.xlsx") as book:
        FRAME.to_excel(book, index=False, sheet_name="one sheet")
        FRAME[["n"]].to_excel(book, index=False, sheet_name="two")
        pd.DataFrame().to_excel(book, index=False, sheet_name="empty")
    for connect, name in ((sqlite3.connect, "b.db"), (duckdb.connect, "b.duckdb")):
        with closing(connect(str(tmp_path / name))) as database:
            database.execute('CREATE TABLE "one sheet" (a INTEGER, "b c" TEXT)')
            database.execute("""INSERT INTO "one sheet" VALUES (1, 'x'), (2, 'y')""")
            database.execute('CREATE VIEW two AS SELECT a FROM "one sheet"')
            database.commit()
    zipped(tmp_path / "b.zip", folder / "t.csv", tmp_path / "b.xlsx")
    for name in ("b.xlsx", "b.db", "b.duckdb"):
        two = read(f"{tmp_path / name}::two")
        assert len(two.schema) == 1
        assert_same(read(tmp_path / name, table="two"), two)
        assert len(read(tmp_path / name, table="one sheet").schema) > 1
        for missing in ("three", 'a"; DROP TABLE two; --'):
            with pytest.raises(ValueError, match=r"there is no (sheet|table) '.*' in it, only '.*two'"):
                read(tmp_path / name, table=missing)
        with pytest.raises(
            ValueError, match=r"there are 2 (sheet|table)s in it \('one sheet', 'two'\): name one"
        ):
            read(tmp_path / name)
    assert_same(read(f"{tmp_path / 'b.zip'}::folder/t.csv"), read(folder / "t.csv"))
    assert_same(read(f"{tmp_path / 'b.zip'}::folder/b.xlsx::two"), read(tmp_path / "b.xlsx", table="two"))
    with pytest.raises(
        ValueError, match=r"there are 2 files in it \('folder/t.csv', 'folder/b.xlsx'\): name one"
    ):
        read(tmp_path / "b.zip")
    with pytest.raises(ValueError, match="there is no file 'x' in it"):
        read(tmp_path / "b.zip", table="x")
    with pytest.raises(ValueError, match=r"a \.csv file has no tables to choose 'x' from"):
        read(f"{folder / 't.csv'}::x")
    (tmp_path / "odd::name.csv").write_text("a\n1\n2\n")
    assert read(tmp_path / "odd::name.csv").schema.names == ("a",)


@pytest.mark.parametrize("orient", ["records", "columns", "index", "split", "table", "values"])
def test_json_is_read_as_pandas_writes_it(folder: Path, tmp_path: Path, orient: str) -> None:
    frame = FRAME[["name", "height", "n"]]
    frame.to_json(tmp_path / "t.json", orient=orient)  # type: ignore[call-overload]
    expected = read(folder / "t.csv", drop="day")
    found = read(tmp_path / "t.json", drop=["index"] if orient == "table" else [])
    if orient == "values":
        assert found.schema.names == ("x0", "x1", "x2")
        np.testing.assert_array_equal(found.values, expected.values)
    else:
        assert_same(found, expected)


def test_json_may_hold_columns_and_records_with_holes(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"a": [1, null, 2.5], "b": ["x", "NA", null]}')
    table = read(tmp_path / "t.json")
    assert table.schema[1].states == ("NA", "x")  # JSON has a word of its own for missing cells
    assert table.missing.tolist() == [[False, False], [True, False], [False, True]]
    (tmp_path / "u.json").write_text('[{"a": 1}, {"b": "x", "a": NaN}, {"a": 2.5, "b": "NA"}]')
    found = read(tmp_path / "u.json", schema=table.schema)
    np.testing.assert_array_equal(found.values, [[1, np.nan], [np.nan, 1], [2.5, 0]])
    (tmp_path / "v.json").write_text('{"a": 1, "b": "x"}\n{"a": "none", "b": "y"}\n')
    assert read(tmp_path / "v.json").schema[0].states == ("1", "none")
    assert read(tmp_path / "v.json", na="none").schema[0].states == (1,)


def test_a_missing_extra_is_told_with_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, suffix, extra in (("python_calamine", ".xlsx", "excel"), ("duckdb", ".duckdb", "duckdb")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ValueError, match=rf"pip install 'tractable\[{extra}\]'"):
            read(folder / f"t{suffix}")


def test_reading_a_csv_file_imports_no_reader_of_another_format(folder: Path) -> None:
    code = (
        "import sys, json, tractable as tr\n"
        f"tr.read({str(folder / 't.csv')!r})\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert not {"python_calamine", "duckdb", "sqlite3", "openpyxl", "polars"} & set(loaded)


@pytest.mark.parametrize("name", ["items", "price"])  # of the table, and of a column
def test_a_database_whose_names_are_not_utf_8_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    place = tmp_path / "damaged.sqlite"
    with closing(sqlite3.connect(place)) as database:
        database.execute("CREATE TABLE items (price REAL)")
        database.execute("INSERT INTO items VALUES (1.5)")
        database.commit()
    place.write_bytes(place.read_bytes().replace(name.encode(), b"\xee" + name.encode()[1:]))
    with pytest.raises(ValueError, match=r"damaged\.sqlite.*") as told:
        read(place)
    assert "codec" not in str(told.value)
    assert "\n" not in str(told.value)
