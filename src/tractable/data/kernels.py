"""Compiled loops for parsing integers and for finding equal rows."""

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints, Words
from tractable.base.compiled import inner, kernel

NO_FAULT, NOT_A_NUMBER, TOO_FEW, TOO_MANY, NO_WEIGHT = 0, 1, 2, 3, 4

_ZERO, _NINE, _COMMA, _END, _BAR = 48, 57, 44, 10, 124
_STAR, _QUESTION = 42, 63  # a missing cell
_SPACE, _TAB, _RETURN = 32, 9, 13


@kernel
def parse_integers(text: Bytes, weighted: bool, values: Floats) -> tuple[int, int, int]:
    """Fill `values` (lines, columns) from comma-separated text: (rows, fault, position of the fault).

    A star or question mark is NaN, and blank lines are skipped. The weight before a bar in a weighted line is
    skipped.
    """
    row, i = 0, 0
    while i < text.size:
        start, i = i, _skip_blank(text, i)
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


@inner
def _parse_line(text: Bytes, i: int, cells: Floats) -> tuple[int, int]:
    """Fill `cells` from the line at `i`: (fault, start of the next line, or position of the fault)."""
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


@inner
def _parse_cell(text: Bytes, i: int) -> tuple[float, bool, int]:
    """The number at `i`, whether there is one, and the position after it and its blanks."""
    i = _skip_blank(text, i)
    number, first = 0.0, i
    if i < text.size and (text[i] == _STAR or text[i] == _QUESTION):
        number, i = np.nan, i + 1
    while i < text.size and text[i] >= _ZERO and text[i] <= _NINE and not np.isnan(number):
        number = number * 10.0 + (text[i] - _ZERO)
        i += 1
    return number, i > first, _skip_blank(text, i)


@inner
def _skip_blank(text: Bytes, i: int) -> int:
    while i < text.size and (text[i] == _SPACE or text[i] == _TAB or text[i] == _RETURN):
        i += 1
    return i


@inner
def _after_bar(text: Bytes, i: int) -> int:
    """The position after the bar of the line at `i`; -1 without a bar."""
    while i < text.size and text[i] != _END:
        i += 1
        if text[i - 1] == _BAR:
            return i
    return -1


@kernel
def distinct_rows(values: Floats, bits: Ints, slot: Ints, hashes: Words, first: Ints, inverse: Ints) -> int:
    """Fill in the first row of each set of equal rows and each row's set; returns the number of sets.

    `bits` are the bytes of the values. `slot` and `hashes` are the memory of a hash table with open
    addressing: a power of two of slots initialised to -1, at least twice the number of rows, and a hash for
    each row. Rows with equal hashes are compared.
    """
    found = 0
    for r in range(len(values)):
        key = _row_hash(values[r], bits[r])
        at = np.int64(key & np.uint64(slot.size - 1))
        while slot[at] >= 0 and not (hashes[slot[at]] == key and _same(values[first[slot[at]]], values[r])):
            at = (at + 1) & (slot.size - 1)
        if slot[at] < 0:
            slot[at] = found
            first[found] = r
            hashes[found] = key
            found += 1
        inverse[r] = slot[at]
    return found


@inner
def _row_hash(row: Floats, bits: Ints) -> np.uint64:
    """The hash of a row; all NaNs are equal, and so are both zeros."""
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


@inner
def _same(a: Floats, b: Floats) -> bool:
    i = 0
    while i < a.size and (a[i] == b[i] or (a[i] != a[i] and b[i] != b[i])):
        i += 1
    return i == a.size
