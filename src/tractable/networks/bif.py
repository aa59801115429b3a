"""Bayesian networks in the text format of the Interchange Format (`.bif`), as in the bnlearn repository."""

import re
from pathlib import Path

import numpy as np

from tractable.base.arrays import Floats
from tractable.data.schema import Schema, Variable
from tractable.networks.network import Network, TableFactor, check_entries, normalise_table
from tractable.networks.tokens import Tokens, file_text

_TOKEN = re.compile(
    r"""(?P<skip>[\s,]+|//[^\n]*|/\*.*?\*/)
      |  "(?P<quoted>[^"\n]*)"
      |  (?P<mark>[{}()\[\]|;])
      |  (?P<word>(?:(?!//|/\*)[^\s,{}()\[\]|;"])+)
      |  (?P<wrong>.)""",
    re.VERBOSE | re.DOTALL,
)
_MARKS = frozenset("{}()[]|;")


def read_bif(path: Path) -> Network:
    """The network of a .bif file.

    Raises:
        ValueError: naming the invalid line.
    """
    return _Parser(file_text(path)).network()


class _Parser(Tokens):
    """A sequential parser of a file."""

    def __init__(self, text: str) -> None:
        super().__init__(_tokens(text))
        self.letters = len(text)
        self.variables: dict[str, Variable] = {}
        self.tables: dict[str, TableFactor] = {}

    def network(self) -> Network:
        """The network of the whole file."""
        while self.at < len(self.tokens):
            word = self.take()
            if word == "network":
                self.network_block()
            elif word == "variable":
                self.variable_block()
            elif word == "probability":
                self.probability_block()
            else:
                self.fail(f"'network', 'variable' or 'probability' is expected, not '{word}'")
        if not self.variables:
            raise ValueError("there is no variable in the file")
        for name in self.variables:
            if name not in self.tables:
                raise ValueError(f"variable '{name}' has no probability block")
        schema = Schema(tuple(self.variables.values()))
        return Network(schema, tuple(self.tables[name] for name in self.variables), "bayes")

    def network_block(self) -> None:
        """Skip the name and the properties of the network."""
        while self.take() != "{":
            pass
        self.skip_properties()
        self.expect("}")

    def variable_block(self) -> None:
        """A name and its states."""
        name = self.name()
        if name in self.variables:
            self.fail(f"variable '{name}' is declared twice")
        self.expect("{")
        self.skip_properties()
        for word in ("type", "discrete", "["):
            self.expect(word)
        size = self.take()
        self.expect("]")
        self.expect("{")
        states = self.names_until("}")
        self.optional(";")
        if size != str(len(states)):
            self.fail(f"variable '{name}' says it has {size} states and lists {len(states)}")
        self.skip_properties()
        self.expect("}")
        self.variables[name] = self.with_line_number(lambda: Variable(name, "categorical", states))

    def probability_block(self) -> None:
        """The conditional distribution of a variable for each combination of its parents' states."""
        self.expect("(")
        names = []
        while (name := self.take()) != ")":
            if name != "|":
                names.append(self.declared_name(name))
        if not names:
            self.fail("a probability block names no variable")
        if names[0] in self.tables:
            self.fail(f"variable '{names[0]}' has two probability blocks")
        columns = tuple(list(self.variables).index(n) for n in names)
        if len(set(columns)) < len(columns):
            self.fail(f"the probability block of '{names[0]}' names a variable twice")
        self.expect("{")
        values = self.entries(names)
        try:
            self.tables[names[0]] = TableFactor(columns, normalise_table(values))
        except ValueError as error:
            self.fail(f"variable '{names[0]}': {error}")

    def entries(self, names: list[str]) -> Floats:
        """The body of a probability block: lines for parents' states, a complete table, a default."""
        shape = tuple(self.variables[n].cardinality for n in names)
        self.with_line_number(lambda: check_entries(names[0], shape, self.letters))
        values = np.full(shape, np.nan)
        while (word := self.take()) != "}":
            if word == "property":
                self.skip_to_semicolon()
            elif word == "table":
                values = np.array(self.numbers(values.size)).reshape(shape)
            elif word == "default":
                line = np.array(self.numbers(shape[0])).reshape(-1, *[1] * (len(shape) - 1))
                values = np.where(np.isnan(values), line, values)
            elif word == "(":
                line_number = self.parent_line(names)
                values.reshape(shape[0], -1)[:, line_number] = self.numbers(shape[0])
            else:
                self.fail(f"a line of probabilities is expected, not '{word}'")
        if np.isnan(values).any():
            missing = np.argwhere(np.isnan(values))[0][1:]
            states_text = ", ".join(
                f"{n}={self.variables[n].states[i]}" for n, i in zip(names[1:], missing, strict=True)
            )
            self.fail(
                f"variable '{names[0]}' has no probabilities{' for ' + states_text if states_text else ''}"
            )
        return values

    def parent_line(self, names: list[str]) -> int:
        """The index of the combination of parents' states before a line of probabilities."""
        states = self.names_until(")")
        if len(states) != len(names) - 1:
            self.fail(f"{len(states)} states are given for the {len(names) - 1} parents of '{names[0]}'")
        line = 0
        for name, state in zip(names[1:], states, strict=True):
            known = self.variables[name].states
            if state not in known:
                self.fail(f"variable '{name}' has no state '{state}'")
            line = line * len(known) + known.index(state)
        return line

    def numbers(self, count: int) -> list[float]:
        """A given number of numbers and a semicolon."""
        words = self.names_until(";")
        if len(words) != count:
            self.fail(f"{count} numbers are expected, not {len(words)}")
        try:
            return [float(w) for w in words]
        except ValueError:
            return self.fail(f"'{next(w for w in words if not _is_number(w))}' is not a number")

    def names_until(self, end: str) -> tuple[str, ...]:
        """The words before a punctuation mark."""
        names = []
        while (word := self.take()) != end:
            if word in _MARKS:
                self.fail(f"'{end}' is expected, not '{word}'")
            names.append(word)
        return tuple(names)

    def name(self) -> str:
        """A word that is not a punctuation mark."""
        word = self.take()
        return self.fail(f"a name is expected, not '{word}'") if word in _MARKS else word

    def declared_name(self, name: str) -> str:
        """The name of a declared variable."""
        return name if name in self.variables else self.fail(f"there is no variable '{name}'")

    def skip_properties(self) -> None:
        """Skip lines that do not affect the distribution."""
        while self.at < len(self.tokens) and self.tokens[self.at][0] == "property":
            self.skip_to_semicolon()

    def skip_to_semicolon(self) -> None:
        """Skip the rest of a statement."""
        while self.take() != ";":
            pass


def _tokens(text: str) -> list[tuple[str, int]]:
    """Words and punctuation marks with their line numbers."""
    tokens: list[tuple[str, int]] = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group(match.lastgroup or 0)
        if kind == "wrong":
            raise ValueError(f"line {line}: {token!r} does not belong here")
        if kind != "skip":
            tokens.append((token, line))
        line += match.group().count("\n")
    return tokens


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
