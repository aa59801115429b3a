"""A circuit made ready to run: a list of operations in an order that keeps few values alive.

Compiling simplifies while it lists: constants move into the weights above them, nodes with one child vanish,
and a sum over leaves of one column becomes a table. A number that was moved out of a node travels upwards as
a coefficient until a sum's weight takes it in; what arrives at the root is `log_factor`.

Operations over at most two states are cheap enough to be worked out wherever they are read, so leaves over
binary columns are no operations of their own but `leaf edges` of the sums and products above them.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bytes, Floats, Ints, UInt32s

LOOKUP, DENSE, ONE = 3, 4, 5  # kinds of operations, beside the PRODUCT and SUM of nodes
PLAIN, CHECKED, WIDE = 0, 1, 2  # how much care an operation needs; see `bounds` in schedule.py


class Program(NamedTuple):
    """Operations in the order they are run; the last one is the root. All arrays; kernels take it whole."""

    kind: Bytes  # (ops,) SUM, PRODUCT, LOOKUP (a table), DENSE (a value that comes with the row) or ONE
    care: Bytes  # (ops,) PLAIN: cannot leave the range of doubles; CHECKED: may; WIDE: its weights do
    start: Ints  # (ops + 1,) the edges to other operations
    operand: UInt32s  # (edges,) the operation below
    weight: Floats  # (edges,) one below a product
    weight_exponent: Floats  # (edges,) zero but in WIDE sums
    leaf_start: Ints  # (ops + 1,) the edges to binary leaves
    leaf: Ints  # (leaf edges,) the leaf below
    leaf_weight: Floats  # (leaf edges,)
    stride: Ints  # (ops,) how many leaf edges of a CHECKED product can be multiplied between two checks
    source: Ints  # (ops,) the leaf that a LOOKUP or DENSE operation reads
    slot: UInt32s  # (ops,) where the value lies when slots are used again
    operand_slot: UInt32s  # (edges,) slot[operand]
    matrix: (
        Ints  # (ops,) how many sums from here on are a matrix times the operations they share; see blocks.py
    )


class ValuePlaces(NamedTuple):
    """Where values lie in a tile."""

    slot: UInt32s  # (ops,)
    operand: UInt32s  # (edges,) the slot of the operation below
    own: bool  # whether every operation keeps the place of its number


def own_places(program: Program) -> ValuePlaces:
    """The layout in which every operation keeps a place of its own."""
    return ValuePlaces(np.arange(program.kind.size, dtype=np.uint32), program.operand, True)


class LeafTables(NamedTuple):
    """The distributions at the bottom: those of the circuit's leaves, then those that sums were merged to."""

    column: Ints  # (leaves,)
    offset: Ints  # (leaves + 1,) a leaf's states in log_value; an empty stretch for a number's leaf
    log_value: Floats  # (states of all leaves,)
    dense: Ints  # (leaves,) which line of the dense values a number's leaf reads; -1 for a categorical one

    @property
    def states(self) -> Ints:
        """The number of states of each leaf; zero for a number's. Shape (leaves,)."""
        return np.diff(self.offset)

    def with_room(self, leaves: int, entries: int) -> "LeafTables":
        """The tables with empty places at the end."""
        return LeafTables(
            np.concatenate([self.column, np.zeros(leaves, np.int64)]),
            np.concatenate([self.offset, np.zeros(leaves, np.int64)]),
            np.concatenate([self.log_value, np.zeros(entries)]),
            np.concatenate([self.dense, np.full(leaves, -1, np.int64)]),
        )

    def first(self, leaves: int) -> "LeafTables":
        """The tables of the first few leaves."""
        end = self.offset[leaves]
        return LeafTables(
            self.column[:leaves], self.offset[: leaves + 1], self.log_value[:end], self.dense[:leaves]
        )


class CompiledGraph(NamedTuple):
    """A program, the tables it reads and the factor that belongs to its root."""

    program: Program
    tables: LeafTables
    slots: int
    log_factor: float
    constant: (
        bool  # whether nothing depends on the row: the value is log_factor (-inf for a circuit that is zero)
    )
    dense_node: Ints  # (dense lines,) the leaf node behind each line of dense values
    origin: Ints  # (edges,) the circuit's edge behind each edge to another operation
    leaf_origin: Ints  # (leaf edges,) the circuit's edge behind each leaf edge
