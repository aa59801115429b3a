"""Networks in the text format of the UAI competitions (`.uai`), MARKOV or BAYES."""

from math import prod
from pathlib import Path
from typing import NoReturn

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.data.schema import Schema, discrete_schema
from tractable.networks.network import MOST_STATES, Network, TableFactor, check_states, normalise_table
from tractable.networks.tokens import SMALLEST, file_text, text_logs


def read_uai(path: Path) -> Network:
    """The network of a .uai file; its columns are called x0, x1, ... and their states 0, 1, ...

    Raises:
        ValueError: naming the invalid line.
    """
    words = _WordReader(file_text(path))
    kind = words.take().upper()
    if kind not in ("MARKOV", "BAYES"):
        words.fail(f"the file must start with MARKOV or BAYES, not '{kind[:40]}'")
    sizes = [words.whole(1, MOST_STATES) for _ in range(words.whole(0))]
    check_states(sizes, words.letters)
    schema = discrete_schema(sizes)
    scopes = [_scope(words, schema) for _ in range(words.whole(0))]
    factors = [_factor(words, schema, scope, kind) for scope in scopes]
    if words.at < len(words.words):
        words.take()
        words.fail("the file goes on after the last table")
    return Network(schema, tuple(factors), "bayes" if kind == "BAYES" else "markov")


def _scope(words: "_WordReader", schema: Schema) -> tuple[int, ...]:
    scope = tuple(words.whole(0) for _ in range(words.whole(0)))
    for column in scope:
        if column >= len(schema):
            words.fail(f"there is no variable {column}: there are {len(schema)}")
    if len(set(scope)) < len(scope):
        words.fail("a factor names a variable twice")
    return scope


def _factor(words: "_WordReader", schema: Schema, scope: tuple[int, ...], kind: str) -> TableFactor:
    shape = tuple(schema[c].cardinality for c in scope)
    size = prod(shape)
    if words.whole(0) != size:
        words.fail(f"a table over {len(scope)} variables has {size} entries, not {words.words[words.at - 1]}")
    start = words.at
    values = words.numbers(size).reshape(shape)
    logs = text_logs(words.words[start : words.at], values.ravel()).reshape(shape)
    if kind == "MARKOV":
        return TableFactor(scope, logs)
    if not scope:
        words.fail("a factor of a Bayesian network must have a child")
    try:
        # The child stands last in the file and first in our factors. Numbers too small for a double keep
        # their own logarithms: what the sum is divided by is next to one.
        normal = normalise_table(np.moveaxis(values, -1, 0))
        tiny = np.moveaxis(values, -1, 0) < SMALLEST
        return TableFactor((scope[-1], *scope[:-1]), np.where(tiny, np.moveaxis(logs, -1, 0), normal))
    except ValueError as error:
        return words.fail(f"variable {scope[-1]}: {error}")


class _WordReader:
    """A sequential reader of the words of a file."""

    def __init__(self, text: str) -> None:
        self.letters = len(text)
        lines = [line.split() for line in text.split("\n")]
        self.words = [word for line in lines for word in line]
        self.ends: Ints = np.cumsum([len(line) for line in lines])
        self.at = 0

    def take(self) -> str:
        """The next word."""
        if self.at == len(self.words):
            self.fail("the file ends too early")
        self.at += 1
        return self.words[self.at - 1]

    def whole(self, least: int, most: int = 10**18) -> int:
        """The next word as an integer."""
        word = self.take()
        if not (word.isascii() and word.isdigit() and len(word) < 19 and least <= int(word) <= most):
            self.fail(f"a whole number from {least} up is expected, not '{word[:40]}'")
        return int(word)

    def numbers(self, count: int) -> Floats:
        """The next words as non-negative numbers. Shape (count,)."""
        words = self.words[self.at : self.at + count]
        if len(words) < count:
            self.at = len(self.words)
            self.fail("the file ends too early")
        try:
            values = np.array(words, dtype=np.float64)
        except ValueError:
            values = np.array([_number_or_nan(w) for w in words])
        wrong = np.flatnonzero(~((values >= 0) & (values < np.inf)))
        if wrong.size:
            self.at += int(wrong[0]) + 1
            self.fail(f"'{words[wrong[0]][:40]}' is not a finite number from 0 up")
        self.at += count
        return values

    def fail(self, message: str) -> NoReturn:
        """Raise an error that names the current line."""
        line = int(np.searchsorted(self.ends, self.at)) + 1
        raise ValueError(f"line {min(line, len(self.ends))}: {message}")


def _number_or_nan(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return np.nan
