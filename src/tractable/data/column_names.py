"""Names of the columns of files, and columns without names."""

import csv
import re
from collections.abc import Collection
from itertools import pairwise
from typing import Any

from tractable.data.layout import UNNAMED, Layout
from tractable.data.problems import ColumnError, caution
from tractable.data.separators import SEPARATORS, count_rows
from tractable.data.text import SAMPLE_LINES, Text

ROW_NAMES = "the first column has no name and other cells in each row: it is left out"


def read_names(text: Text, sep: str, layout: Layout) -> list[str]:
    """The column names after checks that they are distinct: see `UNNAMED`."""
    try:
        names = next(csv.reader(text.lines(), delimiter=sep), [])
    except csv.Error as fault:
        raise ValueError(f"{text.name}: the column names cannot be read: {fault}") from None
    if not names:
        raise ValueError(f"{text.name}: the first line has no column names")
    if not layout.header:
        return layout.names_for(len(names))
    if _lacks_a_name(text, sep, len(names)):
        names = ["", *names]
    if len(names) == 1 and any(other in names[0] for other in (*SEPARATORS, "  ")):
        caution(
            f"{text.name}: one column is called {names[0]!r}; if it is several columns, specify their"
            " separator (--sep)"
        )
    check_names(text.name, names, layout.drop)
    taken = [not name or name in names[:i] for i, name in enumerate(names)]
    return [f"{UNNAMED}{i + 1} {name}" if taken[i] else name for i, name in enumerate(names)]


def _lacks_a_name(text: Text, sep: str, columns: int) -> bool:
    """Whether all lines have one cell more than the header and the first cells are row numbers."""
    lines = text.lines()
    whole = lines[:-1] if len(lines) == SAMPLE_LINES else lines
    try:
        rows = [row for row in csv.reader(whole, delimiter=sep) if row]
    except csv.Error:
        return False
    if len(rows) < 2 or any(len(row) != columns + 1 for row in rows[1:]):
        return False
    return count_rows([row[0] for row in rows[1:]])


def check_names(file: str, names: list[str], drop: Collection[str]) -> None:
    """Refuse duplicate names of columns that are not dropped, and warn of names that look like cells.

    Raises:
        ColumnError: naming the column.
    """
    are_cells = _seem_to_be_cells(names)
    for i, name in enumerate(names):
        if name and name in names[:i] and name not in drop:
            more = " (is it a file without a header? header=False, --no-header)" if are_cells else ""
            raise ColumnError(name, f"{file}: two columns are called '{name}'{more}")
    if are_cells:
        caution(
            f"{file}: the columns are called {', '.join(names[:3])}{', ...' * (len(names) > 3)}; if these"
            " are cells, say that the file has no header (header=False, --no-header)"
        )


def _seem_to_be_cells(names: list[str]) -> bool:
    """Whether a name is a decimal number, or all names are whole numbers that are not column numbers."""
    whole = [int(name) for name in names if name.isdecimal()]
    if len(whole) == len(names):
        return any(after != before + 1 for before, after in pairwise(whole))
    return any(re.fullmatch(r"-?\d*\.\d+|-\d+", name) for name in names)


def with_real_names(text: Text, frame: Any, drop: Collection[str]) -> Any:
    """The table with the names in its file, without unnamed columns that are not in `drop`.

    An unnamed column must be empty, or be the first column and hold row names.

    Raises:
        ColumnError: otherwise.
    """
    for place in reversed(range(frame.num_columns)):
        called = frame.column_names[place]
        if called.startswith(UNNAMED):
            number, _, name = called.removeprefix(UNNAMED).partition(" ")
            column = frame.column(place)
            if name in drop:
                frame = frame.set_column(place, name, column)
                continue
            if column.null_count < len(column):
                if number != "1" or not is_row_names(column):
                    raise ColumnError("", f"{text.name}: {no_name(number)}")
                caution(f"{text.name}: {ROW_NAMES}")
            frame = frame.remove_column(place)
    return frame


def no_name(column: str) -> str:
    """The message for a column without a name."""
    return f"column {column} has no name (to leave it out: drop=[''], --drop '')"


def is_row_names(column: Any) -> bool:
    """Whether all cells are distinct, as in the index of a data frame."""
    import pyarrow.compute as pc

    return not column.null_count and pc.count_distinct(column).as_py() == len(column)
