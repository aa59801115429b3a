import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tractable.data import Schema, Table, TableWarning, Variable, clinic, discrete_schema, read, to_frame


def write(path: Path, text: str) -> Path:
    raw = text.encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def rows(table: Table) -> list[tuple[object, ...]]:
    frame: pd.DataFrame = to_frame(table, like="pandas").astype(object)
    return [tuple(row) for row in frame.where(frame.notna(), None).to_numpy()]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_csv_file_has_named_columns_and_typed_states(tmp_path: Path, name: str) -> None:
    table = read(write(tmp_path / name, "a,b,c,d,e\nyes ,1,true,0.5,2020-01-01\n1.0,2,false,,2021-01-01\n"))
    assert table.schema.names == ("a", "b", "c", "d", "e")
    assert [v.states for v in table.schema] == [
        ("1.0", "yes "),
        (1, 2),
        (False, True),
        (),
        (),
    ]
    assert [v.kind for v in table.schema] == ["categorical"] * 3 + ["real", "date"]


@pytest.mark.parametrize("mark", ["", "NaN", "nan", "NA", "None", "null", "*", "?"])
def test_missing_cells_of_a_csv_file_have_many_names(tmp_path: Path, mark: str) -> None:
    table = read(write(tmp_path / "t.csv", f"a,b\nx,1\n{mark},{mark}\n"))
    assert table.missing.tolist() == [[False, False], [True, True]]


def test_a_missing_mark_in_quotes_is_text(tmp_path: Path) -> None:
    assert rows(read(write(tmp_path / "t.csv", 'a,b\n"NA",1\n"x, y",2\n'))) == [("NA", 1), ("x, y", 2)]


def test_an_empty_line_of_a_csv_file_is_skipped_unless_there_is_one_column(tmp_path: Path) -> None:
    assert len(read(write(tmp_path / "t.csv", "a,b\n1,2\n\n1,3\n"))) == 2
    assert rows(read(write(tmp_path / "t.csv", "a\n1\n\n2\n"))) == [(1,), (None,), (2,)]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    assert read(write(tmp_path / "t.csv", "\ufeffé,b\n1,2\n")).schema.names == ("é", "b")


def test_a_csv_file_under_a_schema_keeps_text_that_looks_like_numbers(tmp_path: Path) -> None:
    schema = Schema((Variable("a", "categorical", ("0", "1.0")), Variable("b", "real")))
    table = read(write(tmp_path / "t.csv", "b,a\n1,1.0\n2,0\n"), schema=schema)
    assert table.values.tolist() == [[1, 1], [0, 2]]


def test_a_column_of_a_csv_file_may_hold_weights(tmp_path: Path) -> None:
    table = read(write(tmp_path / "t.csv", "a,w\nx,0\ny,2.5\n"), weight="w")
    assert (table.schema.names, table.row_weights.tolist()) == (("a",), [0, 2.5])


def test_extra_and_absent_columns_are_as_in_a_frame(tmp_path: Path) -> None:
    schema = discrete_schema([2, 2])
    file = write(tmp_path / "t.csv", "x0,z\n1,5\n")
    with pytest.raises(ValueError, match=r"t\.csv: column 'x1' is missing"):
        read(file, schema=schema, absent="error")
    with pytest.warns(TableWarning, match="'x1' is missing from the table: it is summed out"):
        np.testing.assert_array_equal(read(file, schema=schema, extra="ignore").values, [[1, np.nan]])


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_a_written_table_is_read_back(tmp_path: Path, name: str) -> None:
    table = clinic(200, missing=0.2)
    frame: pd.DataFrame = to_frame(table, like="pandas")
    frame.to_parquet(tmp_path / name) if name == "t.parquet" else frame.to_csv(tmp_path / name, index=False)
    # "none" is a state of `cough` and no missing cell
    np.testing.assert_array_equal(read(tmp_path / name, schema=table.schema).values, table.values)


@pytest.mark.parametrize("name", ["t.data", "t.data.gz"])
def test_a_data_file_holds_numbered_states(tmp_path: Path, name: str) -> None:
    table = read(write(tmp_path / name, "0,1,2\n*,?,0\r\n\n0, 12 ,1"))
    np.testing.assert_array_equal(table.values, [[0, 1, 2], [np.nan, np.nan, 0], [0, 12, 1]])
    assert table.schema == discrete_schema([2, 13, 3])
    assert table.weights is None


def test_a_data_file_may_start_its_lines_with_weights(tmp_path: Path) -> None:
    table = read(write(tmp_path / "t.data", "0.5|0,1\n\n2e1|1,*\n"))
    assert table.row_weights.tolist() == [0.5, 20]
    np.testing.assert_array_equal(table.values, [[0, 1], [1, np.nan]])


