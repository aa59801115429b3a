"""Rows as matrices of statistics, with the cells of rows in which some are missing."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit import Block, Graph, LeafBlock
from tractable.data import Schema, Table
from tractable.learning.joint.continuous.shape import COUNT, REAL, TreeShape
from tractable.learning.statistics.encoding import Encoding, Matrix

# ---- reordering of states by frequency ------------------------------------------------------------------
#
# The first state of a column is the reference state, which has no entry in a matrix of statistics. With
# the most frequent state first the matrix is sparse, and the model does not depend on the order of states
# in the schema. Ordinal states keep their order.


@dataclass(frozen=True, eq=False)
class StateOrder:
    """A reordering of the states of columns."""

    schema: Schema  # as users know it
    orders: dict[int, Ints]  # by column, the states in their new order; columns that keep theirs are left out

    def code(self, table: Table) -> Table:
        """The table with reordered states."""
        values = table.values.copy()
        for column, order in self.orders.items():
            seen = ~np.isnan(values[:, column])
            values[seen, column] = np.argsort(order)[values[seen, column].astype(np.int64)]
        return Table(self._coded_schema(), values, table.weights)

    def decode(self, graph: Graph) -> Graph:
        """A circuit over the original order of states."""
        if not self.orders:
            return graph
        blocks = tuple(self._decode_block(block) for block in graph.blocks)
        return replace(graph, schema=self.schema, blocks=blocks)

    def _coded_schema(self) -> Schema:
        return Schema(
            tuple(
                replace(v, states=tuple(v.states[i] for i in self.orders[c].tolist()))
                if c in self.orders
                else v
                for c, v in enumerate(self.schema)
            )
        )

    def _decode_block(self, block: Block) -> Block:
        if not isinstance(block, LeafBlock):
            return block
        params = block.params.copy()
        order = np.argsort(block.column, kind="stable")
        columns, first = np.unique(block.column[order], return_index=True)
        for column, here in zip(columns.tolist(), np.split(order, first)[1:], strict=True):
            if column in self.orders:
                params[here] = block.family.reorder_states(params[here], self.orders[column])
        return replace(block, params=params)


def frequent_first(table: Table) -> StateOrder:
    """The order of states by weight, ties by name."""
    orders: dict[int, Ints] = {}
    for column, variable in enumerate(table.schema):
        if variable.kind == "categorical":
            seen = ~np.isnan(table.values[:, column])
            code, weight = table.values[seen, column].astype(np.int64), table.row_weights[seen]
            count = np.bincount(code, weight, variable.cardinality).tolist()
            rank = sorted(range(len(count)), key=lambda s: (-count[s], repr(variable.states[s])))
            if rank != sorted(rank):
                orders[column] = np.array(rank, dtype=np.int64)
    return StateOrder(table.schema, orders)


SPARSE = 0.12  # a matrix with a smaller share of non-zeros than this is kept sparse


@dataclass(frozen=True, slots=True, eq=False)
class TreeRows:
    """The statistics of rows. Missing cells count as the first state, or as zero."""

    matrix: Matrix  # (rows, statistics)
    constant: Floats  # (rows,) the part of a row's log-density that depends on no parameter
    weights: Floats  # (rows,)
    incomplete: Bools  # (rows,) whether a cell is missing
    cells: Floats  # (rows, columns) codes and standardised numbers; none if no row is incomplete

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, rows: Ints) -> "TreeRows":
        """A subset of the rows."""
        cells = self.cells[rows] if len(self.cells) else self.cells
        return TreeRows(
            self.matrix[rows], self.constant[rows], self.weights[rows], self.incomplete[rows], cells
        )


def tree_rows(shape: TreeShape, encoding: Encoding, table: Table) -> TreeRows:
    """The statistics of the rows of a table, standardised like the encoding."""
    values, kind = table.values.copy(), shape.table.kind
    real, counted = np.flatnonzero(kind == REAL), np.flatnonzero(kind == COUNT)
    values[:, real] = values[:, real] / encoding.scale[real] - encoding.centre[real] / encoding.scale[real]
    missing = np.isnan(values)
    constant = -gammaln(np.nan_to_num(values[:, counted]) + 1.0).sum(axis=1)
    constant -= np.where(missing[:, real], 0.0, np.log(encoding.scale[real])).sum(axis=1)
    incomplete: Bools = np.logical_or.reduce(missing, axis=1)
    matrix = _matrix(shape, np.nan_to_num(values))
    kept = values if incomplete.any() else np.zeros((0, values.shape[1]))
    return TreeRows(matrix, constant, table.row_weights, incomplete, kept)


def _matrix(shape: TreeShape, values: Floats) -> Matrix:
    """The statistics of complete rows: marginal ones, and those given the parent's state."""
    dtype: type[np.floating[Any]] = np.float64 if shape.has_real else np.float32
    blocks: list[tuple[Ints, Ints, Floats]] = []
    for column in range(values.shape[1]):
        row = np.flatnonzero(values[:, column])
        x, base = values[row, column], np.zeros(row.size, dtype=np.int64)
        blocks += _entries(shape, column, row, x, base)
        if shape.table.parent[column] >= 0:
            above = values[row, shape.table.parent[column]].astype(np.int64)
            under = above > 0
            blocks += _entries(shape, column, row[under], x[under], above[under])
    rows, places, entries = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    size = (len(values), shape.statistics)
    matrix: Any = sparse.csr_array((entries.astype(dtype), (rows, places)), shape=size)
    return matrix if matrix.nnz < SPARSE * size[0] * size[1] else matrix.toarray()


def _entries(
    shape: TreeShape, column: int, row: Ints, x: Floats, above: Ints
) -> list[tuple[Ints, Ints, Floats]]:
    """Rows, positions and values of the non-zero statistics of a column given states of its parent."""
    base, linked = shape.table.cell[column].tolist()
    cell = np.where(above > 0, linked + above - 1, base)
    first, second = shape.table.row[cell].T
    if shape.table.kind[column] == REAL:
        return [(row, first, x), (row, second, x**2)]
    if shape.table.kind[column] == COUNT:
        return [(row, first, x)]
    return [(row, first + x.astype(np.int64) - 1, np.ones(row.size))]
