"""Compiled loops that draw random conjunctions and count where they hold."""

import numpy as np

from tractable.base.arrays import Floats, Int32s, Ints, Words
from tractable.base.compiled import njit
from tractable.engine.trace import uniform
from tractable.learning.networks.indicators import Occurrences

TRIES = 50  # to find something with two literals


@njit(cache=True, nogil=True)
def generalise(start: Ints, literal: Int32s, made: Int32s, words: Words) -> None:
    """Fill each line of `made` with at least two literals of a row or of an earlier line, ascending.

    Row r's literals are literal[start[r]:start[r + 1]], ascending; lines end with -1. A line stays empty
    where no row with two literals was met in some tries.
    """
    rows, longest = start.size - 1, made.shape[1]
    size = np.zeros(len(made), dtype=np.int64)
    left = np.empty(max(longest, np.diff(start).max()), dtype=np.int32)
    made[:] = -1
    for i in range(len(made)):
        count = 0
        for _ in range(TRIES):
            count = _source(start, literal, made, size, int(uniform(words, 0) * (rows + i)), left)
            if count >= 2:
                break
        if count < 2:
            continue
        size[i] = 2 + int(uniform(words, 0) * (min(count, longest) - 1))
        for j in range(size[i]):  # a random part comes to the front
            other = j + int(uniform(words, 0) * (count - j))
            left[j], left[other] = left[other], left[j]
        made[i, : size[i]] = np.sort(left[: size[i]])


@njit(cache=True, nogil=True)
def _source(start: Ints, literal: Int32s, made: Int32s, size: Ints, which: int, left: Int32s) -> int:
    """Copy the literals of a row, or of a line that was made, into `left`; how many there are."""
    line = which - (start.size - 1)
    if line >= 0:
        left[: size[line]] = made[line, : size[line]]
        return size[line]
    count = start[which + 1] - start[which]
    left[:count] = literal[start[which] : start[which + 1]]
    return count


@njit(cache=True, nogil=True)
def supports(states: Occurrences, codes: Int32s, column: Ints, state: Ints, made: Int32s) -> Floats:
    """The weight of the rows in which all literals of each line hold; `states` has the rows of each state."""
    answer = np.zeros(len(made))
    for i in range(len(made)):
        size, rarest = 0, made[i, 0]
        while size < made.shape[1] and made[i, size] >= 0:
            j = made[i, size]
            if states.start[j + 1] - states.start[j] < states.start[rarest + 1] - states.start[rarest]:
                rarest = j
            size += 1
        for at in range(states.start[rarest], states.start[rarest + 1]):
            r, met = states.row[at], 0
            while met < size and codes[r, column[made[i, met]]] == state[made[i, met]]:
                met += 1
            if met == size:
                answer[i] += states.weight[r]
    return answer
