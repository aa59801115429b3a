"""Libra's arithmetic circuits (`.ac`), read and written."""

from collections.abc import Iterator
from math import exp, inf, nan
from pathlib import Path

import numpy as np

from tractable.base.arrays import Bools, Bytes, Floats, Ints
from tractable.circuit.blocks import Block, ConstantBlock, LeafBlock
from tractable.circuit.convert import to_ac
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.leaves.indicator import Indicator
from tractable.data.schema import Schema, discrete_schema
from tractable.formats.atomic import write_text
from tractable.formats.document import Document, warn_of_lost_roles
from tractable.formats.features import Condition, FeatureLine, check_features, feature_table
from tractable.networks.network import MOST_STATES, check_states
from tractable.networks.tokens import text_logs
from tractable.networks.writing import decimal

# ---- the feature table of a `.ac` file: each line is a node with a feature, a weight and conditions ------


LONGEST = 18  # digits that surely fit a 64-bit whole number


def read_features(tail: bytes, graph: Graph, first_line: int) -> FeatureTable | None:
    """The feature table in what follows the first EOF of a file, if there is one.

    Raises:
        ValueError: naming the line that is wrong.
    """
    lines = tail.rstrip().split(b"\n")
    if lines == [b""]:
        return None
    if len(lines) < 2 or lines[-1].strip() != b"EOF" or lines[0].strip():
        raise ValueError("the file is cut short: there is no EOF after the features")
    numbered = enumerate(lines[:-1], start=first_line)
    table = feature_table([_feature(line.split(), number) for number, line in numbered if line.strip()])
    check_features(table, graph)
    return table


def _feature(words: list[bytes], line: int) -> FeatureLine:
    if len(words) < 2 or not words[0].isdigit() or len(words[0]) > LONGEST:
        raise ValueError(f"line {line}: a feature is the number of a node, a weight and conditions")
    weight = number(words[1])
    if not 0 <= weight < inf:
        raise ValueError(f"line {line}: {quote_word(words[1])} is not a finite number from 0 up")
    # numpy's logarithm, as for the leaves: the one of `math` differs in the last digit on some processors.
    log_weight = float(np.log(weight)) if weight else -inf
    return int(words[0]), log_weight, [_condition(word, line) for word in words[2:]]


def _condition(word: bytes, line: int) -> Condition:
    """A condition like +v3_1."""
    sign, (column, _, state) = word[:2], word[2:].partition(b"_")
    digits = column.isdigit() and state.isdigit() and max(len(column), len(state)) <= LONGEST
    if sign not in (b"+v", b"-v") or not digits:
        raise ValueError(f"line {line}: {quote_word(word)} is not a condition like +v3_1")
    return int(column), int(state), sign == b"+v"


def number(word: bytes) -> float:
    """The number that a word says, or NaN."""
    try:
        return float(word)
    except ValueError:
        return nan


def quote_word(word: bytes) -> str:
    """A word as a message may show it."""
    return repr(word[:40].decode("latin-1"))


# ---- reading of Libra's arithmetic circuits (`.ac`) -----------------------------------------------------
#
# A line of cardinalities, one node a line with children before parents, EOF; then perhaps the feature
# table of the Markov network and EOF again. Files have millions of lines, so the nodes are parsed as one
# array.


_SPACE = np.isin(np.arange(256), list(b" \t\n"))
_DIGIT = np.isin(np.arange(256), list(b"0123456789"))
_NUMERIC = _DIGIT | np.isin(np.arange(256), list(b".eE+-"))


def read_ac(path: Path) -> Document:
    """The circuit of a .ac file; columns are called x0, x1, ... and their states 0, 1, ..."""
    return Document(ac_graph(path.read_bytes()))


def ac_graph(data: bytes) -> Graph:
    """The circuit of the bytes of a .ac file.

    Raises:
        ValueError: naming the line that is wrong.
    """
    first, _, rest = data.replace(b"\r", b" ").partition(b"\n")
    schema = _schema(first, len(data))
    body, end, tail = (b"\n" + rest).partition(b"\nEOF")
    if not end:
        raise ValueError("the file is cut short: there is no EOF after the nodes")
    lines = _Lines(body[1:] + b"\n")
    if not lines.kind.size:
        raise ValueError("line 2: the circuit has no nodes")
    graph = lines.graph(schema)
    features = read_features(tail, graph, first_line=lines.kind.size + 2)
    if features is None:
        return graph
    return Graph(schema, graph.kind, graph.start, graph.child, graph.log_weight, graph.blocks, features)


