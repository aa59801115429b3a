"""Delimited text: which separator a file has, and what its cells say.

Cells that are one of `MISSING` and stand in no quotes are missing everywhere. Those of `WEAK_MISSING` may be
categories of a column of text, so that they are missing only if all other cells of their column are numbers
or dates. Decimal commas are read where the comma does not separate cells. A column in which a cell is a code,
such as `007`, is text (`codes.py`).
"""

import csv
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tractable.data.caution import caution
from tractable.data.codes import code_columns, has_long_numbers, holds_codes, may_have_codes
from tractable.data.problems import ColumnError
from tractable.data.source import Source

MISSING = (*("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "None", "null", "NULL", "*", "?"),)
WEAK_MISSING = ("-", "--", ".")
SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_LINES = 200
_BLOCK = 1 << 26  # a line longer than pyarrow's own block of one megabyte would be refused
_DECIMAL_COMMA = r"^\s*[-+]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][-+]?\d+)?\s*$"  # also 1.234,5


def read_delimited(
    source: Source,
    texts: Iterable[str],
    sep: str | None,
    na: Sequence[str],
    numbers: Collection[str] = (),
    drop: Collection[str] = (),
) -> Any:
    """The file as a pyarrow table. The columns `texts` stay as they were typed, and `"NA"` in quotes is text.

    The columns `numbers` are known to hold no codes, whatever their cells look like. Columns in `drop` will
    be left out by others, and may have no name or that of another one.

    Raises:
        ValueError: naming the line at fault.
    """
    chosen = separator(source) if sep is None else _checked_separator(sep)
    names = _header(source, chosen, drop)
    if len(names) == 1 and any(other in names[0] for other in SEPARATORS):
        caution(
            f"{source}: one column is called {names[0]!r}: if it is several, name their separator (--sep)"
        )
    types = dict.fromkeys(texts, "string")
    frame = _parse(source, chosen, na, len(names), types)
    other = {f.name: "string" for f in frame.schema if f.name not in types and not _is_known(f.type)}
    if other:
        frame = _parse(source, chosen, na, len(names), types | other)
    for i, field in enumerate(frame.schema):
        if field.type == "string" and field.name not in types:
            frame = frame.set_column(i, field.name, _interpret(frame.column(i), decimal_comma=chosen != ","))
    return _keep_codes(frame, source, chosen, na, {*numbers, *drop})


def _checked_separator(sep: str) -> str:
    """The separator that was asked for.

    Raises:
        ValueError: if no table can have it.
    """
    if len(sep) != 1 or not sep.isascii() or sep in '"\r\n\0':
        raise ValueError(f"a separator is one character such as ; and not {sep!r}")
    return sep


def separator(source: Source) -> str:
    """The separator that cuts all of the first lines into the same number of cells, more than one.

    Of several the one that makes the most cells is taken; without any the comma, or what the header has.
    """
    lines = source.first_lines(_SAMPLE_LINES)
    if not lines:
        return ","
    counts = {one: _widths(lines, one) for one in SEPARATORS}
    fits = {one: found[0] for one, found in counts.items() if found[0] > 1 and len(set(found)) == 1}
    if not fits:  # lines are ragged, and reading will tell which; a header of one cell is a column of text
        fits = {one: found[0] for one, found in counts.items()}
    return max(fits, key=lambda one: fits[one])


def _widths(lines: list[str], sep: str) -> list[int]:
    """The number of cells in each line; the last of many may be the beginning of a longer one."""
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=sep) if row] or [0]
    except csv.Error:
        return [0]
    return widths[:-1] if len(lines) == _SAMPLE_LINES else widths


def _header(source: Source, sep: str, drop: Collection[str]) -> list[str]:
    """The column names, checked but for those of columns to leave out."""
    try:
        names = next(csv.reader(source.first_lines(_SAMPLE_LINES), delimiter=sep), [])
    except csv.Error as fault:
        raise ValueError(f"{source}: the column names cannot be read: {fault}") from None
    if not names:
        raise ValueError(f"{source}: the first line holds no column names")
    for i, name in enumerate(names):
        if name in drop:
            continue
        if not name:
            raise ColumnError(
                name,
                f"{source}: column {i + 1} has no name (the index of a data frame? leave it out: drop=[''],"
                " --drop '')",
            )
        if name in names[:i]:
            raise ColumnError(name, f"{source}: two columns are called '{name}'")
    return names


