"""Lines of exponents, one exponent for each row of a tile; several slots may share a line.

A product of which one operand has exponents keeps them as they are, and so does a sum over operands whose
exponents are the same. Such operations share the line of their operands, so that exponents cost time only
where they change. References to lines are counted, and an unused line is used again.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints, UInt32s
from tractable.engine.rows import inlined

NO_LINE, MIXED = -1, -2  # all exponents are zero; no single line


class Lines(NamedTuple):
    """The exponents of a tile."""

    exponent: Floats  # (lines, rows)
    holders: Ints  # (lines,) how many slots share it
    unused: Ints  # (lines + 2,) how many lines were ever used, how many of these are free again, and which


def new_lines(lines: int, width: int) -> Lines:
    """Free lines, whose memory is allocated when they are used."""
    return Lines(np.empty((lines, width)), np.zeros(lines, np.int64), np.zeros(lines + 2, np.int64))


@inlined
def take_line(holders: Ints, unused: Ints) -> int:
    """A free line with arbitrary content, which the caller must hold or return."""
    if unused[1] > 0:
        unused[1] -= 1
        new = unused[2 + unused[1]]
    else:
        new = unused[0]
        unused[0] += 1
    holders[new] = 0
    return new


@inlined
def give_back(holders: Ints, unused: Ints, old: int) -> None:
    """Let a line be used again."""
    unused[2 + unused[1]] = old
    unused[1] += 1


@inlined
def hold_line(line: Ints, holders: Ints, unused: Ints, o: int, new: int) -> None:
    """Let slot `o` have a line, or none, instead of the one that it has."""
    old = line[o]
    if new >= 0:
        holders[new] += 1
    if old >= 0:
        holders[old] -= 1
        if holders[old] == 0:
            unused[2 + unused[1]] = old
            unused[1] += 1
    line[o] = new


@inlined
def same_exponents(exponent: Floats, one: int, other: int) -> bool:
    """Whether two lines hold the same exponents."""
    apart = 0
    for r in range(exponent.shape[1]):
        apart += int(exponent[one, r] != exponent[other, r])
    return apart == 0


@inlined
def common_line(
    exponent: Floats,
    line: Ints,
    holders: Ints,
    unused: Ints,
    operand: UInt32s,
    first: int,
    last: int,
    has_leaves: bool,
) -> int:
    """The line that all operands of a sum have, NO_LINE if all are without, or MIXED.

    An operand whose line is equal to that of the first one shares the first one's from now on. Leaves have
    none.
    """
    found = line[operand[first]] if first < last else NO_LINE
    if found >= 0 and has_leaves:
        found = MIXED
    for e in range(first + 1, last):
        other = line[operand[e]]
        if found == MIXED or other == found:  # noqa: PLR1714 (membership takes longer to compile)
            continue
        if found < 0 or other < 0:
            found = MIXED
        elif same_exponents(exponent, found, other):
            hold_line(line, holders, unused, operand[e], found)
        else:
            found = MIXED
    return found
