"""The compiled loops of this room: reading integers from bytes, and finding equal rows."""

import numpy as np

from tractable.arrays import Bytes, Floats, Ints
from tractable.compiled import njit

NO_FAULT, NOT_A_NUMBER, TOO_FEW, TOO_MANY, NO_WEIGHT = 0, 1, 2, 3, 4

_ZERO, _NINE, _COMMA, _END, _BAR = 48, 57, 44, 10, 124
_MISSING = (42, 63)  # star and question mark
_BLANK = (32, 9, 13)


@njit(cache=True, nogil=True)
def parse_integers(text: Bytes, weighted: bool, values: Floats) -> tuple[int, int, int]:
    """Fill `values` (lines, columns) from comma-separated text: (rows, fault, where in the text it is).

    A star or question mark is NaN, a blank line is no row. A weighted line starts with something and a bar,
    which are stepped over.
    """
    row, i = 0, 0
    while i < text.size:
        start = i
        i = _skip_blank(text, i)
        if i == text.size or text[i] == _END:
            i += 1
            continue
        i = _after_bar(text, i) if weighted else i
        if i < 0:
            return row, NO_WEIGHT, start
        fault, i = _parse_line(text, i, values[row])
        if fault != NO_FAULT:
            return row, fault, i
        row += 1
    return row, NO_FAULT, 0


@njit(cache=True, nogil=True)
def _parse_line(text: Bytes, i: int, cells: Floats) -> tuple[int, int]:
    """Fill `cells` from the line at `i`: (fault, start of the next line, or the place of the fault)."""
    for column in range(cells.size):
        cells[column], good, i = _parse_cell(text, i)
        ended = i == text.size or text[i] == _END
        if not good or not (ended or text[i] == _COMMA):
            return NOT_A_NUMBER, i
        if ended and column < cells.size - 1:
            return TOO_FEW, i
        if not ended and column == cells.size - 1:
            return TOO_MANY, i
        i += 1
    return NO_FAULT, i


@njit(cache=True, nogil=True)
def _parse_cell(text: Bytes, i: int) -> tuple[float, bool, int]:
    """The number at `i`, whether there is one, and the place after it and its blanks."""
    i = _skip_blank(text, i)
    if i < text.size and text[i] in _MISSING:
        return np.nan, True, _skip_blank(text, i + 1)
    number, first = 0.0, i
    while i < text.size and _ZERO <= text[i] <= _NINE:
        number = number * 10.0 + (text[i] - _ZERO)
        i += 1
    return number, i > first, _skip_blank(text, i)


@njit(cache=True, nogil=True)
def _skip_blank(text: Bytes, i: int) -> int:
    while i < text.size and text[i] in _BLANK:
        i += 1
    return i


@njit(cache=True, nogil=True)
def _after_bar(text: Bytes, i: int) -> int:
    """The place after the bar of the line at `i`; -1 without a bar."""
    while i < text.size and text[i] != _END:
        i += 1
        if text[i - 1] == _BAR:
            return i
    return -1


@njit(cache=True, nogil=True)
def distinct_rows(values: Floats, bits: Ints) -> tuple[Ints, Ints]:
    """The first row of each set of equal rows, and each row's set; `bits` are the values' own bytes.

    A hash table with open addressing: equal hashes are only a hint, rows are always compared.
    """
    rows = values.shape[0]
    size = 16
    while size < 2 * rows:
        size *= 2
    slot = np.full(size, -1, dtype=np.int64)
    first = np.empty(rows, dtype=np.int64)
    hashes = np.empty(rows, dtype=np.uint64)
    inverse = np.empty(rows, dtype=np.int64)
    found = 0
    for r in range(rows):
        key = _row_hash(values[r], bits[r])
        at = np.int64(key & np.uint64(size - 1))
        while slot[at] >= 0 and not (hashes[slot[at]] == key and _same(values[first[slot[at]]], values[r])):
            at = (at + 1) & (size - 1)
        if slot[at] < 0:
            slot[at] = found
            first[found] = r
            hashes[found] = key
            found += 1
        inverse[r] = slot[at]
    return first[:found].copy(), inverse


@njit(cache=True, nogil=True)
def _row_hash(row: Floats, bits: Ints) -> np.uint64:
    """A number that equal rows share; all NaNs count as one value, and so do both zeros."""
    key = np.uint64(0x9E3779B97F4A7C15)
    for i in range(row.size):
        cell = np.uint64(bits[i])
        if row[i] != row[i]:
            cell = np.uint64(1)
        elif row[i] == 0.0:
            cell = np.uint64(0)
        key = (key ^ cell) * np.uint64(0xFF51AFD7ED558CCD)
        key ^= key >> np.uint64(32)
    return key


@njit(cache=True, nogil=True)
def _same(a: Floats, b: Floats) -> bool:
    i = 0
    while i < a.size and (a[i] == b[i] or (a[i] != a[i] and b[i] != b[i])):
        i += 1
    return i == a.size