def test_a_data_file_holds_states_or_their_numbers_where_states_are_words(tmp_path: Path) -> None:
    schema = Schema((Variable("a", "categorical", ("no", "yes")), Variable("b", "categorical", (1, 2))))
    assert read(write(tmp_path / "t.data", "0,1\n1,2\n"), schema=schema).values.tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("t.csv", "", "first line has no column names"),
        ("t.csv", "a,b\n", "no rows"),
        ("t.csv", "a,b\n1,2\n\n1\n", "line 4: 1 cells instead of 2"),
        ("t.csv", "a,b\n1,2\n1,2,3\n", "line 3: 3 cells instead of 2"),
        ("t.csv", "a,a\n1,2\n", "two columns are called 'a'"),
        ("t.csv", ",a\n1,2\n1,3\n", "column 1 has no name"),
        ("t.csv", "a,\n1,2\n", "column 2 has no name"),
        ("t.csv", "a,b\n1,\n2,\n", "column 'b' has no value in any row"),
        ("t.csv", "a\n1.5\ninf\n", "column 'a', row 1: inf"),
        ("t.data", "", "no rows"),
        ("t.data", "\n \n", "no rows"),
        ("t.data", "0,1\n0\n", "line 2: 1 cells instead of 2"),
        ("t.data", "0,1\n\n0,1,1\n", "line 3: 3 cells instead of 2"),
        ("t.data", "0,1\n0,x\n", "line 2, column 2: 'x' is not a whole number"),
        ("t.data", "0,1\n0,-1\n", "line 2, column 2: '-1' is not"),
        ("t.data", "0,1.5\n", "line 1, column 2: '1.5' is not"),
        ("t.data", "0,1 2\n", "line 1, column 2: '1 2' is not"),
        ("t.data", "0,,1\n", "line 1, column 2: '' is not"),
        ("t.data", "0,1,\n", "line 1, column 3: '' is not"),
        ("t.data", "0,123456789\n", "column 2: 1.23457e.08 is too large"),
        ("t.data", "1|0,1\n0,1\n", "line 2: no weight"),
        ("t.data", "1|0,1\nx|0,1\n", "line 2: the weight 'x'"),
        ("t.data", "1|0,1\nnan|0,1\n", "weight of row 1 is nan"),
        ("t.doc", "", r"not a table in a known format \(suffixes: .csv"),
        ("t.xlsx", "", "t.xlsx: the file is empty"),
        ("t.parquet", "x", "t.parquet: .*Parquet"),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_one_line(
    tmp_path: Path, name: str, text: str, fault: str
) -> None:
    with pytest.raises(ValueError, match=fault) as caught:
        read(write(tmp_path / name, text))
    assert "\n" not in str(caught.value)


def test_an_absent_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no file 'nowhere\.csv'"):
        read("nowhere.csv")
    (tmp_path / "t.data.gz").write_bytes(b"0,1")
    with pytest.raises(ValueError, match=r"t\.data\.gz: Not a gzipped file"):
        read(tmp_path / "t.data.gz")
    (tmp_path / "t.csv").write_bytes("a,b\n1,éü\n".encode() + b"2,\xff\n")
    with pytest.raises(ValueError, match=r"t\.csv: .*UTF-8"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("0\n", "the file has 1 columns, but the schema has 2"),
        ("0,1\n2,1\n", "row 1: column 'a' has 2 states, so 2 is not a state number"),
        ("0,1\n0,3\n", "row 1: column 'b' has no state 3"),
    ],
)
def test_a_data_file_that_does_not_fit_a_schema_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    schema = Schema((Variable("a", "categorical", ("no", "yes")), Variable("b", "categorical", (1, 2))))
    with pytest.raises(ValueError, match=fault):
        read(write(tmp_path / "t.data", text), schema=schema)


def test_columns_of_a_data_file_cannot_be_chosen_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="have no names"):
        read(write(tmp_path / "t.data", "0,1\n"), weight="w")


def test_a_benchmark_set_is_read_as_numpy_reads_it() -> None:
    shared = Path(os.environ.get("TRACTABLE_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
    file = shared / "binary" / "nltcs.valid.data.gz"
    if not file.exists():
        pytest.skip("the benchmark data are not here: set TRACTABLE_DATA to their folder")
    table = read(file)
    np.testing.assert_array_equal(table.values, np.loadtxt(file, delimiter=","))
    assert table.schema == discrete_schema([2] * 16)
