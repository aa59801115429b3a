"""Bit-sliced counters: sums for many columns at once, where each number is added for a set of columns.

The counters of 64 columns are kept as words of bits, one word for each binary digit. A number is then added
to any of the 64 counters in about as many steps as a single addition has carries.
"""

import numpy as np

from tractable.arrays import Ints, Words
from tractable.compiled import njit

DIGITS = 48  # binary digits of a counter


@njit(cache=True, nogil=True)
def new_counters(words: int) -> Words:
    """Counters at zero for 64 columns a word. Shape (words, digits)."""
    return np.zeros((words, DIGITS), dtype=np.uint64)


@njit(cache=True, nogil=True, inline="always")
def add_to_counters(counters: Words, word: int, columns: "np.uint64", number: int) -> None:
    """Add a number to the counters of those columns of a word whose bits are set."""
    lowest = 0
    while columns != 0 and number > 0:
        if number & 1:
            carry, digit = columns, lowest
            while carry != 0:
                old = counters[word, digit]
                counters[word, digit] = old ^ carry
                carry &= old
                digit += 1
        number >>= 1
        lowest += 1


@njit(cache=True, nogil=True)
def read_counters(counters: Words, columns: int) -> Ints:
    """The counters as numbers. Shape (columns,)."""
    answer = np.zeros(columns, dtype=np.int64)
    for column in range(columns):
        for digit in range(DIGITS):
            bit = (counters[column >> 6, digit] >> np.uint64(column & 63)) & np.uint64(1)
            answer[column] |= np.int64(bit) << digit
    return answer
