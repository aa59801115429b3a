"""The common structure of all trees of a continuous mixture, and the numbering of their parameters.

A *cell* is the distribution of one column given one state of its parent in the forest; a column without a
parent has one cell. Every cell is an exponential family: up to a term that depends only on x, its log-density
is T(x) theta - A(theta). Its statistics T are

- for a categorical column, whether x is in each state but the first;
- for a real column, x and its square;
- for a count, x.

The cells of all columns given the first state of their parents come first (the *base* cells), then those
given the other states (the *linked* cells); each half has its categorical cells first, then the real ones,
then the counts. Statistics are numbered in the order of the cells, but all squares of a half come after its
values.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from tractable.base.arrays import Floats, Ints
from tractable.data import Schema
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.estimates import least_variances
from tractable.learning.statistics.forests import Forest

CATEGORICAL, REAL, COUNT = 0, 1, 2
MOST_LINKED = 4096  # statistics that a link may add; columns with more are left without a parent
FLOOR = 1e-3  # the least variance of a cell of a standardised real column


@dataclass(frozen=True, slots=True, eq=False)
class Half:
    """The base cells or the linked cells, in the form of `families.py`."""

    column: Ints  # (cells,)
    state: Ints  # (cells,) of the parent
    owner: Ints  # (categorical statistics,) the cell of each
    filled: Ints  # the categorical cells that have statistics
    first: Ints  # (filled,) the first statistic of each of those
    categorical: int  # categorical cells
    real: int  # cells of real columns
    counts: int  # cells of counts
    floor: Floats  # (real, 1) the least variances

    @property
    def statistics(self) -> int:
        """The number of statistics."""
        return self.owner.size + 2 * self.real + self.counts

    @property
    def values(self) -> slice:
        """The statistics that are values of real columns."""
        return slice(self.owner.size, self.owner.size + self.real)

    @property
    def squares(self) -> slice:
        """The statistics that are squares."""
        return slice(self.values.stop, self.values.stop + self.real)

    @property
    def counted(self) -> slice:
        """The statistics that are counts."""
        return slice(self.squares.stop, self.squares.stop + self.counts)

    @property
    def real_cells(self) -> slice:
        """The cells of real columns."""
        return slice(self.categorical, self.categorical + self.real)

    @property
    def count_cells(self) -> slice:
        """The cells of counts."""
        return slice(self.categorical + self.real, self.categorical + self.real + self.counts)

    def rows(self) -> tuple[Ints, Ints]:
        """The index of the first statistic of each cell, and that of its square (or the first again)."""
        first = np.zeros(self.column.size, dtype=np.int64)
        first[self.filled] = self.first
        first[self.real_cells] = np.arange(self.values.start, self.values.stop)
        first[self.count_cells] = np.arange(self.counted.start, self.counted.stop)
        second = first.copy()
        second[self.real_cells] = np.arange(self.squares.start, self.squares.stop)
        return first, second


class CellTable(NamedTuple):
    """The cells and statistics of each column as arrays for compiled functions."""

    kind: Ints  # (columns,) CATEGORICAL, REAL or COUNT
    states: Ints  # (columns,) zero for a number
    parent: Ints  # (columns,)
    order: Ints  # (columns,) parents before children
    child_start: Ints  # (columns + 1,)
    child: Ints  # (linked columns,)
    cell: Ints  # (columns, 2) the base cell, and the first linked cell (-1 without a parent)
    row: Ints  # (cells, 2) the first statistic and that of the square


@dataclass(frozen=True, slots=True, eq=False)
class TreeShape:
    """A forest over the columns of a schema, with the numbering of its cells and statistics."""

    schema: Schema
    forest: Forest
    base: Half
    linked: Half
    of: Ints  # (linked statistics,) the base statistic of the same column and state
    base_of: Ints  # (linked cells,) the base cell of the same column
    above: Ints  # (linked cells,) the base statistic that tells whether the parent has that state
    sum_of: "sparse.csr_array"  # (base statistics, linked statistics) sums over those of one base statistic
    sum_cells: "sparse.csr_array"  # (base cells, linked cells) sums over those of one column
    sum_above: "sparse.csr_array"  # (base statistics, linked cells) sums over those below one state
    table: CellTable

    @property
    def cells(self) -> int:
        """The number of all cells."""
        return self.base.column.size + self.linked.column.size

    @property
    def statistics(self) -> int:
        """The number of all statistics."""
        return self.base.statistics + self.linked.statistics

    @property
    def has_real(self) -> bool:
        """Whether there is a real column."""
        return self.base.real > 0


def tree_shape(encoding: Encoding, forest: Forest) -> TreeShape:
    """The structure of a forest without edges that would add very many statistics."""
    schema = encoding.schema
    forest = _without_wide_links(schema, forest)
    kind = np.array([_kind(v.is_categorical, v.kind) for v in schema], dtype=np.int64)
    floor = np.maximum(FLOOR, least_variances(encoding))
    columns = np.argsort(kind, kind="stable")
    states_above = np.where(forest.parent >= 0, schema.cardinalities[forest.parent], 1)
    base = _half(schema, kind, columns, np.zeros(columns.size, dtype=np.int64), floor)
    many = states_above[columns] - 1
    column = np.repeat(columns, many)
    state = np.arange(column.size) - np.repeat(np.cumsum(many) - many, many) + 1
    linked = _half(schema, kind, column, state, floor)
    return _join(schema, forest, kind, base, linked)


def _kind(is_categorical: bool, kind: str) -> int:
    return CATEGORICAL if is_categorical else COUNT if kind == "count" else REAL


def _without_wide_links(schema: Schema, forest: Forest) -> Forest:
    """The forest without edges between two columns of very many states."""
    parent, states = forest.parent.copy(), schema.cardinalities
    added = (states[parent] - 1) * np.maximum(states - 1, 2)
    parent[(parent >= 0) & (added > MOST_LINKED)] = -1
    return Forest(parent, forest.order)


def _half(schema: Schema, kind: Ints, column: Ints, state: Ints, floor: Floats) -> Half:
    """The cells of columns, ordered by kind, given states of their parents."""
    size = np.where(kind[column] == CATEGORICAL, schema.cardinalities[column] - 1, 0)
    categorical = int((kind[column] == CATEGORICAL).sum())
    real = column[kind[column] == REAL]
    owner = np.repeat(np.arange(column.size), size)
    filled = np.flatnonzero(size)
    return Half(
        column, state, owner, filled, (np.cumsum(size) - size)[filled], categorical, real.size,
        column.size - categorical - real.size, floor[real][:, None],
    )  # fmt: skip


def _join(schema: Schema, forest: Forest, kind: Ints, base: Half, linked: Half) -> TreeShape:
    """Both halves, and the mapping from the linked to the base cells."""
    base_cell = np.argsort(base.column)
    base_of = base_cell[linked.column]
    first, second = base.rows()
    linked_first, linked_second = linked.rows()
    of = np.zeros(linked.statistics, dtype=np.int64)
    here = linked.owner
    of[: here.size] = first[base_of[here]] + np.arange(here.size) - linked_first[here]
    for part in (linked.real_cells, linked.count_cells):
        of[linked_first[part]] = first[base_of[part]]
        of[linked_second[part]] = second[base_of[part]]
    above = first[base_cell[forest.parent[linked.column]]] + linked.state - 1
    linked_cell = np.full(kind.size, -1, dtype=np.int64)
    linked_cell[linked.column[::-1]] = base.column.size + np.arange(linked.column.size)[::-1]
    rows = np.concatenate([
        np.stack([first, second], axis=1), base.statistics + np.stack([linked_first, linked_second], axis=1)
    ])  # fmt: skip
    children = forest.children()
    table = CellTable(
        kind, schema.cardinalities, forest.parent, forest.order,
        np.cumsum([0, *(len(c) for c in children)]),
        np.array([c for some in children for c in some], dtype=np.int64),
        np.stack([base_cell, linked_cell], axis=1), rows,
    )  # fmt: skip
    adders = (
        _adder(of, base.statistics), _adder(base_of, base.column.size), _adder(above, base.statistics)
    )  # fmt: skip
    return TreeShape(schema, forest, base, linked, of, base_of, above, *adders, table)


def _adder(group: Ints, groups: int) -> "sparse.csr_array":
    """The matrix (groups, members) that sums the members of groups."""
    ones = np.ones(group.size, dtype=np.int8)
    return sparse.csr_array((ones, (group, np.arange(group.size))), shape=(groups, group.size))
