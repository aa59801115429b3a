"""Files of many kinds are read as the same table."""

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

import tractable as tr
from tractable.data import describe_columns, read, read_schema, schema_text
from tractable.data.separators import separator

FRAME = pd.DataFrame({"name": ["Ada", "Bob; jr", "Cy, sr"], "height": [1.75, 1.8, None], "n": [1, 2, 3]})


def text(sep: str, **more: Any) -> str:
    written: str = FRAME.to_csv(sep=sep, index=False, **more)
    return written


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.csv.gz"])
def test_separators_are_found(tmp_path: Path, sep: str, name: str) -> None:
    raw = text(sep).encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    table = read(tmp_path / name)
    assert table.schema.names == ("name", "height", "n")
    assert table.schema[0].states == ("Ada", "Bob; jr", "Cy, sr")
    np.testing.assert_array_equal(table.values[:, 1], FRAME["height"])


def test_decimal_commas_are_read_where_commas_separate_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text(";", decimal=","))
    np.testing.assert_array_equal(read(tmp_path / "t.csv").values[:, 1], FRAME["height"])
    (tmp_path / "t.csv").write_text("a;b\n1.234,5;x\n-2.345.678;y\n")
    assert read(tmp_path / "t.csv").values[:, 0].tolist() == [1234.5, -2345678]
    (tmp_path / "t.tsv").write_text("a\tb\n-1,5e-3\tx,y\n2\t1,2,3\n")
    table = read(tmp_path / "t.tsv")
    assert table.values[:, 0].tolist() == [-0.0015, 2]
    assert table.schema[1].states == ("1,2,3", "x,y")


def test_other_kinds_of_files_hold_the_same_table(tmp_path: Path) -> None:
    feather.write_feather(pa.Table.from_pandas(FRAME), tmp_path / "t.feather")
    feather.write_feather(pa.Table.from_pandas(FRAME), tmp_path / "t.arrow", compression="uncompressed")
    FRAME.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    FRAME.to_json(tmp_path / "t.ndjson.gz", orient="records", lines=True, compression="gzip")
    FRAME.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(text("\t").encode()))
    (tmp_path / "t.csv").write_text(text(","))
    expected = read(tmp_path / "t.csv")
    for file in tmp_path.iterdir():
        found = read(file)
        assert found.schema == expected.schema, file
        np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("form", ["csv", "parquet", "feather", "jsonl"])
def test_standard_input_is_recognised(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    if form == "csv":
        buffer.write(text(";").encode())
    elif form == "parquet":
        FRAME.to_parquet(buffer)
    elif form == "feather":
        feather.write_feather(pa.Table.from_pandas(FRAME), buffer)
    else:
        buffer.write(FRAME.to_json(orient="records", lines=True).encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(buffer.getvalue())))
    assert read("-").schema.names == ("name", "height", "n")


def test_a_damaged_file_is_named_in_one_line(tmp_path: Path) -> None:
    for name in ("t.feather", "t.jsonl", "t.csv.gz"):
        (tmp_path / name).write_bytes(b'{"a": \x1f\x8b')
        with pytest.raises(ValueError, match=name.replace(".", r"\.")) as caught:
            read(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_a_file_of_one_column_may_hold_anything_but_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("word\na b\nc\n")
    assert read(tmp_path / "t.csv").schema.names == ("word",)
    (tmp_path / "t.csv").write_text("a;b\n1;2\n3;4\n")
    with pytest.warns(tr.TableWarning, match="one column is called 'a;b'"):
        read(tmp_path / "t.csv", sep=",")


def test_the_separator_is_that_of_all_lines_and_not_of_the_first() -> None:
    assert separator(["a,b\n", "1,x;y;z\n", "2,u;v;w\n"]) == ","
    assert separator(['"a,x";b\n', '"1,2";3\n']) == ";"
    assert separator([]) == ","


def test_columns_are_dropped_and_kinds_chosen(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text(","))
    table = read(tmp_path / "t.csv", drop=["name"], kinds={"n": "count"}, na="1.75")
    assert [(v.name, v.kind) for v in table.schema] == [("height", "real"), ("n", "count")]
    assert table.missing[:, 0].tolist() == [True, False, True]
    with pytest.raises(ValueError, match="there is no column 'nome' to leave out"):
        read(tmp_path / "t.csv", drop="nome")
    with pytest.raises(
        ValueError, match="column 'n' cannot be real: its kind in the model or the schema is count"
    ):
        read(tmp_path / "t.csv", schema=table.schema, kinds={"n": "real"})


def test_a_schema_is_written_edited_and_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text(","))
    table = read(tmp_path / "t.csv")
    place = tmp_path / "s.json"
    place.write_text(schema_text(describe_columns(table)))
    assert read_schema(place) == table.schema
    place.write_text(place.read_text().replace('"ordinal"', '"integer"'))
    edited = read(tmp_path / "t.csv", schema=place)
    assert edited.schema[2].kind == "integer"
    assert edited.values[:, 2].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{", "not well formed"),
        ("{}", "no list of columns"),
        ('[{"kind": "real"}]', "column 1 has no name"),
        ('[{"name": "a", "kind": "fuzzy"}]', "column 'a' cannot be 'fuzzy'"),
        ('[{"name": "a", "kind": "categorical", "states": "x"}]', "states of column 'a'"),
        ('[{"name": "a", "kind": "categorical"}]', "column 'a' is categorical and has no states"),
    ],
)
def test_a_schema_file_that_is_wrong_is_refused(tmp_path: Path, content: str, fault: str) -> None:
    (tmp_path / "s.json").write_text(content)
    with pytest.raises(ValueError, match=fault):
        read_schema(tmp_path / "s.json")
