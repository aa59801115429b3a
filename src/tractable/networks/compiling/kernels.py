"""Compiled loops of compilation: equal lines of a matrix, greedy elimination orders, nested products.

Flat arguments, one signature each, nothing is allocated.
"""

import numpy as np

from tractable.arrays import Bytes, Floats, Int32s, Ints
from tractable.compiled import njit


@njit(cache=True, nogil=True)
def number_lines(lines: Int32s, slots: Int32s, number: Int32s, first: Int32s) -> int:
    """The number of different lines; `number` says which one each line is, `first` where each stands first.

    `slots` is a hash table filled with -1, a power of two and larger than the number of lines.
    """
    mask = np.uint64(slots.size - 1)
    width = lines.shape[1]
    found = 0
    for i in range(lines.shape[0]):
        key = np.uint64(0)
        for j in range(width):
            key = (key ^ np.uint64(lines[i, j])) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        at = key & mask
        while True:
            other = slots[at]
            if other < 0:
                slots[at] = found
                first[found] = i
                number[i] = found
                found += 1
                break
            row = first[other]
            j = 0
            while j < width and lines[row, j] == lines[i, j]:
                j += 1
            if j == width:
                number[i] = other
                break
            at = (at + np.uint64(1)) & mask
    return found
