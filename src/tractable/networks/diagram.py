"""Decision diagrams: functions of a few columns whose equal parts are stored once.

A diagram has one level for each column of its scope, root first. A line of `children[l]` is a node of level l
and says, for each state of that column, which node of level l + 1 comes next; the last level points into
`terminal`. Equal lines are one node, so that zeros and context-specific independence make diagrams small.
Work goes level by level over whole arrays: nothing is recursive.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tractable.arrays import Ints
from tractable.networks.compile_limit import CompileLimit


@dataclass(frozen=True, slots=True, eq=False)
class Diagram:
    """A function from the states of `columns` to terminals, which are lines of whole numbers."""

    columns: tuple[int, ...]  # deepest last
    children: tuple[Ints, ...]  # level l: (nodes of the level, states of its column)
    terminal: Ints  # (distinct values, width)

    @property
    def size(self) -> int:
        """The number of entries of all levels."""
        return sum(c.size for c in self.children) + self.terminal.size


def from_table(columns: tuple[int, ...], index: Ints, terminal: Ints) -> Diagram:
    """The diagram of a dense table of numbers of `terminal`; axis l of `index` is the column of level l."""
    shape = index.shape
    terminal, number = distinct_terms(terminal)
    index = number[index]
    levels: list[Ints] = []
    for axis in range(len(columns) - 1, -1, -1):
        lines, number = distinct_lines(index.reshape(-1, shape[axis]))
        levels.append(lines)
        index = number.reshape(shape[:axis])
    return Diagram(columns, tuple(reversed(levels)), terminal)


def combine(
    f: Diagram, g: Diagram, position: dict[int, int], join: Callable[[Ints, Ints], Ints], limit: CompileLimit
) -> Diagram:
    """The diagram of `join(f, g)` over the columns of both, in descending order of `position`.

    `join` gets each pair of terminals that occurs, once.
    """
    columns = tuple(sorted({*f.columns, *g.columns}, key=position.__getitem__, reverse=True))
    left, right = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    depth_f = depth_g = 0
    levels: list[Ints] = []
    for column in columns:
        in_f = depth_f < len(f.columns) and f.columns[depth_f] == column
        in_g = depth_g < len(g.columns) and g.columns[depth_g] == column
        next_left = f.children[depth_f][left] if in_f else left[:, None]
        next_right = g.children[depth_g][right] if in_g else right[:, None]
        depth_f, depth_g = depth_f + in_f, depth_g + in_g
        width = _level_size(g, depth_g)
        keys = next_left * width + next_right
        limit.spend(keys.size)
        pairs, index = np.unique(keys, return_inverse=True)
        levels.append(index.reshape(left.size, -1))
        left, right = pairs // width, pairs % width
    return reduce_diagram(columns, levels, join(f.terminal[left], g.terminal[right]))


def _level_size(diagram: Diagram, level: int) -> int:
    return len(diagram.children[level]) if level < len(diagram.columns) else len(diagram.terminal)


def without_last(diagram: Diagram, terminal: Ints) -> Diagram:
    """The diagram without its deepest level, whose nodes become the given terminals."""
    return reduce_diagram(diagram.columns[:-1], list(diagram.children[:-1]), terminal)


def reduce_diagram(columns: tuple[int, ...], levels: list[Ints], values: Ints) -> Diagram:
    """The same function with equal terminals and equal nodes made one, from the deepest level up."""
    terminal, number = distinct_terms(values)
    reduced: list[Ints] = []
    for level in reversed(levels):
        lines, number = distinct_lines(number[level])
        reduced.append(lines)
    return Diagram(columns, tuple(reversed(reduced)), terminal)


def distinct_terms(lines: Ints) -> tuple[Ints, Ints]:
    """The different lines of a matrix of any numbers, and which of them each line is."""
    small = np.unique(lines, return_inverse=True)[1].reshape(lines.shape)
    first, number = _group_lines(small)
    return lines[first], number


def distinct_lines(lines: Ints) -> tuple[Ints, Ints]:
    """The different lines of a matrix of numbers from 0 up and not large, and which of them each line is."""
    first, number = _group_lines(lines)
    return lines[first], number


def _group_lines(lines: Ints) -> tuple[Ints, Ints]:
    """The first of each group of equal lines, and the group of each line."""
    if len(lines) == 1:  # as when many factors without columns are multiplied, one after the other
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    key = lines[:, 0]
    base = int(lines.max(initial=0)) + 1
    for column in range(1, lines.shape[1]):
        key = np.unique(key, return_inverse=True)[1].reshape(-1) * base + lines[:, column]
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return first, number.reshape(-1)
