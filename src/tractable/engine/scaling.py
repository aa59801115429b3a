"""Numbers too small or large for a double: a double and, beside it, an exponent in steps of 2**256.

A number is `value * 2**(256 * exponent)`. A value that is checked lies within 2**-320 and 2**320; one that
does not comes to lie within 2**-128 and 2**128 by a change of its exponent. Operations above it need no check
as long as their values provably stay within 2**-480 and 2**480, so that deep chains are checked only at some
levels. Two such values, or one and a weight, can mostly be multiplied without leaving the range of doubles.
Exponents are held as doubles so that they fill the same vector lanes.
"""

from math import exp, log

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.compiled import njit

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
