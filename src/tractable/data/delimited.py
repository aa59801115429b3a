"""Delimited text: detection of separators and parsing of cells.

Unquoted cells that are one of `MISSING` are missing in every column. Those of `WEAK_MISSING` may be
categories, so they are missing only if all other cells of their column are numbers or dates. A column that
contains a code, such as `007`, is text (`codes.py`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from typing import Any

from tractable.data.codes import code_columns, has_long_numbers, may_have_codes
from tractable.data.column_names import read_names, with_real_names
from tractable.data.layout import Layout
from tractable.data.missing import WEAK_MISSING, text_array, typed
from tractable.data.numerals import find_decimal, read_numeral, with_numerals
from tractable.data.separators import BLANK, check_separator, separator, with_single_blanks
from tractable.data.source import Source
from tractable.data.text import Text, read_text

MISSING = (*("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "None", "null", "NULL", "*", "?"),)
_BLOCK = 1 << 26  # a line longer than pyarrow's own block of one megabyte would be refused
_LARGEST_BLOCK = 1 << 30


def read_delimited(source: Source, layout: Layout, sep: str | None = None) -> Any:
    """The file as a pyarrow table. Columns to be read as text keep their spelling, including quoted `"NA"`.

    Raises:
        ValueError: naming the line at fault.
    """
    text = read_text(source, layout)
    sep = layout.sep or sep
    sep = separator(text.lines()) if sep is None else check_separator(sep)
    if sep == BLANK:
        text = Text(text.name, with_single_blanks(text.content), text.above)
    names = read_names(text, sep, layout)
    types = dict.fromkeys(layout.texts, "string")
    frame = _parse(text, sep, layout, names, types)
    other = {f.name: "string" for f in frame.schema if f.name not in types and not _is_known(f.type)}
    if other:
        frame = _parse(text, sep, layout, names, types | other)
    for i, field in enumerate(frame.schema):
        if field.type == "string" and field.name not in types:
            frame = frame.set_column(i, field.name, _without_weak_marks(frame.column(i), layout.na))
    frame = _keep_codes(frame, text, sep, layout)
    decimal = layout.decimal or find_decimal(frame, layout)
    if decimal == ",":
        frame = _with_pointed_texts(frame, lambda texts: _parse(text, sep, layout, names, texts), layout)
    try:
        frame = with_numerals(frame, layout, decimal, sep)
    except ValueError as fault:
        raise ValueError(f"{source}: {fault}") from None
    return with_real_names(text, frame, layout.drop)


def _with_pointed_texts(frame: Any, parse: Callable[[Mapping[str, str]], Any], layout: Layout) -> Any:
    """The table in which columns such as 1.234 are text if other columns have decimal commas."""
    doubles = [f.name for f in frame.schema if f.type == "double" and layout.may_be_numbers(f.name)]
    if doubles:
        typed = parse(dict.fromkeys(doubles, "string"))
        for name in doubles:
            numeral = read_numeral(typed.column(name))
            if numeral is not None and "," in numeral.readings:
                frame = frame.set_column(frame.column_names.index(name), name, typed.column(name))
    return frame


def _parse(text: Text, sep: str, layout: Layout, names: list[str], types: Iterable[str]) -> Any:
    """The cells of a text; the types of columns that are not text are inferred by pyarrow."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    for block in (_BLOCK, _LARGEST_BLOCK):
        try:
            options = _options(sep, layout, names, types, block=block)
            return arrow.read_csv(pa.BufferReader(text.content), *options)
        except pa.ArrowException as fault:
            if "straddl" not in str(fault) or block > _BLOCK:
                words = _ragged_line(text, sep, names) or f": {_first_line(fault)}"
                raise ValueError(f"{text.name}{words}") from None
    raise AssertionError


def _options(
    sep: str,
    layout: Layout,
    names: list[str],
    texts: Iterable[str],
    only: Sequence[str] = (),
    block: int = _BLOCK,
) -> tuple[Any, Any, Any]:
    """The options of pyarrow for reading all or some columns, some of them as text."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    convert = arrow.ConvertOptions(
        null_values=[*MISSING, *layout.na],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        column_types={name: pa.string() for name in texts},
        include_columns=list(only),
    )
    # an empty line of a one-column file is a missing cell
    parse = arrow.ParseOptions(delimiter=sep, ignore_empty_lines=len(names) != 1, newlines_in_values=True)
    above = 1 if layout.header else 0
    reading = arrow.ReadOptions(block_size=block, column_names=names, skip_rows_after_names=above)
    return reading, parse, convert


def _keep_codes(frame: Any, text: Text, sep: str, layout: Layout) -> Any:
    """The frame, in which columns of numbers that contain codes are text."""
    import pyarrow as pa
    from pyarrow import csv as arrow
    from pyarrow import types

    known, all_names = layout.numbers | layout.drop, frame.column_names
    names = [
        field.name
        for field in frame.schema
        if (types.is_integer(field.type) or types.is_floating(field.type)) and field.name not in known
    ]
    if not may_have_codes(BytesIO(text.content), sep):
        names = [name for name in names if has_long_numbers(frame.column(name))]
    if not names:
        return frame
    options = _options(sep, layout, all_names, names, names)
    with arrow.open_csv(pa.BufferReader(text.content), *options) as batches:
        codes = code_columns(batches, names)
    if codes:
        options = _options(sep, layout, all_names, codes, codes)
        texts = arrow.read_csv(pa.BufferReader(text.content), *options)
        for name in codes:
            frame = frame.set_column(all_names.index(name), name, texts.column(name))
    return frame


def _ragged_line(text: Text, sep: str, names: list[str]) -> str:
    """A description of the line with too few or too many cells, or an empty text."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    ragged: list[Any] = []

    def note(row: Any) -> str:
        if row.text.strip():
            ragged.append(row)
        return "skip"

    parse = arrow.ParseOptions(
        delimiter=sep, ignore_empty_lines=False, newlines_in_values=True, invalid_row_handler=note
    )
    reading = arrow.ReadOptions(block_size=_BLOCK, use_threads=False, column_names=names)
    with suppress(pa.ArrowException):  # the first fault has been told already
        arrow.read_csv(pa.BufferReader(text.content), reading, parse)
    if not ragged:
        return ""
    worst = ragged[0]
    line = text.above + worst.number
    return f", line {line}: {worst.actual_columns} cells instead of {worst.expected_columns}"


def _without_weak_marks(texts: Any, na: tuple[str, ...]) -> Any:
    """A column of text as numbers or dates, if all its cells are except for missing markers.

    Requested markers may be quoted, since some programs quote all cells.
    """
    import pyarrow.compute as pc

    marked = pc.is_in(texts, text_array([*WEAK_MISSING, *na]))
    return typed(pc.if_else(marked, None, texts), texts) if pc.any(marked).as_py() else texts


def _is_known(kind: Any) -> bool:
    from pyarrow import types

    tests = (
        *(types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_null),
        *(types.is_date, types.is_timestamp),
    )
    return any(test(kind) for test in tests)


def _first_line(fault: Exception) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]
