"""A compiled circuit: a list of operations in an order that keeps few values alive.

Compiling simplifies the circuit: constants move into the weights above them, nodes with one child are
removed, and a sum over leaves of one column becomes a table. A number that was moved out of a node travels
upwards as a coefficient until it becomes part of the weight of a sum; what arrives at the root is
`log_factor`.

A leaf over a column of at most two states is cheap enough to be evaluated wherever it is read, so such leaves
are no operations of their own but `leaf edges` of the sums and products above them.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints, UInt32s

LOOKUP, DENSE, ONE = 3, 4, 5  # kinds of operations, beside the PRODUCT and SUM of nodes
PLAIN, CHECKED, WIDE, CARRIED, STEPWISE = 0, 1, 2, 3, 4  # how much care an operation needs; see scaling.py


class Program(NamedTuple):
    """Operations in the order in which they are run, the root last; all are arrays, as kernels need them."""

    kind: Bytes  # (ops,) SUM, PRODUCT, LOOKUP (a table), DENSE (a value that comes with the row) or ONE
    care: Bytes  # (ops,) PLAIN: never has exponents; CARRIED: needs no check; CHECKED: one at its end;
    # STEPWISE: checks on its way; WIDE: its weights have exponents
    start: Ints  # (ops + 1,) the edges to other operations
    operand: UInt32s  # (edges,) the operation below
    weight: Floats  # (edges,) one below a product
    weight_exponent: Floats  # (edges,) zero but in WIDE sums
    leaf_start: Ints  # (ops + 1,) the edges to binary leaves
    leaf: Ints  # (leaf edges,) the leaf below
    leaf_weight: Floats  # (leaf edges,)
    stride: Ints  # (ops,) how many leaf edges of a STEPWISE product can be multiplied between two checks
    source: Ints  # (ops,) the leaf that a LOOKUP or DENSE operation reads
    slot: UInt32s  # (ops,) where the value lies when slots are used again
    operand_slot: UInt32s  # (edges,) slot[operand]
    matrix: (
        Ints  # (ops,) how many sums from here on are a matrix times the operations they share; see blocks.py
    )
    is_plain: bool  # whether all operations are PLAIN
    has_matrices: bool


class ValuePlaces(NamedTuple):
    """The places of the values of operations in a tile."""

    slot: UInt32s  # (ops,)
    operand: UInt32s  # (edges,) the slot of the operation below
    own: bool  # whether every operation has a place of its own, in their order


def own_places(program: Program) -> ValuePlaces:
    """The places when every operation has one of its own."""
    return ValuePlaces(np.arange(program.kind.size, dtype=np.uint32), program.operand, True)


class LeafTables(NamedTuple):
    """The distributions of the leaves of the circuit, and after them those that sums were merged into."""

    column: Ints  # (leaves,)
    offset: Ints  # (leaves + 1,) a leaf's states in log_value; nothing for the leaf of a numeric column
    log_value: Floats  # (states of all leaves,)
    dense: Ints  # (leaves,) the line of the dense values of a numeric column; -1 for a categorical one

    @property
    def states(self) -> Ints:
        """The number of states of each leaf; zero over a numeric column. Shape (leaves,)."""
        return np.diff(self.offset)

    def with_room(self, leaves: int, entries: int) -> "LeafTables":
        """The tables with room for more leaves at the end."""
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
    """A program, the tables that it reads and the factor that its root is multiplied by."""

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
