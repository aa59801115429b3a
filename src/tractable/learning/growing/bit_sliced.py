"""Bit-sliced counters: sums for many columns at once, where each number is added for a set of columns.

The counters of 64 columns are kept as words of bits, one word for each binary digit. A number is then added
to any of the 64 counters in about as many steps as a single addition has carries.
"""

import numpy as np

from tractable.base.arrays import Ints, Words
from tractable.base.compiled import inner

DIGITS = 48  # binary digits of a counter


def new_counters(words: int) -> Words:
    """Counters at zero for 64 columns a word. Shape (words, digits)."""
    return np.zeros((words, DIGITS), dtype=np.uint64)


@inner
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


def read_counters(counters: Words, columns: int) -> Ints:
    """The counters as numbers. Shape (columns,)."""
    bits = np.unpackbits(counters.view(np.uint8).reshape(*counters.shape, 8), axis=2, bitorder="little")
    return np.asarray((np.int64(1) << np.arange(DIGITS)) @ bits.astype(np.int64)).ravel()[:columns]
