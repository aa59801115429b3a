"""Recursive division of a table into blocks of rank one (SPN-SVD).

Each block of the table is divided into three: the block of rank one that `extract_block` finds, the other
columns of its rows, and the other rows. The first two are independent and form a product, and the third is an
alternative to it. The third parts form long chains, so that nothing here calls itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal, NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.progress import Key, Watch
from tractable.learning.statistics.number_matrix import NumberMatrix, standardised

# ---- a block of a matrix that is nearly of rank one: `extractR1` of Adel, Balduzzi and Ghodsi (2015) ----
#
# The power method for the first pair of singular vectors runs on a block that it chooses itself: after
# each half of a step, the columns (or the rows) are kept whose part along the other singular vector is
# more than the share 1 / gamma of their squared length.
#
# Each half of a step maximises the same objective over one side, with the other side held: the sum over
# the block of gamma times the squared part along the singular vector, less the squared length. So the
# objective never falls, no block is visited twice, and the alternation ends. In the terms of equation 3
# of the paper this is its objective with a penalty of gamma / (gamma - 1).


MOST_STEPS = 500  # of the alternation; a few are usual
TOLERANCE = 1e-9  # a step that gains a smaller share of the matrix's squared length is the last one


class Extraction(NamedTuple):
    """An extracted block."""

    rows: Bools  # (rows,)
    columns: Bools  # (columns,)
    objective: Floats  # (steps,) after each step

    @property
    def is_everything(self) -> bool:
        """Whether the block is empty or the whole matrix, so that nothing can be separated."""
        return bool((self.rows.all() and self.columns.all()) or not self.rows.any() or not self.columns.any())


def extract_block(matrix: NumberMatrix, gamma: float) -> Extraction:
    """A block that is nearly of rank one, starting with the longest column.

    The numbers are divided by their standard deviations first. The longest singular vectors win, so that the
    same matrix always gives the same block.
    """
    x = standardised(matrix)
    square = x**2
    total = float(matrix.weights @ square.sum(axis=1))
    u = x[:, int(np.argmax(_column_lengths(matrix, matrix.weights @ square)))]
    rows = np.ones(len(x), dtype=np.bool_)
    columns = np.zeros(matrix.columns, dtype=np.bool_)
    reached: list[float] = []
    while len(reached) < MOST_STEPS:
        weight = matrix.weights * rows
        v = (weight * u) @ x / _length(u, weight)
        columns = np.bincount(matrix.owner, gamma * v**2 - weight @ square, matrix.columns) > 0.0
        inside = columns[matrix.owner]
        v = np.where(inside, v, 0.0)
        u = x @ (v / _length(v, inside))
        gain = gamma * u**2 - square @ inside
        rows = gain > 0.0
        reached.append(float(matrix.weights @ np.maximum(gain, 0.0)))
        if reached[-1] - (reached[-2] if len(reached) > 1 else 0.0) <= TOLERANCE * gamma * total:
            break
    return Extraction(rows, columns, np.array(reached))


def _column_lengths(matrix: NumberMatrix, squared: Floats) -> Floats:
    """The squared length of the column of each number that is the longest of its column, else zero."""
    column = np.bincount(matrix.owner, squared, matrix.columns)[matrix.owner]
    best = np.zeros(matrix.columns)
    np.maximum.at(best, matrix.owner, squared)
    return np.where(squared == best[matrix.owner], column, -1.0)


def _length(vector: Floats, weight: Floats | Bools) -> float:
    """The weighted length, or one if it is zero, to divide by."""
    return float(np.sqrt(weight @ vector**2)) or 1.0


Kind = Literal["instances", "independent", "product", "sum"]


@dataclass(slots=True)
class Block:
    """A block of rows and columns, and its division."""

    rows: Ints
    columns: Ints
    weight: float  # of the rows
    kind: Kind = "instances"
    children: list[int] = field(default_factory=list)  # numbers of later blocks


class Division(NamedTuple):
    """The rows and columns of the rank-one part of a block."""

    rows: Bools
    columns: Bools


DIVISIONS = Key(__name__, "divisions", list[Division | None])


class BlockTree:
    """The blocks of a table, the first of which is the whole; the largest that waits is divided next."""

    def __init__(self, matrix: NumberMatrix) -> None:
        every_row, every_column = np.arange(len(matrix.values)), np.arange(matrix.columns)
        self._matrix = matrix
        self.blocks = [Block(every_row, every_column, float(matrix.weights.sum()))]
        self._waiting = [(-_size(self.blocks[0]), 0)]

    @property
    def finished(self) -> int:
        """The number of blocks that are divided or final."""
        return len(self.blocks) - len(self._waiting)

    def next_block(self) -> Block | None:
        """The largest waiting block, or None."""
        return self.blocks[self._waiting[0][1]] if self._waiting else None

    def apply(self, division: Division | None) -> None:
        """Divide the next block, or mark it as final."""
        block = self.blocks[heappop(self._waiting)[1]]
        if division is not None:
            for number in _add_parts(self._matrix, self.blocks, block, division):
                heappush(self._waiting, (-_size(self.blocks[number]), number))

    def give_up(self) -> None:
        """Mark all waiting blocks as final, with independent columns."""
        for _, number in self._waiting:
            self.blocks[number].kind = "independent"
        self._waiting = []


def find_divisions(matrix: NumberMatrix, gamma: float, watch: Watch) -> list[Division | None]:
    """The divisions of the blocks of a table in the order of a `BlockTree`, as far as there is time.

    Divisions of an earlier run are reused.
    """
    tree = BlockTree(matrix)
    divisions = watch.checkpoint(DIVISIONS) or []
    for division in divisions:
        tree.apply(division)
    while (block := tree.next_block()) is not None and not watch.should_stop():
        divisions.append(_divide(matrix, block, gamma))
        tree.apply(divisions[-1])
        watch.report("extracting blocks of rank one", tree.finished, len(tree.blocks))
        watch.save_checkpoint(DIVISIONS, lambda: divisions)
    return divisions


def divide_table(matrix: NumberMatrix, divisions: Sequence[Division | None]) -> list[Block]:
    """The blocks after some divisions; columns of those that were not reached are independent."""
    tree = BlockTree(matrix)
    for division in divisions:
        tree.apply(division)
    tree.give_up()
    return tree.blocks


def _size(block: Block) -> int:
    return block.rows.size * block.columns.size


def _divide(matrix: NumberMatrix, block: Block, gamma: float) -> Division | None:
    """The part of rank one; None for a base case: one column, one row, or nothing to separate."""
    if block.columns.size <= 1 or block.rows.size <= 1:
        return None
    block_rows = extract_block(matrix.part(block.rows, block.columns), gamma)
    return None if block_rows.is_everything else Division(block_rows.rows, block_rows.columns)


def _add_parts(matrix: NumberMatrix, blocks: list[Block], block: Block, division: Division) -> list[int]:
    """Add the parts of a block to the list; returns the numbers of those that are to be divided further."""
    rows, others = block.rows[division.rows], block.rows[~division.rows]
    inside, outside = block.columns[division.columns], block.columns[~division.columns]

    def add(part_rows: Ints, columns: Ints) -> int:
        blocks.append(Block(part_rows, columns, float(matrix.weights[part_rows].sum())))
        return len(blocks) - 1

    host = block
    if others.size:
        block.kind = "sum"
        block.children = [add(rows, block.columns), add(others, block.columns)]
        host = blocks[block.children[0]]
    if not outside.size:
        return block.children
    host.kind = "product"
    host.children = [add(rows, inside), add(rows, outside)]
    return host.children + block.children[1:] if others.size else host.children