def _schema(line: bytes, letters: int) -> Schema:
    words = line.strip()
    if not (words.startswith(b"(") and words.endswith(b")")):
        raise ValueError("line 1: the numbers of states are expected in brackets, as in (2 2 3)")
    sizes = words[1:-1].split()
    for size in sizes:
        if not size.isdigit() or len(size) > LONGEST or not 0 < int(size) <= MOST_STATES:
            raise ValueError(f"line 1: {quote_word(size)} is not a number of states")
    states = [int(size) for size in sizes]
    check_states(states, letters)
    return discrete_schema(states)


class _Lines:
    """The node lines, split into words; `buffer` has spaces in place of the letters in front."""

    def __init__(self, text: bytes) -> None:
        self.buffer: Bytes = np.frombuffer(text, dtype=np.uint8).copy()
        ends = np.flatnonzero(self.buffer == ord("\n")) + 1
        if text == b"\n":
            ends = ends[:0]
        self.starts: Ints = np.concatenate([[0], ends])
        self.kind: Bytes = self.buffer[self.starts[:-1]].copy()
        self._check_letters()
        self.buffer[self.starts[:-1]] = ord(" ")
        word = ~_SPACE[self.buffer]
        self.word_starts: Ints = np.flatnonzero(word & ~np.concatenate([[False], word[:-1]]))
        self.word_ends: Ints = np.flatnonzero(word & ~np.concatenate([word[1:], [False]])) + 1
        self.words: Ints = np.diff(np.searchsorted(self.word_starts, self.starts))
        self._check_words()

    def graph(self, schema: Schema) -> Graph:
        """The nodes as a circuit without a feature table."""
        numbers = self._whole_numbers()
        counts = self.words[self.kind != ord("n")]
        of_leaf = np.repeat(self.kind[self.kind != ord("n")] == ord("v"), counts)
        degree = np.where(self._inner, self.words, 0)
        child = numbers[~of_leaf]
        return Graph(
            schema,
            np.select([self.kind == ord("*"), self.kind == ord("+")], [PRODUCT, SUM], LEAF).astype(np.uint8),
            np.concatenate([[0], np.cumsum(degree)]),
            child,
            np.zeros(child.size),
            self._blocks(schema, numbers[of_leaf].reshape(-1, 2)),
        )

    @property
    def _inner(self) -> Bools:
        return np.isin(self.kind, list(b"*+"))

    def _blocks(self, schema: Schema, indicators: Ints) -> tuple[Block, ...]:
        node = np.flatnonzero(self.kind == ord("v"))
        column, state = indicators[:, 0], indicators[:, 1]
        known = column < len(schema)
        inside = np.zeros(node.size, dtype=np.bool_)
        inside[known] = state[known] < schema.cardinalities[column[known]]
        if not inside.all():
            line = int(node[~inside][0])
            raise ValueError(
                f"line {line + 2}: there is no variable {column[~inside][0]} or it lacks that state"
            )
        constant = np.flatnonzero(self.kind == ord("n"))
        blocks = (
            LeafBlock(FAMILIES["indicator"], node, column, state[:, None].astype(np.float64)),
            ConstantBlock(constant, self._log_constants()),
        )
        return tuple(b for b in blocks if b.node.size)

    def _check_letters(self) -> None:
        fine = np.isin(self.kind, list(b"vn*+"))
        after = np.minimum(self.starts[:-1] + 1, self.buffer.size - 1)
        fine &= _SPACE[self.buffer[after]]
        if not fine.all():
            raise ValueError(f"line {int(np.argmin(fine)) + 2}: a node starts with v, n, * or + and a space")

    def _check_words(self) -> None:
        wanted = np.select([self.kind == ord("v"), self.kind == ord("n")], [2, 1], np.maximum(self.words, 1))
        wrong = np.flatnonzero(wanted != self.words)
        if wrong.size:
            line = int(wrong[0])
            raise ValueError(f"line {line + 2}: {wanted[line]} numbers are expected, not {self.words[line]}")

    def _whole_numbers(self) -> Ints:
        """The numbers of all lines but those of constants, in order."""
        chosen = np.repeat(self.kind != ord("n"), np.diff(self.starts))
        self._check_bytes(chosen & ~_DIGIT[self.buffer])
        of_line = np.repeat(self.kind != ord("n"), self.words)
        long = np.flatnonzero(of_line & (self.word_ends - self.word_starts > LONGEST))
        if long.size:
            raise ValueError(f"line {self._line_at(int(self.word_starts[long[0]]))}: a number is too large")
        text = self.buffer[chosen].tobytes()
        return np.fromstring(text, dtype=np.int64, sep=" ") if of_line.any() else np.zeros(0, dtype=np.int64)

    def _log_constants(self) -> Floats:
        """The logarithms of the constants, in order."""
        chosen = np.repeat(self.kind == ord("n"), np.diff(self.starts))
        self._check_bytes(chosen & ~_NUMERIC[self.buffer])
        words = self.buffer[chosen].tobytes().split()
        values = np.array([number(w) for w in words])
        wrong = np.flatnonzero(~((values >= 0) & (values < np.inf)))
        if wrong.size:
            line = int(np.flatnonzero(self.kind == ord("n"))[wrong[0]]) + 2
            raise ValueError(f"line {line}: {quote_word(words[wrong[0]])} is not a finite number from 0 up")
        return text_logs([word.decode("ascii") for word in words], values)

    def _check_bytes(self, wrong: Bools) -> None:
        wrong = wrong & ~_SPACE[self.buffer]
        if wrong.any():
            at = int(wrong.argmax())
            raise ValueError(f"line {self._line_at(at)}: {chr(self.buffer[at])!r} is not part of a number")

    def _line_at(self, offset: int) -> int:
        return int(np.searchsorted(self.starts, offset, side="right")) + 1


