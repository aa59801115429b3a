"""The same circuit or table with other roles of its columns."""

from dataclasses import replace

from tractable.circuit import Graph
from tractable.data import Schema, Table


def with_roles(graph: Graph, schema: Schema) -> Graph:
    """The circuit over the same columns with the roles of a schema."""
    return replace(graph, schema=schema)


def as_joint_table(table: Table) -> Table:
    """The same rows of a joint distribution: every column is a target."""
    schema = table.schema.with_targets(range(len(table.schema)))
    return Table(schema, table.values, table.weights, table.unseen)
