"""Codes in delimited text, which would lose their spelling if they were read as numbers.

`007`, `+49` and `4556737586899855` are codes: numbers have no leading zero and no plus sign, and a double has
only 15 exact digits. A column with such a cell is text, unless it is declared as numeric.
"""

from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

import numpy as np

from tractable.base.arrays import Bools

MOST_DIGITS = 15
_CODE = rf"^\s*(\+|-?0[0-9xX]|-?[0-9]{{{MOST_DIGITS + 1},}}\s*$)"  # of a cell that could be read as a number
_CHUNK = 1 << 22  # bytes that are looked at together


def holds_codes(texts: Any) -> bool:
    """Whether an arrow array of numbers as text contains a code."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(texts, _CODE)).as_py())


def code_columns(batches: Iterable[Any], names: Sequence[str]) -> list[str]:
    """Which columns of numbers contain codes; their cells come as texts, in batches of rows."""
    left = set(names)
    for batch in batches:
        left -= {name for name in left if holds_codes(batch.column(name))}
    return [name for name in names if name not in left]


def has_long_numbers(numbers: Any) -> bool:
    """Whether an arrow array has a number with more digits than a double represents exactly."""
    import pyarrow.compute as pc

    ends = pc.min_max(numbers).as_py()
    return any(end is not None and abs(end) >= 10**MOST_DIGITS for end in ends.values())


def may_have_codes(file: BinaryIO, sep: str) -> bool:
    """Whether a cell of a text may begin with a plus sign, or with a zero before another digit.

    Most files have no such cell, and scanning their bytes takes a fraction of the time of parsing them.
    """
    starts = _among(b'"\r\n ' + sep.encode())
    tail = sep.encode()
    while chunk := file.read(_CHUNK):
        text = np.frombuffer(tail + chunk + b"\n", dtype=np.uint8)
        if _has_code(text, starts):
            return True
        tail = bytes(text[-4:-1])
    return False


def _has_code(text: np.ndarray[Any, np.dtype[np.uint8]], starts: Bools) -> bool:
    plus = np.flatnonzero(text[1:] == ord("+"))  # each is the position before it
    zero = np.flatnonzero(text[1:-1] == ord("0"))
    zero = zero[_DIGITS[text[zero + 2]]]
    minus = zero[(text[zero] == ord("-")) & (zero > 0)] - 1
    return any(bool(starts[text[before]].any()) for before in (plus, zero, minus))


def _among(letters: bytes) -> Bools:
    present = np.zeros(256, dtype=np.bool_)
    present[list(letters)] = True
    return present


_DIGITS = _among(b"0123456789xX")