# ---- writing of Libra's arithmetic circuits (`.ac`) -----------------------------------------------------
#
# Weights and leaves that the format does not know become constants and indicators first. Numbers keep all
# their digits, which Libra's own writer does not.


def write_ac(document: Document, path: Path) -> None:
    """Save a circuit over categorical columns; names of columns and states are lost.

    Raises:
        ValueError: if a column is not categorical, or a number does not fit the format.
    """
    warn_of_lost_roles(document.graph.schema, ".ac")
    write_text(path, ac_text(document.graph))


def ac_text(graph: Graph) -> str:
    """A circuit as the text of a .ac file.

    Raises:
        ValueError: if a column is not categorical, or a number does not fit the format.
    """
    for variable in graph.schema:
        if not variable.is_categorical:
            raise ValueError(
                f"a .ac file supports only categorical columns; column '{variable.name}' is {variable.kind}"
            )
    plain = graph if _is_arithmetic(graph) else to_ac(graph)
    sizes = " ".join(str(v.cardinality) for v in graph.schema)
    lines = [f"({sizes})", *_node_lines(plain), "EOF"]
    if plain.features is not None:
        lines += ["", *_feature_lines(plain.features), "EOF"]
    return "\n".join(lines) + "\n"


def _is_arithmetic(graph: Graph) -> bool:
    """Whether the circuit has unweighted sums, indicators and constants only."""
    plain = (isinstance(b, ConstantBlock) or b.name == Indicator.name for b in graph.blocks)
    return all(plain) and not graph.log_weight.any()


def _raw(log_value: float) -> str:
    """The number itself, which is what the format holds."""
    value = exp(log_value) if log_value < 709 else inf
    if value == inf or (value == 0 and log_value > -inf):
        raise ValueError(f"a constant with logarithm {log_value:g} cannot be represented in a .ac file")
    return decimal(value)


def _node_lines(graph: Graph) -> Iterator[str]:
    leaf = np.full(graph.nodes, "", dtype=object)
    for constants in graph.blocks_of(ConstantBlock):
        leaf[constants.node] = [f"n {_raw(value)}" for value in constants.log_value.tolist()]
    for indicators in graph.blocks_of(LeafBlock):
        cells = zip(indicators.column.tolist(), indicators.params[:, 0].tolist(), strict=True)
        leaf[indicators.node] = [f"v {column} {int(state)}" for column, state in cells]
    start, child = graph.start.tolist(), list(map(str, graph.child.tolist()))
    for node, kind in enumerate(graph.kind.tolist()):
        if kind == LEAF:
            yield leaf[node]
        else:
            yield f"{'*' if kind == PRODUCT else '+'} {' '.join(child[start[node] : start[node + 1]])}"


def _feature_lines(features: FeatureTable) -> Iterator[str]:
    """One line a feature; a feature whose leaf is not in the circuit cannot be said in this format."""
    cells = zip(features.equals.tolist(), features.column.tolist(), features.state.tolist(), strict=True)
    conditions = [f"{'+' if equals else '-'}v{column}_{state}" for equals, column, state in cells]
    start = features.start.tolist()
    for i, node in enumerate(features.node.tolist()):
        if node >= 0:
            yield " ".join([str(node), _raw(features.log_weight[i]), *conditions[start[i] : start[i + 1]]])
