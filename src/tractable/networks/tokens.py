"""A tokeniser of network files."""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from math import exp
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np

from tractable.base.arrays import Floats
from tractable.networks.network import normalise_table

# ---- reading and writing of decimal numbers that underflow, by their logarithms -------------------------


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


T = TypeVar("T")


def file_text(path: Path) -> str:
    """The text of a network file; invalid UTF-8 is replaced, so that a parser can name the line."""
    return path.read_text(encoding="utf-8", errors="replace")


class Tokens:
    """A sequential reader of a file; errors name the line."""

    def __init__(self, tokens: list[tuple[str, int]], first_line: int = 1) -> None:
        self.tokens = tokens  # with the number of the line of each
        self.at = 0
        self._first_line = first_line

    def peek(self) -> str:
        """The next token, without consuming it."""
        if self.at == len(self.tokens):
            self.fail("the file ends too early")
        return self.tokens[self.at][0]

    def take(self) -> str:
        """The next token."""
        word = self.peek()
        self.at += 1
        return word

    def expect(self, word: str) -> None:
        """Consume a given token."""
        token = self.take()
        if token != word:
            self.fail(f"'{word}' is expected, not '{token[:40]}'")

    def optional(self, word: str) -> None:
        """Consume a given token if it is next."""
        if self.at < len(self.tokens) and self.tokens[self.at][0] == word:
            self.at += 1

    def with_line_number(self, make: Callable[[], T]) -> T:
        """The result of `make`, whose errors get a line number."""
        try:
            return make()
        except ValueError as error:
            return self.fail(str(error))

    def fail(self, message: str) -> NoReturn:
        """Raise an error that names the current line."""
        line = self.tokens[max(self.at - 1, 0)][1] if self.tokens else self._first_line
        raise ValueError(f"line {line}: {message}")
