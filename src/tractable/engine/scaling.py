"""Numbers too small or large for a double: a double and, beside it, an exponent in steps of 2**256.

A number is `value * 2**(256 * exponent)`. Values whose exponent is zero everywhere in a tile may be anything
within 2**-320 and 2**320; results that were given an exponent lie within 2**-128 and 2**128. Two such values,
or one and a weight, can be multiplied without leaving the range of doubles. Exponents are held as doubles so
that they fill the same vector lanes.
"""

from math import log

import numpy as np

from tractable.arrays import Floats

LOG_STEP = 256 * log(2)  # the logarithm of one step of the exponent
SAFE = 320 * log(2)  # a value without exponent has its logarithm within +-SAFE
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


def join(value: Floats, exponent: Floats) -> Floats:
    """The logarithms of numbers given by value and exponent."""
    with np.errstate(divide="ignore"):
        return np.log(value) + exponent * LOG_STEP
