"""Compiled loops of compilation: equal rows of a matrix, greedy elimination orders, nested products.

Kernels have flat arguments and one signature, and allocate nothing.
"""

import numpy as np

from tractable.base.arrays import Bytes, Floats, Int32s
from tractable.base.compiled import njit


@njit(cache=True, nogil=True)
def number_lines(lines: Int32s, slots: Int32s, number: Int32s, first: Int32s) -> int:
    """The number of distinct rows; `number` is the index of each row among them, `first` their first rows.

    `slots` is a hash table initialised to -1, whose size is a power of two above the number of rows.
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


@njit(cache=True, nogil=True)
def greedy_elimination(
    near: Bytes,
    beside: Int32s,
    degree: Int32s,
    sizes: Floats,
    coefficients: Floats,
    score: Floats,
    order: Int32s,
    bound: float,
) -> float:
    """Eliminate columns greedily by score; returns the sum of all table sizes, in entries.

    `near` (n, n) is a graph whose diagonal is zero, `beside` (n, n) and `degree` (n,) the neighbours of each
    column; all three are modified. `sizes` (2, n) are the numbers of states and their logarithms, `score` (2,
    n) the offsets of the scores and memory for the scores. Fills `order`, and stops early when the sum
    exceeds `bound`.
    """
    n = order.size
    for v in range(n):
        score[1, v] = score[0, v] + elimination_score(v, near, beside, degree, sizes, coefficients)
    total = 0.0
    for step in range(n):
        v = -1
        for u in range(n):
            if degree[u] >= 0 and (v < 0 or score[1, u] < score[1, v]):
                v = u
        order[step] = v
        size = sizes[0, v]
        for i in range(degree[v]):
            size *= sizes[0, beside[v, i]]
        total += size
        if total > bound:
            break
        link_neighbours(v, near, beside, degree)
        for u in range(n):
            if near[u, u] == 1:
                near[u, u] = 0
                score[1, u] = score[0, u] + elimination_score(u, near, beside, degree, sizes, coefficients)
    return total


@njit(cache=True, nogil=True)
def link_neighbours(v: int, near: Bytes, beside: Int32s, degree: Int32s) -> None:
    """Eliminate a column; the diagonal of `near` marks the columns whose cost may have changed."""
    around = degree[v]
    degree[v] = -1
    for i in range(around):
        a = beside[v, i]
        k = 0
        while beside[a, k] != v:
            k += 1
        degree[a] -= 1
        beside[a, k] = beside[a, degree[a]]
    for i in range(around):
        a = beside[v, i]
        for j in range(i):
            b = beside[v, j]
            if near[a, b] == 0:
                near[a, b] = near[b, a] = 1
                beside[a, degree[a]] = b
                beside[b, degree[b]] = a
                degree[a] += 1
                degree[b] += 1
    for i in range(around):
        a = beside[v, i]
        near[a, a] = 1
        for k in range(degree[a]):
            near[beside[a, k], beside[a, k]] = 1


@njit(cache=True, nogil=True)
def elimination_score(
    v: int, near: Bytes, beside: Int32s, degree: Int32s, sizes: Floats, coefficients: Floats
) -> float:
    """The cost of eliminating a column; far below all others if no edge must be added."""
    fill, weighted_fill, log_separator = 0.0, 0.0, 0.0
    for i in range(degree[v]):
        a = beside[v, i]
        log_separator += sizes[1, a]
        for j in range(i):
            b = beside[v, j]
            if near[a, b] == 0:
                fill += 1.0
                weighted_fill += sizes[0, a] * sizes[0, b]
    if fill == 0.0:
        return -1e6
    return (
        coefficients[0] * np.log(fill)
        + coefficients[1] * np.log(weighted_fill)
        + coefficients[2] * log_separator
        + coefficients[3] * sizes[1, v]
    )


# ---- equal lines of a matrix: by a dictionary if they are few, in compiled code if they are many --------


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
