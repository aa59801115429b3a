"""Reading of Bayesian and Markov networks in Libra's text format (`.bn`, `.mn`).

The first line has the numbers of states, followed by `BN { v0 { factor } ... }` or `MN { factor ... }`. A
factor is `table { lines }`, `features { lines }`, `tree { (v1_0 yes no) }` or a bare line; a line is a log
weight and conditions such as +v0_1 (equals) and -v4_2 (differs). Lines that begin with # are comments; Libra
itself has none, but ignores text after the network.
"""

import re
from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np

from tractable.data.schema import Schema, discrete_schema
from tractable.networks.decimals import normalise_log_table
from tractable.networks.libra_trees import LibraTree, child_tree, path_features
from tractable.networks.network import (
    MOST_STATES,
    Factor,
    FeatureFactor,
    Network,
    TableFactor,
    TreeFactor,
    check_entries,
    check_states,
)
from tractable.networks.tables import feature_table
from tractable.networks.tokens import Tokens, file_text

_TOKEN = re.compile(r"[{}()]|[^\s{}()]+")
LONGEST = 9  # digits of a number of states
_CONDITION = re.compile(r"([+-])v(\d{1,9})_(\d{1,9})")


def read_libra(path: Path) -> Network:
    """The network of a .bn or .mn file; its columns are called x0, x1, ... and their states 0, 1, ...

    Raises:
        ValueError: naming the invalid line.
    """
    return _Parser(file_text(path)).network()


