"""Reading and writing of decimal numbers that underflow, by their logarithms."""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from math import exp

import numpy as np

from tractable.base.arrays import Floats
from tractable.networks.network import normalise_table

SMALLEST = 2.3e-308  # below it a double has fewer digits, and soon none
TINY_LOG = -700.0  # below it the number itself has lost digits
_CONTEXT = Context(prec=25, Emax=MAX_EMAX, Emin=MIN_EMIN)


def text_logs(words: list[str], values: Floats) -> Floats:
    """The logarithms of non-negative numbers; `words` are their texts, for the digits of tiny numbers.

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


def normalise_log_table(logs: Floats) -> Floats:
    """The result of `normalise_table` for numbers given by their logarithms, without underflow.

    Raises:
        ValueError: naming a sum that is not one, or a number that is not a probability.
    """
    with np.errstate(over="ignore"):  # an infinite number is no probability, which is told
        normal = normalise_table(np.exp(logs))
    return np.where(logs < TINY_LOG, logs, normal)


def exp_text(log: float) -> str:
    """The decimal text of a number given by its logarithm, with the precision of a double."""
    if log > TINY_LOG or log == -np.inf:
        return repr(exp(log))
    return f"{_CONTEXT.exp(Decimal(log)):.16e}"