def _parse(source: Source, sep: str, na: Sequence[str], columns: int, types: Mapping[str, str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow

    try:
        return arrow.read_csv(source.open(), *_options(sep, na, columns, types))
    except pa.ArrowException as fault:
        raise ValueError(f"{source}{_ragged_line(source, sep) or f': {_first_line(fault)}'}") from None


def _options(
    sep: str, na: Sequence[str], columns: int, texts: Iterable[str], only: Sequence[str] = ()
) -> tuple[Any, Any, Any]:
    """How pyarrow reads a file of so many columns, of which some are texts, or only some of them."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    convert = arrow.ConvertOptions(
        null_values=[*MISSING, *na],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        column_types={name: pa.string() for name in texts},
        include_columns=list(only),
    )
    # an empty line of a one-column file is a missing cell
    parse = arrow.ParseOptions(delimiter=sep, ignore_empty_lines=columns != 1, newlines_in_values=True)
    return arrow.ReadOptions(block_size=_BLOCK), parse, convert


def _keep_codes(frame: Any, source: Source, sep: str, na: Sequence[str], numbers: Collection[str]) -> Any:
    """The frame, in which columns of numbers that have codes among them are text."""
    from pyarrow import csv as arrow
    from pyarrow import types

    names = [
        field.name
        for field in frame.schema
        if (types.is_integer(field.type) or types.is_floating(field.type)) and field.name not in numbers
    ]
    with source.stream() as file:
        if not may_have_codes(file, sep):
            names = [name for name in names if has_long_numbers(frame.column(name))]
    if not names:
        return frame
    columns = len(frame.column_names)
    with arrow.open_csv(source.open(), *_options(sep, na, columns, names, names)) as batches:
        codes = code_columns(batches, names)
    if codes:
        texts = arrow.read_csv(source.open(), *_options(sep, na, columns, codes, codes))
        for name in codes:
            frame = frame.set_column(frame.column_names.index(name), name, texts.column(name))
    return frame


def _ragged_line(source: Source, sep: str) -> str:
    """Which line has too few or too many cells; empty when none has."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    found: list[Any] = []

    def note(row: Any) -> str:
        if row.text.strip():
            found.append(row)
        return "skip"

    parse = arrow.ParseOptions(
        delimiter=sep, ignore_empty_lines=False, newlines_in_values=True, invalid_row_handler=note
    )
    with suppress(pa.ArrowException):  # the first fault has been told already
        arrow.read_csv(source.open(), arrow.ReadOptions(block_size=_BLOCK, use_threads=False), parse)
    if not found:
        return ""
    worst = found[0]
    return f", line {worst.number}: {worst.actual_columns} cells instead of {worst.expected_columns}"


def _interpret(texts: Any, *, decimal_comma: bool) -> Any:
    """A column of text as numbers or dates, where that is what all its cells are but for weak marks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    distinct = pc.unique(texts).drop_null()
    marked = pc.is_in(distinct, pa.array(WEAK_MISSING))
    rest = distinct.filter(pc.invert(marked))
    if not len(rest):
        return texts
    known = pc.if_else(pc.is_in(texts, pa.array(WEAK_MISSING)), None, texts)
    if holds_codes(rest):
        return texts
    if pc.any(marked).as_py():
        for kind in (pa.int64(), pa.float64(), pa.timestamp("us")):
            if _is_castable(rest, kind):
                return known.cast(kind)
    if decimal_comma and pc.all(pc.match_substring_regex(rest, _DECIMAL_COMMA)).as_py():
        plain = pc.replace_substring(pc.utf8_trim_whitespace(known), ".", "")
        return pc.replace_substring(plain, ",", ".").cast(pa.float64())
    return texts


def _is_castable(texts: Any, kind: Any) -> bool:
    import pyarrow as pa

    try:
        texts.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _is_known(kind: Any) -> bool:
    from pyarrow import types

    tests = (
        *(types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_null),
        *(types.is_date, types.is_timestamp),
    )
    return any(test(kind) for test in tests)


def _first_line(fault: Exception) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]
