"""Files -> `Table`; the suffix says how a file is read.

A new kind of file is one function and one line in `READERS`.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tractable.data.coding import code_column
from tractable.data.convert import Names, Strictness, Unseen, as_table, names_of
from tractable.data.delimited import read_delimited
from tractable.data.frame import require_names
from tractable.data.grid import table_with_grid
from tractable.data.integers import integer_column, plain_schema, read_integers
from tractable.data.marks import Na, read_marks
from tractable.data.parts import date_parts
from tractable.data.schema import Kind, Schema, label_text
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
    numbers: frozenset[str] = frozenset()  # columns that hold numbers and no codes such as 007
    drop: frozenset[str] = frozenset()  # columns that will be left out


def read(  # noqa: PLR0913 - what can be said about a file
    source: str | Path | Source,
    *,
    schema: Schema | str | Path | None = None,
    weight: str | None = None,
    kinds: Mapping[Hashable, Kind] | None = None,
    drop: Names = (),
    text: Names = (),
    sep: str | None = None,
    na: Na = (),
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
    column that says how many rows each row stands for. `drop` names columns to leave out, `text` columns that
    are text, whatever their cells look like, `sep` the separator of text where it is not found, and `na` more
    marks of missing cells. `parts` adds parts of dates as columns, such as `{"when": ("month", "weekday")}`.
    The first columns are the pixels of images of `grid` (height, width), row by row. The rest is as in
    `as_table`.

    Raises:
        ValueError: if the file cannot be read as a table; the line or the column at fault is named.
    """
    found = find_source(source)
    known = read_schema(schema) if isinstance(schema, str | Path) else schema
    if found.suffix == DATA_SUFFIX:
        if weight is not None or kinds is not None or names_of(drop) or names_of(text) or parts:
            raise ValueError(f"{found}: the columns of a .data file have no names to choose by")
        return _placed(_read_data(found.path, known, unseen), grid)
    frame = read_frame(
        found, schema=known, weight=weight, kinds=kinds, drop=drop, text=text, sep=sep, na=na, parts=parts
    )
    left = set(frame.column_names)
    try:
        table = as_table(
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
        return _placed(table, grid)
    except ValueError as fault:
        raise ValueError(f"{found}: {fault}") from None


def read_frame(  # noqa: PLR0913 - as `read`
    source: str | Path | Source,
    *,
    schema: Schema | None = None,
    weight: str | None = None,
    kinds: Mapping[Hashable, Kind] | None = None,
    drop: Names = (),
    text: Names = (),
    sep: str | None = None,
    na: Na = (),
    parts: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """The columns of a file as a table of arrow, before they are coded; all else is as in `read`.

    Columns in `drop` are left out, but for those of which parts are taken.

    Raises:
        ValueError: if the file cannot be read, or a column to leave out, or to be text, is not there.
    """
    found = find_source(source)
    if found.suffix not in READERS:
        suffixes = ", ".join([*READERS, DATA_SUFFIX])
        packed = ": unpack it first, or pack it as .gz" if found.suffix in PACKED else ""
        raise ValueError(f"'{found}' is no table this program reads{packed} (suffixes: {suffixes})")
    numbers = _number_columns(schema, kinds, weight)
    texts = _text_columns(schema) | names_of(text)
    marks = tuple(sorted(read_marks(na).texts))
    frame = READERS[found.suffix](found, Layout(sep, marks, texts, numbers - texts, names_of(drop)))
    if not frame.num_rows:
        raise ValueError(f"{found}: the table has no rows")
    return _named(found, _chosen_columns, frame, names_of(drop), names_of(text), parts or {}, schema is None)


def _chosen_columns(
    frame: Any, drop: frozenset[str], text: frozenset[str], parts: Mapping[str, Sequence[str]], strict: bool
) -> Any:
    """The frame with parts of dates and without columns to leave out; if strict, all names must be there."""
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
    """Columns with text states, whose cells are read as text, so that `1.0` stays `1.0`."""
    return frozenset(v.name for v in schema or () if v.has_text_states)


def _number_columns(
    schema: Schema | None, kinds: Mapping[Hashable, Kind] | None, weight: str | None
) -> frozenset[str]:
    """Columns that are known to hold numbers, so that none of their cells is a code."""
    known = {v.name for v in schema or () if not v.has_text_states and not v.is_time}
    chosen = {
        label_text(name) for name, kind in (kinds or {}).items() if kind in ("real", "integer", "count")
    }
    return frozenset(known | chosen | ({weight} if weight else set()))


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


def _named(path: Path | Source, make: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """What a function returns; the file is named in its complaint."""
    try:
        return make(*arguments, **options)
    except ValueError as fault:
        raise ValueError(f"{path}: {fault}") from None


def _read_text(source: Source, layout: Layout) -> Any:
    return _delimited(source, layout, layout.sep)


def _read_tabs(source: Source, layout: Layout) -> Any:
    return _delimited(source, layout, layout.sep or "\t")


def _delimited(source: Source, layout: Layout, sep: str | None) -> Any:
    return read_delimited(source, layout.texts, sep, layout.na, layout.numbers, layout.drop)


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
