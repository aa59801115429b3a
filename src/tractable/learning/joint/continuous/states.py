"""Reordering of states by frequency.

The first state of a column is the reference state, which has no entry in a matrix of statistics. With the
most frequent state first the matrix is sparse, and the model does not depend on the order of states in the
schema. Ordinal states keep their order.
"""

from dataclasses import dataclass, replace

import numpy as np

from tractable.base.arrays import Ints
from tractable.circuit import Block, Graph, LeafBlock
from tractable.data import Schema, Table


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
