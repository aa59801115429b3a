"""Files -> `Table`; the suffix says how a file is read.

A new kind of file is one function and one line in `READERS`.
"""

import csv
import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tractable.data.coding import code_column
from tractable.data.convert import Strictness, as_table
from tractable.data.integers import integer_column, plain_schema, read_integers
from tractable.data.schema import Kind, Schema
from tractable.data.table import Table

MISSING = ("", "NaN", "nan", "NA", "N/A", "None", "null", "NULL", "*", "?")  # unquoted cells of a CSV file
_BLOCK = 1 << 26  # a line longer than pyarrow's own block of one megabyte would be refused


def read(
    source: str | Path,
    *,
    schema: Schema | None = None,
    weight: str | None = None,
    kinds: Mapping[str, Kind] | None = None,
    extra: Strictness = "warn",
    absent: Strictness = "warn",
) -> Table:
    """The table in a file: CSV with a header, Parquet, or headerless integers (`.data`); gzipped or not.

    `weight` names the column that says how many rows each row stands for; the rest is as in `as_table`.

    Raises:
        ValueError: if the file cannot be read as a table; the line or the column at fault is named.
    """
    path = Path(source)
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    if not path.is_file():
        raise ValueError(f"there is no file '{path}'")
    if suffix in DATA_SUFFIXES:
        if weight is not None or kinds is not None:
            raise ValueError(f"{path}: the columns of a {suffix} file have no names to choose by")
        return _read_data(path, schema)
    if suffix not in READERS:
        known = ", ".join([*READERS, *DATA_SUFFIXES])
        raise ValueError(f"'{path}' is no table this program reads (suffixes: {known})")
    frame = READERS[suffix](path, schema)
    if not frame.num_rows:
        raise ValueError(f"{path}: the table has no rows")
    try:
        return as_table(frame, schema, weight, kinds=kinds, extra=extra, absent=absent)
    except ValueError as fault:
        raise ValueError(f"{path}: {fault}") from None


def _read_data(path: Path, schema: Schema | None) -> Table:
    content = read_integers(path)
    if not len(content.values):
        raise ValueError(f"{path}: the table has no rows")
    if schema is None:
        return Table(plain_schema(path, content.values), content.values, content.weights)
    if content.values.shape[1] != len(schema):
        raise ValueError(
            f"{path}: the file has {content.values.shape[1]} columns, the schema has {len(schema)}"
        )
    values = np.empty_like(content.values)
    for i, (column, variable) in enumerate(zip(content.values.T, schema, strict=True)):
        try:
            values[:, i] = code_column(integer_column(column, variable), variable)
        except ValueError as fault:
            raise ValueError(f"{path}: {fault}") from None
    return Table(schema, values, content.weights)


def _read_parquet(path: Path, schema: Schema | None) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_table(path)
    except (pa.ArrowException, OSError) as fault:
        raise ValueError(f"{path}: {_first_line(fault)}") from None


def _read_csv(path: Path, schema: Schema | None) -> Any:
    """The file as a pyarrow table; text stays as it was typed, also dates, and `"NA"` in quotes is text."""
    names = _header(path)
    types = _arrow_types(schema, names)
    frame = _parse_csv(path, len(names), types)
    other = {f.name: "string" for f in frame.schema if f.name not in types and not _is_plain(f.type)}
    return _parse_csv(path, len(names), types | other) if other else frame


def _header(path: Path) -> list[str]:
    """The column names, checked."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file), [])
    except (OSError, EOFError, UnicodeDecodeError) as fault:
        raise ValueError(f"{path}: {_first_line(fault)}") from None
    if not names:
        raise ValueError(f"{path}: the first line holds no column names")
    for i, name in enumerate(names):
        if not name:
            raise ValueError(f"{path}: column {i + 1} has no name (the index of a data frame? leave it out)")
        if name in names[:i]:
            raise ValueError(f"{path}: two columns are called '{name}'")
    return names


def _arrow_types(schema: Schema | None, names: list[str]) -> dict[str, str]:
    """Text for columns with text states, so that `1.0` stays `1.0`; the others are left to pyarrow."""
    chosen = [v for v in schema or () if v.name in names]
    return {v.name: "string" for v in chosen if any(isinstance(s, str) for s in v.states)}


def _parse_csv(path: Path, columns: int, types: Mapping[str, str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow

    convert = arrow.ConvertOptions(
        null_values=list(MISSING),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        column_types={name: pa.string() for name in types},
    )
    # an empty line of a one-column file is a missing cell
    parse = arrow.ParseOptions(ignore_empty_lines=columns != 1, newlines_in_values=True)
    try:
        return arrow.read_csv(path, arrow.ReadOptions(block_size=_BLOCK), parse, convert)
    except pa.ArrowException as fault:
        raise ValueError(f"{path}{_ragged_line(path) or f': {_first_line(fault)}'}") from None


def _ragged_line(path: Path) -> str:
    """Which line has too few or too many cells; empty when none has."""
    from pyarrow import csv as arrow

    found: list[Any] = []

    def note(row: Any) -> str:
        if row.text.strip():
            found.append(row)
        return "skip"

    parse = arrow.ParseOptions(ignore_empty_lines=False, newlines_in_values=True, invalid_row_handler=note)
    arrow.read_csv(path, arrow.ReadOptions(block_size=_BLOCK, use_threads=False), parse)
    if not found:
        return ""
    worst = found[0]
    return f", line {worst.number}: {worst.actual_columns} cells instead of {worst.expected_columns}"


def _is_plain(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_null)
    return any(test(kind) for test in tests)


def _first_line(fault: Exception) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]


DATA_SUFFIXES = (".data", ".data.gz")
READERS: dict[str, Callable[[Path, Schema | None], Any]] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".parquet": _read_parquet,
}
