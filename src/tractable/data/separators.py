"""Detection of the separator of delimited text, and text separated by runs of blanks."""

import csv
import re

from tractable.data.text import SAMPLE_LINES

SEPARATORS = (",", ";", "\t", "|")
_LONGEST = 100_000  # letters of a line that shows the separator: the `csv` module refuses longer cells
BLANK = " "
_CELL = re.compile(r'"(?:[^"]|"")*"|\S+')
_QUOTED_OR_BLANKS = re.compile(rb'(?<![^ \t\r\n])"(?:[^"]|"")*"|[ \t]+')
_LINE_EDGES = re.compile(rb"(?<![^\r\n])[ \t]+|[ \t]+(?![^\r\n])")


def check_separator(sep: str) -> str:
    """The separator given by the user.

    Raises:
        ValueError: if it is not a valid separator.
    """
    if len(sep) != 1 or not sep.isascii() or sep in '"\r\n\0':
        raise ValueError(f"the separator must be one character such as ;, not {sep!r}")
    return sep


def separator(lines: list[str]) -> str:
    """The separator that divides all lines into an equal number of cells, more than one.

    The separator with the most cells is selected, and blanks only if there is no other; by default the comma,
    or the separator in the header.
    """
    lines = [line for line in lines if len(line) <= _LONGEST]
    if not lines:
        return ","
    counts = {one: _widths(lines, one) for one in SEPARATORS}
    fits = {one: found[0] for one, found in counts.items() if found[0] > 1 and len(set(found)) == 1}
    if not fits and are_aligned(lines[: -1 if len(lines) == SAMPLE_LINES else None]):
        return BLANK
    if not fits:  # lines are ragged, and reading will tell which; a header of one cell is a column of text
        fits = {one: found[0] for one, found in counts.items()}
    return max(fits, key=lambda one: fits[one])


def _widths(lines: list[str], sep: str) -> list[int]:
    """The number of cells in each line; a very long last line may be incomplete."""
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=sep) if row] or [0]
    except csv.Error:
        return [0]
    return widths[:-1] if len(lines) == SAMPLE_LINES else widths


def are_aligned(lines: list[str]) -> bool:
    """Whether blanks divide lines into columns: equally many cells, some of them aligned or all numbers."""
    rows = [_CELL.findall(line) for line in lines if line.strip()]
    if len(rows) < 2 or len(rows[1]) < 2 or len({len(row) for row in rows[1:]}) > 1:
        return False
    if len(rows[0]) == len(rows[1]) - 1:  # row names, which have no name themselves
        return count_rows([row[0].strip('"') for row in rows[1:]])
    if len(rows[0]) != len(rows[1]):
        return False
    if any("  " in line.strip() for line in lines):
        return True
    return any(all(map(_is_number, cells)) for cells in zip(*rows[1:], strict=True))


def count_rows(cells: list[str]) -> bool:
    """Whether cells are row numbers, from 0 or from 1."""
    return any(cells == [str(i + first) for i in range(len(cells))] for first in (0, 1))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?", text) is not None


def with_single_blanks(content: bytes) -> bytes:
    """The text with single blanks between cells and none at line ends; quoted text is unchanged."""
    if b'"' in content:
        content = _QUOTED_OR_BLANKS.sub(lambda m: m[0] if m[0].startswith(b'"') else b" ", content)
    else:
        content = re.sub(rb"[ \t]+", b" ", content)
    return _LINE_EDGES.sub(b"", content)