class _Parser(Tokens):
    """A sequential parser of a file."""

    def __init__(self, text: str) -> None:
        sizes, _, rest = text.partition("\n")
        self.letters = len(text)
        self.schema = _schema(sizes, len(text))
        lines = ((n, line) for n, line in enumerate(rest.split("\n"), start=2) if not line.startswith("#"))
        tokens = [(word, number) for number, line in lines for word in _TOKEN.findall(line)]
        super().__init__(tokens, first_line=2)

    def network(self) -> Network:
        """The network of the whole file."""
        kind = self.take()
        if kind not in ("BN", "MN"):
            self.fail(f"a network must start with BN or MN, not '{kind[:40]}'")
        self.expect("{")
        factors = self.distributions() if kind == "BN" else self.factors()
        if self.at < len(self.tokens):
            self.take()
            self.fail("the file goes on after the network")
        return Network(self.schema, tuple(factors), "bayes" if kind == "BN" else "markov")

    def distributions(self) -> Sequence[Factor]:
        """The body of a Bayesian network: a block for each column."""
        factors: list[Factor] = []
        while (word := self.take()) != "}":
            name = re.fullmatch(r"v(\d{1,9})", word)
            if not name or int(name[1]) >= len(self.schema):
                self.fail(f"a column like v0 is expected, not '{word[:40]}'")
            self.expect("{")
            factors.append(self.distribution(int(name[1])))
        return factors

    def distribution(self, child: int) -> TableFactor | TreeFactor:
        """The block of a column: a tree, a table, or features whose product is its distribution."""
        if self.peek() == "tree":
            self.take()
            tree = self.tree()
            self.expect("}")
            return self.with_line_number(lambda: child_tree(tree, child, self.schema))
        factors = self.factors()
        return self.with_line_number(lambda: self.conditional_table(factors, child))

    def conditional_table(self, factors: Sequence[TableFactor | FeatureFactor], child: int) -> TableFactor:
        """The distribution of a column given by a table or features, with the column first."""
        tables = [f for f in factors if isinstance(f, TableFactor)]
        if len(tables) > 1 or (tables and len(factors) > 1):
            raise ValueError(f"column v{child} has more than one distribution")
        if tables:
            whole = tables[0]
            if child not in whole.columns:
                raise ValueError(f"the table of column v{child} does not name it")
            values = np.moveaxis(whole.log_values, whole.columns.index(child), 0)
            others = tuple(c for c in whole.columns if c != child)
        else:
            features = [f for f in factors if isinstance(f, FeatureFactor)]
            others = tuple(dict.fromkeys(c for f in features for c in f.columns if c != child))
            shape = [self.schema[c].cardinality for c in (child, *others)]
            check_entries(f"v{child}", shape, self.letters)
            values = feature_table(features, (child, *others), self.schema).log_values
        return TableFactor((child, *others), normalise_log_table(values))

    def factors(self) -> list[TableFactor | FeatureFactor]:
        """The factors up to the end of their block."""
        factors: list[TableFactor | FeatureFactor] = []
        while (word := self.peek()) != "}":
            if word == "tree":
                self.take()
                factors += path_features(self.tree())
            elif word in ("table", "features"):
                self.take()
                self.expect("{")
                lines = self.lines()
                self.expect("}")
                factors += [self.table(lines)] if word == "table" else lines
            else:
                factors.append(self.line())
        self.take()
        return factors

    def table(self, lines: list[FeatureFactor]) -> TableFactor:
        """The table of a block of lines."""
        return self.with_line_number(lambda: _table(lines, self.schema))

    def lines(self) -> list[FeatureFactor]:
        """Weights with conditions, up to the end of their block."""
        lines = []
        while self.peek() != "}":
            lines.append(self.line())
        return lines

    def line(self) -> FeatureFactor:
        """A log weight and conditions."""
        weight = self.number(self.take())
        conditions = []
        while match := _CONDITION.fullmatch(self.peek()):
            self.take()
            conditions.append((self.cell(match[2], match[3]), match[1] == "+"))
        return FeatureFactor(
            tuple(column for (column, _), _ in conditions),
            tuple(state for (_, state), _ in conditions),
            tuple(equals for _, equals in conditions),
            weight,
        )

    def tree(self) -> LibraTree:
        """A tree in brackets."""
        self.expect("{")
        tree = LibraTree()
        above: list[int] = []
        while above or not tree.column:
            word = self.take()
            if word == ")" and len(tree.branches[above[-1]] if above else []) == 2:
                above.pop()
                continue
            if above and len(tree.branches[above[-1]]) == 2:
                self.fail(f"')' is expected, not '{word[:40]}'")
            node = self.node(tree, word)
            if above:
                tree.branches[above[-1]].append(node)
            if word == "(":
                above.append(node)
        self.expect("}")
        return tree

    def node(self, tree: LibraTree, word: str) -> int:
        """A test whose bracket was opened, or a leaf."""
        if word != "(":
            return tree.add(-1, 0, self.number(word))
        test = self.take()
        match = re.fullmatch(r"v(\d{1,9})_(\d{1,9})", test)
        if not match:
            self.fail(f"a test like v0_1 is expected, not '{test[:40]}'")
        return tree.add(*self.cell(match[1], match[2]), 0.0)

    def cell(self, column: str, state: str) -> tuple[int, int]:
        """A column and one of its states."""
        if int(column) >= len(self.schema) or int(state) >= self.schema[int(column)].cardinality:
            self.fail(f"there is no column {column} with a state {state}")
        return int(column), int(state)

    def number(self, word: str) -> float:
        """A log-value."""
        try:
            value = float(word)
        except ValueError:
            value = np.nan
        return (
            value if value < np.inf else self.fail(f"'{word[:40]}' is not the logarithm of a finite number")
        )


def _schema(line: str, letters: int) -> Schema:
    sizes = [word.strip() for word in line.split(",")]
    if not all(_is_size(word) for word in sizes):
        raise ValueError("line 1: the first line must be the numbers of states, such as 2,2,3")
    states = list(map(int, sizes))
    check_states(states, letters)
    return discrete_schema(states)


def _is_size(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= LONGEST and 1 <= int(word) <= MOST_STATES


def _table(lines: list[FeatureFactor], schema: Schema) -> TableFactor:
    """The table with the given rows as entries.

    Raises:
        ValueError: if they are not each combination of states of some columns exactly once.
    """
    columns = lines[0].columns if lines else ()
    shape = tuple(schema[c].cardinality for c in columns)
    if len(set(columns)) < len(columns) or len(lines) != prod(shape):  # looked at before there is an array
        raise ValueError(f"a table over {len(columns)} columns must have {prod(shape):.12g} distinct lines")
    values = np.full(shape, np.nan)
    for line in lines:
        if sorted(line.columns) != sorted(columns) or not all(line.equals):
            raise ValueError("the lines of a table must name the same columns, each with a +")
        states = dict(zip(line.columns, line.states, strict=True))
        values[tuple(states[c] for c in columns)] = line.log_weight
    if np.isnan(values).any() or len(lines) != values.size:
        raise ValueError(f"a table over {len(columns)} columns must have {values.size} distinct lines")
    return TableFactor(columns, values)
