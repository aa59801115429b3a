"""Decision diagrams: functions of a few columns with shared subfunctions.

A diagram has one level for each column of its scope, root first. A row of `children[l]` is a node of level l
with its child in level l + 1 for each state of that column; the last level points into `terms`. Equal rows
are one node, so zeros and context-specific independence make diagrams small. All operations process whole
levels as arrays, without recursion.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s, Ints
from tractable.data.schema import Schema
from tractable.networks.compiling.kernels import group_lines
from tractable.networks.compiling.order import CompileLimit
from tractable.networks.features import Box

# ---- the terminals of diagrams: products of a number and a node of the circuit, or numbers alone --------


NO_NODE = -1  # of a term that is a number alone


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Products of a number and a circuit node; a zero term has no node."""

    node: Int32s  # (terms,)
    log_number: Floats  # (terms,)

    @property
    def is_zero(self) -> Bools:
        """Which terms are zero. Shape (terms,)."""
        return np.isneginf(self.log_number)

    def take(self, index: Int32s | Ints) -> "Terms":
        """A selection of the terms."""
        return Terms(self.node[index], self.log_number[index])


def numbers(log_numbers: Floats) -> Terms:
    """Terms without nodes."""
    return Terms(np.full(log_numbers.shape, NO_NODE, dtype=np.int32), log_numbers)


def distinct_terms(terms: Terms) -> tuple[Terms, Int32s]:
    """The distinct terms, and the index of each term among them."""
    lines = np.empty((terms.node.size, 3), dtype=np.int32)
    lines[:, 0] = terms.node
    lines[:, 1:] = (terms.log_number + 0.0).view(np.int32).reshape(-1, 2)  # -0.0 becomes 0.0
    first, number = group_lines(lines)
    return terms.take(first), number


def distinct_numbers(log_values: Floats) -> tuple[Terms, Int32s]:
    """The distinct numbers of a table as terms, and the index of each entry, in the table's shape."""
    values, index = np.unique(log_values, return_inverse=True)
    return numbers(values), index.reshape(log_values.shape).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Diagram:
    """A function from the states of `columns` to terms."""

    columns: tuple[int, ...]  # deepest last
    children: tuple[Int32s, ...]  # level l: (nodes of the level, states of its column)
    terms: Terms

    @property
    def size(self) -> int:
        """The total number of entries of all levels."""
        return sum(c.size for c in self.children) + self.terms.node.size

    def width(self, level: int) -> int:
        """The number of nodes of a level, or of terms after the last level."""
        return len(self.children[level]) if level < len(self.columns) else self.terms.node.size

    @cached_property
    def zeros(self) -> tuple[int, ...]:
        """The node of each level, and the term, that is zero everywhere; -1 if there is none."""
        zeros = [_only(self.terms.is_zero)]
        for lines in reversed(self.children):
            zeros.append(-1 if zeros[-1] < 0 else _only((lines == zeros[-1]).all(axis=1)))
        return tuple(reversed(zeros))


def _only(chosen: np.ndarray) -> int:
    """The index of the first true element, or -1."""
    place = int(chosen.argmax()) if chosen.size else 0
    return place if chosen.size and chosen[place] else -1


def from_table(columns: tuple[int, ...], index: Int32s, terms: Terms) -> Diagram:
    """The diagram of a dense table of numbers of `terms`; axis l of `index` is the column of level l."""
    shape = index.shape
    terms, number = distinct_terms(terms)
    index = number[index]
    levels: list[Int32s] = []
    for axis in range(len(columns) - 1, -1, -1):
        lines, number = distinct_lines(index.reshape(-1, shape[axis]))
        levels.append(lines)
        index = number.reshape(shape[:axis])
    return Diagram(columns, tuple(reversed(levels)), terms)


