"""Reading of Bayesian and Markov networks in Libra's text format (`.bn`, `.mn`).

The first line has the numbers of states, followed by `BN { v0 { factor } ... }` or `MN { factor ... }`. A
factor is `table { lines }`, `features { lines }`, `tree { (v1_0 yes no) }` or a bare line; a line is a log
weight and conditions such as +v0_1 (equals) and -v4_2 (differs). Lines that begin with # are comments; Libra
itself has none, but ignores text after the network.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.data.schema import Schema, discrete_schema
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
from tractable.networks.tokens import Tokens, file_text, normalise_log_table

# ---- decision trees in Libra's format: tests of any column, and numbers at the leaves -------------------
#
# In a Bayesian network such a tree also tests its child, whereas trees of this package end in
# distributions of it.


@dataclass(slots=True)
class LibraTree:
    """Tests and leaves in the order of the text: root first, branches after their test."""

    column: list[int] = field(default_factory=list)  # -1 at a leaf
    state: list[int] = field(default_factory=list)
    branches: list[list[int]] = field(default_factory=list)  # where to go if the test holds, and if not
    value: list[float] = field(default_factory=list)  # the logarithm at a leaf

    def add(self, column: int, state: int, value: float) -> int:
        """Add a test or a leaf; returns its number."""
        self.column.append(column)
        self.state.append(state)
        self.branches.append([])
        self.value.append(value)
        return len(self.column) - 1


def path_features(tree: LibraTree) -> list[FeatureFactor]:
    """The tree as features, one for each leaf: the conditions of its path and its value."""
    features: list[FeatureFactor] = []
    waiting: list[tuple[int, tuple[tuple[int, int, bool], ...]]] = [(0, ())]
    while waiting:
        node, path = waiting.pop()
        column, state = tree.column[node], tree.state[node]
        if column < 0:
            columns, states, equals = zip(*path, strict=True) if path else ((), (), ())
            features.append(FeatureFactor(columns, states, equals, tree.value[node]))
            continue
        then, otherwise = tree.branches[node]
        waiting += [(otherwise, (*path, (column, state, False))), (then, (*path, (column, state, True)))]
    return features


def child_tree(tree: LibraTree, child: int, schema: Schema) -> TreeFactor:
    """The tree of a column's conditional distribution, with a number for each state in each leaf.

    Raises:
        ValueError: if the numbers of a leaf are not a distribution.
    """
    lines: list[list[int]] = []  # column, state, then, otherwise
    leaves: list[Floats] = []
    waiting: list[tuple[list[int], dict[int, Bools], tuple[int, int]]] = [
        ([0] * schema[child].cardinality, {}, (0, 2))
    ]
    while waiting:
        at, known, (above, branch) = waiting.pop()
        if lines:
            lines[above][branch] = len(lines)
        at = [_settle(tree, node, known, (child, k)) for k, node in enumerate(at)]
        asking = next((node for node in at if tree.column[node] >= 0), None)
        if asking is None:
            leaves.append(normalise_log_table(np.array([tree.value[node] for node in at])))
            lines.append([-1, 0, 0, 0])
            continue
        column, state = tree.column[asking], tree.state[asking]
        allowed = known.get(column, np.ones(schema[column].cardinality, dtype=np.bool_))
        one = np.arange(allowed.size) == state
        waiting.append((at, {**known, column: allowed & ~one}, (len(lines), 3)))
        waiting.append((at, {**known, column: allowed & one}, (len(lines), 2)))
        leaves.append(np.zeros(schema[child].cardinality))
        lines.append([column, state, 0, 0])
    asked, state_of, then, otherwise = np.array(lines, dtype=np.int64).T.copy()
    return TreeFactor(child, asked, state_of, then, otherwise, np.array(leaves))


def _settle(tree: LibraTree, node: int, known: dict[int, Bools], child: tuple[int, int]) -> int:
    """The next node that is a leaf or tests an unknown column; the state of `child` is known."""
    while (column := tree.column[node]) >= 0:
        state = tree.state[node]
        if column == child[0]:
            holds = state == child[1]
        elif column in known and not known[column][state]:
            holds = False
        elif column in known and known[column].sum() == 1:
            holds = True
        else:
            return node
        node = tree.branches[node][0 if holds else 1]
    return node


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
