"""States in an order of their own: the most frequent one first.

The first state of a column is the one that all others are compared with, and that makes no entry in a matrix
of statistics. The most frequent one makes the matrix sparse, and the model does not depend on the order in
which a schema happens to list the states. States of ordinal columns keep their order.
"""

from dataclasses import dataclass, replace

import numpy as np

from tractable.base.arrays import Ints
from tractable.circuit import Block, Graph, LeafBlock
from tractable.data import Schema, Table


@dataclass(frozen=True, eq=False)
class StateOrder:
    """The states of some columns in another order."""

    schema: Schema  # as users know it
    orders: dict[int, Ints]  # by column, the states in their new order; columns that keep theirs are left out

    def code(self, table: Table) -> Table:
        """The table with states in the new order."""
        values = table.values.copy()
        for column, order in self.orders.items():
            seen = ~np.isnan(values[:, column])
            values[seen, column] = np.argsort(order)[values[seen, column].astype(np.int64)]
        return Table(self._coded_schema(), values, table.weights)

    def decode(self, graph: Graph) -> Graph:
        """A circuit over the states in the new order as one over those that users know."""
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