def combine(
    f: Diagram,
    g: Diagram,
    position: dict[int, int],
    join: Callable[[Terms, Terms], Terms],
    limit: CompileLimit,
) -> Diagram:
    """The diagram of the product of f and g over the columns of both, in descending order of `position`.

    `join` multiplies each distinct pair of terms once. All pairs with a zero factor are merged.
    """
    columns = tuple(sorted({*f.columns, *g.columns}, key=position.__getitem__, reverse=True))
    pairs = np.zeros((1, 2), dtype=np.int32)
    depth_f = depth_g = 0
    levels: list[Int32s] = []
    for column in columns:
        in_f = depth_f < len(f.columns) and f.columns[depth_f] == column
        in_g = depth_g < len(g.columns) and g.columns[depth_g] == column
        left = f.children[depth_f][pairs[:, 0]] if in_f else pairs[:, :1]
        right = g.children[depth_g][pairs[:, 1]] if in_g else pairs[:, 1:]
        depth_f, depth_g = depth_f + in_f, depth_g + in_g
        both = _join_pairs(left, right, f.zeros[depth_f], g.zeros[depth_g])
        limit.spend(len(both))
        first, index = group_lines(both)
        levels.append(index.reshape(len(pairs), -1))
        pairs = both[first]
    return reduce_diagram(columns, levels, join(f.terms.take(pairs[:, 0]), g.terms.take(pairs[:, 1])))


def _join_pairs(left: Int32s, right: Int32s, zero_left: int, zero_right: int) -> Int32s:
    """The pairs of child nodes of each pair of nodes; pairs with a zero node are merged."""
    both = np.empty((left.shape[0], max(left.shape[1], right.shape[1]), 2), dtype=np.int32)
    both[..., 0] = left
    both[..., 1] = right
    zero = ((both[..., 0] == zero_left) & (zero_left >= 0)) | (
        (both[..., 1] == zero_right) & (zero_right >= 0)
    )
    both[zero] = (max(zero_left, 0), max(zero_right, 0))
    return both.reshape(-1, 2)


def without_last(diagram: Diagram, terms: Terms) -> Diagram:
    """The diagram without its deepest level, whose nodes become the given terms."""
    return reduce_diagram(diagram.columns[:-1], list(diagram.children[:-1]), terms)


def reduce_diagram(columns: tuple[int, ...], levels: list[Int32s], terms: Terms) -> Diagram:
    """An equivalent diagram in which equal terms and equal nodes are merged."""
    terms, number = distinct_terms(terms)
    reduced: list[Int32s] = []
    for level in reversed(levels):
        lines, number = distinct_lines(number[level])
        reduced.append(lines)
    return Diagram(columns, tuple(reversed(reduced)), terms)


def distinct_lines(lines: Int32s) -> tuple[Int32s, Int32s]:
    """The distinct rows of a matrix, and the index of each row among them."""
    first, number = group_lines(lines)
    return lines[first], number


# ---- decision diagrams of functions that are constant on disjoint boxes of states -----------------------
#
# The nodes of a level are the sets of boxes that are still possible given the states of the columns
# above.


def from_boxes(
    columns: tuple[int, ...], schema: Schema, boxes: list[Box], value: Terms, limit: CompileLimit
) -> Diagram:
    """The diagram over `columns` (root first) with the term `value[i]` in box i and `value[-1]` outside all.

    Boxes are disjoint; `value` has one more row than there are boxes.
    """
    alive: dict[int, int] = {(1 << len(boxes)) - 1: 0}
    levels: list[Int32s] = []
    for column in columns:
        allowed = _allowed_masks(column, schema[column].cardinality, boxes)
        following: dict[int, int] = {}
        lines = [[following.setdefault(m & a, len(following)) for a in allowed] for m in alive]
        limit.spend(len(lines) * len(allowed))
        levels.append(np.array(lines, dtype=np.int32))
        alive = following
    ends = np.array([m.bit_length() - 1 for m in alive], dtype=np.int64)
    return reduce_diagram(columns, levels, value.take(ends))


def _allowed_masks(column: int, states: int, boxes: list[Box]) -> list[int]:
    """For each state of a column, the boxes that contain it, as bits."""
    masks = [0] * states
    for number, box in enumerate(boxes):
        allowed = box.get(column)
        for state in range(states):
            if allowed is None or allowed[state]:
                masks[state] |= 1 << number
    return masks
