"""Equal lines of a matrix: by a dictionary if they are few, in compiled code if they are many."""

import numpy as np

from tractable.base.arrays import Int32s
from tractable.networks.compiling.kernels import number_lines

FEW = 512  # lines; up to here a dictionary is fast, and small networks need no compiled code


def group_lines(lines: Int32s) -> tuple[Int32s, Int32s]:
    """The place of the first line of each group of equal lines, and the group of each line.

    Groups are numbered in the order of their first lines.
    """
    if len(lines) <= FEW:
        return group_by_dictionary(lines)
    slots = np.full(1 << (3 * len(lines) // 2).bit_length(), -1, dtype=np.int32)
    number, first = np.empty(len(lines), dtype=np.int32), np.empty(len(lines), dtype=np.int32)
    groups = number_lines(np.ascontiguousarray(lines), slots, number, first)
    return first[:groups].copy(), number


def group_by_dictionary(lines: Int32s) -> tuple[Int32s, Int32s]:
    """The grouping of `group_lines` by a dictionary."""
    seen: dict[tuple[int, ...], int] = {}
    number = np.array(
        [seen.setdefault(line, len(seen)) for line in map(tuple, lines.tolist())], dtype=np.int32
    )
    first = np.zeros(len(seen), dtype=np.int32)
    first[number[::-1]] = np.arange(len(lines) - 1, -1, -1)
    return first, number
