"""Files -> `Table`; the suffix says how a file is read.

A new kind of file is one function and one line in `READERS`.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tractable.data.coding import code_column
from tractable.data.convert import Strictness, Unseen, as_table
from tractable.data.delimited import read_delimited
from tractable.data.grid import table_with_grid
from tractable.data.integers import integer_column, plain_schema, read_integers
from tractable.data.parts import date_parts
from tractable.data.schema import Kind, Schema
from tractable.data.schema_files import read_schema
from tractable.data.source import Source, find_source
from tractable.data.table import Table

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the text of a file is laid out, where it does not show by itself."""

    sep: str | None = None  # between cells
    na: tuple[str, ...] = ()  # marks of missing cells, beside the usual ones
    texts: frozenset[str] = frozenset()  # columns that stay as they were typed


def read(  # noqa: PLR0913 - what can be said about a file
    source: str | Path,
    *,
    schema: Schema | str | Path | None = None,
    weight: str | None = None,
    kinds: Mapping[Hashable, Kind] | None = None,
    drop: str | Iterable[str] = (),
    sep: str | None = None,
    na: str | Sequence[str] = (),
    parts: Mapping[str, Sequence[str]] | None = None,
    extra: Strictness = "warn",
    absent: Strictness = "warn",
    unseen: Unseen = "error",
    grid: Sequence[int] | None = None,
) -> Table:
    """The table in a file; `-` is standard input.

    The suffix says what it holds: delimited text with a header (`.csv`, `.tsv`, `.txt`), JSON lines
    (`.jsonl`, `.ndjson`), Parquet, Arrow (`.feather`, `.arrow`), or headerless integers (`.data`); text may
    be gzipped. `schema` is a schema or the file of one, which `tractable schema` writes. `weight` names the
    column that says how many rows each row stands for. `drop` names columns to leave out, `sep` the separator
    of text where it is not found, and `na` more marks of missing cells. `parts` adds parts of dates as
    columns, such as `{"when": ("month", "weekday")}`. The first columns are the pixels of images of `grid`
    (height, width), row by row. The rest is as in `as_table`.

    Raises:
        ValueError: if the file cannot be read as a table; the line or the column at fault is named.
    """
    found = find_source(source)
    known = read_schema(schema) if isinstance(schema, str | Path) else schema
    if found.suffix == DATA_SUFFIX:
        if weight is not None or kinds is not None or drop or parts:
            raise ValueError(f"{found}: the columns of a .data file have no names to choose by")
        return _placed(_read_data(found.path, known, unseen), grid)
    if found.suffix not in READERS:
        suffixes = ", ".join([*READERS, DATA_SUFFIX])
        packed = ": unpack it first, or pack it as .gz" if found.suffix in PACKED else ""
        raise ValueError(f"'{found}' is no table this program reads{packed} (suffixes: {suffixes})")
    marks = (na,) if isinstance(na, str) else tuple(na)
    frame = READERS[found.suffix](found, Layout(sep, marks, _text_columns(known)))
    if not frame.num_rows:
        raise ValueError(f"{found}: the table has no rows")
    try:
        for column, chosen in (parts or {}).items():
            frame = date_parts(frame, column, chosen)
        dropped = [drop] if isinstance(drop, str) else list(drop)
        table = as_table(
            frame,
            known,
            weight,
            kinds=kinds,
            drop=dropped if known is not None else _checked(dropped, frame),
            extra=extra,
            absent=absent,
            unseen=unseen,
        )
        return _placed(table, grid)
    except ValueError as fault:
        raise ValueError(f"{found}: {fault}") from None


def _placed(table: Table, grid: Sequence[int] | None) -> Table:
    return table if grid is None else table_with_grid(table, grid)


def _checked(drop: list[str], frame: Any) -> list[str]:
    for name in drop:
        if name not in frame.column_names:
            raise ValueError(f"there is no column '{name}' to leave out")
    return drop


def _text_columns(schema: Schema | None) -> frozenset[str]:
    """Columns with text states, whose cells are read as text, so that `1.0` stays `1.0`."""
    return frozenset(v.name for v in schema or () if v.has_text_states)


def _read_data(path: Path, schema: Schema | None, unseen: Unseen) -> Table:
    content = read_integers(path)
    if not len(content.values):
        raise ValueError(f"{path}: the table has no rows")
    if schema is None:
        return _named(path, Table, plain_schema(path, content.values), content.values, content.weights)
    if content.values.shape[1] != len(schema):
        raise ValueError(
            f"{path}: the file has {content.values.shape[1]} columns, the schema has {len(schema)}"
        )
    values = np.empty_like(content.values)
    for i, (column, variable) in enumerate(zip(content.values.T, schema, strict=True)):
        cells = _named(path, integer_column, column, variable)
        values[:, i] = _named(path, code_column, cells, variable, lenient=unseen == "missing")
    strange = np.isnan(values) & ~np.isnan(content.values)
    return _named(path, Table, schema, values, content.weights, strange if strange.any() else None)


def _named(path: Path, make: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """What a function returns; the file is named in its complaint."""
    try:
        return make(*arguments, **options)
    except ValueError as fault:
        raise ValueError(f"{path}: {fault}") from None


def _read_text(source: Source, layout: Layout) -> Any:
    return read_delimited(source, layout.texts, layout.sep, layout.na)


def _read_tabs(source: Source, layout: Layout) -> Any:
    return read_delimited(source, layout.texts, layout.sep or "\t", layout.na)


def _read_parquet(source: Source, layout: Layout) -> Any:
    from pyarrow import parquet

    # `parquet.read_table` would import pandas, which takes longer than most files
    return _guarded(source, lambda file: parquet.ParquetFile(file).read())


def _read_arrow(source: Source, layout: Layout) -> Any:
    from pyarrow import feather

    return _guarded(source, feather.read_table)


def _read_json_lines(source: Source, layout: Layout) -> Any:
    from pyarrow import json

    return _guarded(source, json.read_json)


def _guarded(source: Source, reader: Callable[[Any], Any]) -> Any:
    """What a reader of pyarrow makes of a file; its faults in one line."""
    import pyarrow as pa

    try:
        frame = reader(source.open())
        frame.validate(full=True)  # pyarrow trusts what a damaged file says of itself, and crashes
        frame.column_names  # noqa: B018 - which are decoded here
        return frame
    except UnicodeDecodeError:
        raise ValueError(f"{source}: a column's name is no text in UTF-8") from None
    except (pa.ArrowException, OSError) as fault:
        words = (str(fault).splitlines() or [type(fault).__name__])[0]
        raise ValueError(f"{source}: {words}") from None


DATA_SUFFIX = ".data"
PACKED = (".bz2", ".xz", ".zst", ".zip", ".7z", ".lz4", ".lzma", ".tar", ".tgz")
READERS: dict[str, Callable[[Source, Layout], Any]] = {
    ".csv": _read_text,
    ".tsv": _read_tabs,
    ".txt": _read_text,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
    ".feather": _read_arrow,
    ".arrow": _read_arrow,
}
