"""Numbers in files that are too small for a double, read as their logarithms and written from them."""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from math import exp

import numpy as np

from tractable.arrays import Floats

SMALLEST = 2.3e-308  # below it a double has fewer digits, and soon none
_CONTEXT = Context(prec=25, Emax=MAX_EMAX, Emin=MIN_EMIN)


def text_logs(words: list[str], values: Floats) -> Floats:
    """The logarithms of numbers from zero up; `words` are their texts, which keep the digits of tiny ones.

    Shape (numbers,).
    """
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(values)
    for place in np.flatnonzero(values < SMALLEST):
        logs[place] = _tiny_log(words[place])
    return logs


def _tiny_log(word: str) -> float:
    try:
        return float(Decimal(word).ln(_CONTEXT))
    except InvalidOperation:  # with an exponent beyond all measure: zero
        return -np.inf


def exp_text(log: float) -> str:
    """The number with a logarithm, with all digits that a double has, however small it is."""
    if log > -700 or log == -np.inf:
        return repr(exp(log))
    return f"{_CONTEXT.exp(Decimal(log)):.16e}"
