"""The feature table of a `.ac` file: each line a node that carries a feature, a weight and conditions."""

from math import inf, nan

import numpy as np

from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import Graph
from tractable.formats.features import Condition, FeatureLine, check_features, feature_table

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
