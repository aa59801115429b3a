"""Numbers too small or large for a double: a double and, beside it, an exponent in steps of 2**256.

A number is `value * 2**(256 * exponent)`. A value that is checked lies within 2**-320 and 2**320; one that
does not comes to lie within 2**-128 and 2**128 by a change of its exponent. Operations above it need no check
as long as their values provably stay within 2**-480 and 2**480, so that deep chains are checked only at some
levels. Two such values, or one and a weight, can mostly be multiplied without leaving the range of doubles.
Exponents are held as doubles so that they fill the same vector lanes.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints, UInt32s
from tractable.base.compiled import njit
from tractable.engine.rows import inlined

LOG_STEP = 256 * log(2)  # the logarithm of one step of the exponent
SAFE = 320 * log(2)  # a value without exponent has its logarithm within +-SAFE
DRIFT = 480 * log(2)  # what operations without a check may lead to
ROOM = 896 * log(2)  # from here three steps bring a value back
HALF_STEP = 128 * log(2)  # a value that was given an exponent has its logarithm within +-HALF_STEP
STEP_UP, STEP_DOWN = 2.0**256, 2.0**-256
SMALL, LARGE = 2.0**-128, 2.0**128
LOWEST, HIGHEST = 2.0**-320, 2.0**320


def split(log_value: Floats) -> tuple[Floats, Floats]:
    """Value and exponent of numbers given by their logarithms; no exponent where none is needed."""
    finite = np.where(np.isneginf(log_value), 0.0, log_value)
    exponent = np.where(np.abs(finite) < SAFE, 0.0, np.rint(finite / LOG_STEP))
    rest = np.clip(
        finite - exponent * LOG_STEP, -SAFE, SAFE
    )  # rounding takes all digits of a logarithm like -1e200
    return np.where(np.isneginf(log_value), 0.0, np.exp(rest)), exponent


def split_in_place(log_value: Floats) -> Floats:
    """Turn logarithms into values where they stand, as `split` does; their exponents. Any shape.

    For many numbers: nothing of their size is made but for the exponents.
    """
    exponent = np.zeros(log_value.shape)
    _split_each(log_value.reshape(-1), exponent.reshape(-1))
    return exponent


@njit(cache=True, nogil=True)
def _split_each(log_value: Floats, exponent: Floats) -> None:
    """Turn logarithms into values; the exponents, which are zero before, take what a double cannot hold."""
    for i in range(log_value.size):
        number = log_value[i]
        if number == -np.inf:  # most of them, where leaves are limited to intervals: no time for `exp`
            log_value[i] = 0.0
        elif abs(number) < SAFE:
            log_value[i] = exp(number)
        else:
            exponent[i] = np.rint(number / LOG_STEP)
            log_value[i] = exp(min(max(number - exponent[i] * LOG_STEP, -SAFE), SAFE))


def join(value: Floats, exponent: Floats) -> Floats:
    """The logarithms of numbers given by value and exponent."""
    with np.errstate(divide="ignore"):
        return np.log(value) + exponent * LOG_STEP


# ---- Lines of exponents, one exponent for each row of a tile; several slots may share a line ------------
#
# A product of which one operand has exponents keeps them as they are, and so does a sum over operands
# whose exponents are the same. Such operations share the line of their operands, so that exponents cost
# time only where they change. References to lines are counted, and an unused line is used again.


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
