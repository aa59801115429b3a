"""Readers of table files, which are selected by the suffix.

To add a format: one function and one line in `READERS`.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tractable.data.arrow_files import read_arrow, read_parquet
from tractable.data.coding import code_column
from tractable.data.convert import Names, Strictness, Unseen, as_table, names_of
from tractable.data.databases import read_duckdb, read_sqlite
from tractable.data.delimited import read_delimited
from tractable.data.excel import read_sheet
from tractable.data.frame import require_names
from tractable.data.grid import table_with_grid
from tractable.data.integers import integer_column, plain_schema, read_integers
from tractable.data.json_tables import read_json, read_json_lines
from tractable.data.layout import Layout
from tractable.data.missing import Na, read_marks, without_marks
from tractable.data.numerals import find_decimal, with_numerals
from tractable.data.packing import DUCKDB, SQLITE, UNKNOWN_PACKED, WORKBOOK, content_of
from tractable.data.parts import date_parts
from tractable.data.schema import Kind, Schema, label_text
from tractable.data.schema_files import read_schema
from tractable.data.source import Source, find_source
from tractable.data.table import Table

T = TypeVar("T")


def read(  # noqa: PLR0913 - what can be said about a file
    source: str | Path | Source,
    *,
    schema: Schema | str | Path | None = None,
    weight: str | None = None,
    kinds: Mapping[Hashable, Kind] | None = None,
    drop: Names = (),
    text: Names = (),
    table: str | None = None,
    sep: str | None = None,
    na: Na = (),
    encoding: str | None = None,
    header: bool = True,
    skip: int = 0,
    decimal: str | None = None,
    parts: Mapping[str, Sequence[str]] | None = None,
    extra: Strictness = "warn",
    absent: Strictness = "warn",
    unseen: Unseen = "error",
    grid: Sequence[int] | None = None,
) -> Table:
    """The table in a file; `-` is standard input.

    The suffix determines the format: delimited text (`.csv`, `.tsv`, `.txt`), JSON (`.json`, or one record
    per line: `.jsonl`, `.ndjson`), Parquet, Arrow (`.feather`, `.arrow`), workbooks (`.xlsx`, `.xls`,
    `.ods`), databases of SQLite (`.sqlite`, `.db`) and DuckDB (`.duckdb`), or headerless integers (`.data`).
    Files may be compressed (`.gz`, `.bz2`, `.xz`, `.zst`, `.zip`). `table` is the name of the sheet of a
    workbook, the table of a database or the file in a .zip, if there are several; `clinic.xlsx::Sheet 2` is
    equivalent.

    `schema` is a schema or a schema file as written by `tractable schema`. `weight` is the column with the
    number of rows that each row represents. `drop` are columns to leave out, `text` columns to read as text,
    `sep` the separator of text if it is not detected (a space stands for any run of blanks), `na` additional
    markers of missing cells, and `encoding` that of text which is not UTF-8. With `header=False` the first
    line is a row, and the columns are called x0, x1, ... or as in the schema. `skip` is the number of lines
    or rows above the header. `decimal` is the decimal point of ambiguous columns. `parts` adds parts of dates
    as columns, such as `{"when": ("month", "weekday")}`. The first columns are the pixels of images of `grid`
    (height, width), row by row. Other parameters are those of `as_table`.

    Raises:
        ValueError: if the file cannot be read as a table, naming the line or the column at fault.
    """
    origin = find_source(source, table)
    known = read_schema(schema) if isinstance(schema, str | Path) else schema
    if origin.suffix == DATA_SUFFIX:
        if weight is not None or kinds is not None or names_of(drop) or names_of(text) or parts:
            raise ValueError(f"{origin}: the columns of a .data file have no names")
        return _placed(_read_data(origin, known, unseen), grid)
    frame = read_frame(
        origin,
        schema=known,
        weight=weight,
        kinds=kinds,
        drop=drop,
        text=text,
        sep=sep,
        na=na,
        encoding=encoding,
        header=header,
        skip=skip,
        decimal=decimal,
        parts=parts,
    )
    left = set(frame.column_names)
    try:
        coded = as_table(
            frame,
            known,
            weight,
            kinds=kinds,
            drop=names_of(drop) & left,
            text=names_of(text) & left,
            na=na,
            extra=extra,
            absent=absent,
            unseen=unseen,
        )
        return _placed(coded, grid)
    except ValueError as fault:
        raise ValueError(f"{origin}: {fault}") from None


def read_frame(  # noqa: PLR0913 - as `read`
    source: str | Path | Source,
    *,
    schema: Schema | None = None,
    weight: str | None = None,
    kinds: Mapping[Hashable, Kind] | None = None,
    drop: Names = (),
    text: Names = (),
    table: str | None = None,
    sep: str | None = None,
    na: Na = (),
    encoding: str | None = None,
    header: bool = True,
    skip: int = 0,
    decimal: str | None = None,
    parts: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """The uncoded columns of a file as an arrow table, with the parameters of `read`.

    Columns in `drop` are left out, except those whose parts are extracted.

    Raises:
        ValueError: if the file cannot be read, or a column to drop or to read as text does not exist.
    """
    origin = find_source(source, table)
    texts = _text_columns(schema) | names_of(text)
    chosen = {label_text(name): kind for name, kind in (kinds or {}).items()}
    layout = Layout(
        sep=sep,
        na=tuple(sorted(read_marks(na).texts)),
        texts=texts,
        numbers=_number_columns(schema, chosen, weight) - texts,
        kept=names_of(drop) | {name for name, kind in chosen.items() if kind in STATES},
        only=None if schema is None else frozenset(schema.names) | {weight or ""},
        drop=names_of(drop),
        encoding=encoding,
        header=header,
        names=() if schema is None else schema.names,
        skip=skip,
        decimal=decimal,
    )
    frame = _read_with(layout, origin)
    return _named(origin, _chosen_columns, frame, names_of(drop), names_of(text), parts or {}, schema is None)


def _read_with(layout: Layout, source: Source) -> Any:
    """The table of a source as an arrow table, with numerals as numbers."""
    if source.suffix not in READERS:
        suffixes = ", ".join([*READERS, DATA_SUFFIX])
        packed = ": unpack it first, or pack it as .gz or .zip" if source.suffix in UNKNOWN_PACKED else ""
        raise ValueError(f"'{source}' is not a table in a known format{packed} (suffixes: {suffixes})")
    frame = READERS[source.suffix](source, layout)
    if not frame.num_rows:
        raise ValueError(f"{source}: the table has no rows")
    if layout.na:
        frame = without_marks(frame, layout.na, layout.texts | layout.kept)
    if source.suffix in TEXT:  # whose separator has helped to understand numbers
        return frame
    return _named(source, with_numerals, frame, layout, layout.decimal or find_decimal(frame, layout))


def _chosen_columns(
    frame: Any, drop: frozenset[str], text: frozenset[str], parts: Mapping[str, Sequence[str]], strict: bool
) -> Any:
    """The frame with parts of dates and without dropped columns; if strict, all names must exist."""
    kept = [i for i, name in enumerate(frame.column_names) if name not in drop - set(parts)]
    names = frame.column_names
    frame = frame.select(kept)
    for column, chosen in parts.items():
        frame = date_parts(frame, column, chosen)
    if strict:
        require_names({*names, *frame.column_names}, drop, text)
    return frame


def _placed(table: Table, grid: Sequence[int] | None) -> Table:
    return table if grid is None else table_with_grid(table, grid)


def _text_columns(schema: Schema | None) -> frozenset[str]:
    """The columns with text states, whose cells are read as text, so `1.0` stays `1.0`."""
    return frozenset(v.name for v in schema or () if v.has_text_states)


def _number_columns(schema: Schema | None, kinds: Mapping[str, Kind], weight: str | None) -> frozenset[str]:
    """The columns that are known to be numeric, so none of their cells is a code."""
    known = {v.name for v in schema or () if not v.has_text_states and not v.is_time}
    chosen = {name for name, kind in kinds.items() if kind in NUMBERS}
    return frozenset(known | chosen | ({weight} if weight else set()))


def _read_data(source: Source, schema: Schema | None, unseen: Unseen) -> Table:
    content = read_integers(source)
    if not len(content.values):
        raise ValueError(f"{source}: the table has no rows")
    if schema is None:
        plain = plain_schema(source, content.values)
        return _named(source, Table, plain, content.values, content.weights)
    if content.values.shape[1] != len(schema):
        raise ValueError(
            f"{source}: the file has {content.values.shape[1]} columns, but the schema has {len(schema)}"
        )
    values = np.empty_like(content.values)
    for i, (column, variable) in enumerate(zip(content.values.T, schema, strict=True)):
        cells = _named(source, integer_column, column, variable)
        values[:, i] = _named(source, code_column, cells, variable, lenient=unseen == "missing")
    strange = np.isnan(values) & ~np.isnan(content.values)
    return _named(source, Table, schema, values, content.weights, strange if strange.any() else None)


def _named(source: Source, make: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """The result of a function, whose errors are prefixed with the name of the file."""
    try:
        return make(*arguments, **options)
    except ValueError as fault:
        raise ValueError(f"{source}: {fault}") from None


def _read_tabs(source: Source, layout: Layout) -> Any:
    return read_delimited(source, layout, "\t")


def _read_database(source: Source, layout: Layout) -> Any:
    return (read_duckdb if content_of(source.head()) is DUCKDB else read_sqlite)(source, layout)


DATA_SUFFIX = ".data"
STATES = ("categorical", "ordinal")  # kinds whose cells stay as they were typed
NUMBERS = ("real", "integer", "count")
READERS: dict[str, Callable[[Source, Layout], Any]] = {
    ".csv": read_delimited,
    ".tsv": _read_tabs,
    ".txt": read_delimited,
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".parquet": read_parquet,
    ".feather": read_arrow,
    ".arrow": read_arrow,
    **dict.fromkeys(WORKBOOK.suffixes, read_sheet),
    **dict.fromkeys(SQLITE.suffixes, read_sqlite),
    **dict.fromkeys(DUCKDB.suffixes, read_duckdb),
    ".db": _read_database,
}
TEXT = (".csv", ".tsv", ".txt")
