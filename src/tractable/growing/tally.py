"""Sums for many columns at once, of numbers that are each for a few columns given as bits.

The sums are kept in binary, a word of bits for each digit of 64 columns, so that a number is added to all of
them in about as many steps as one addition has carries.
"""

import numpy as np
from numba import njit

from tractable.arrays import Ints
from tractable.growing.store import Words

DIGITS = 48  # of a sum


@njit(cache=True, nogil=True)
def new_tally(words: int) -> Words:
    """Sums of zero for 64 columns a word. Shape (words, digits)."""
    return np.zeros((words, DIGITS), dtype=np.uint64)


@njit(cache=True, nogil=True, inline="always")
def add_to(sums: Words, word: int, bits: "np.uint64", number: int) -> None:
    """Add a number to the sums of the columns whose bits are set in a word of them."""
    lowest = 0
    while bits != 0 and number > 0:
        if number & 1:
            carry, digit = bits, lowest
            while carry != 0:
                old = sums[word, digit]
                sums[word, digit] = old ^ carry
                carry &= old
                digit += 1
        number >>= 1
        lowest += 1


@njit(cache=True, nogil=True)
def totals(sums: Words, columns: int) -> Ints:
    """The sums as numbers. Shape (columns,)."""
    answer = np.zeros(columns, dtype=np.int64)
    for column in range(columns):
        for digit in range(DIGITS):
            bit = (sums[column >> 6, digit] >> np.uint64(column & 63)) & np.uint64(1)
            answer[column] |= np.int64(bit) << digit
    return answer
