"""A latent tree as a circuit.

A node with children has a product for each of its states (of what the children are given it, and if it is a
column the state's indicator) and for each state of its parent a sum over them; a node without children is a
column and has a leaf for each state of its parent.
"""

import numpy as np

from tractable.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.learners.latent_tree.start import Rooted
from tractable.statistics.estimates import default_family, state_params


def tree_circuit(tree: Rooted, tables: list[Floats]) -> Graph:
    """The circuit; `tables` hold for each node a line for each state of its parent, or one."""
    builder = Builder(tree.schema)
    children = tree.forest.children()
    nodes: list[list[int]] = [[] for _ in children]  # for each node, one for each line of its table
    for node in tree.forest.order[::-1].tolist():
        if not children[node]:
            nodes[node] = _leaves(builder, node, tables[node])
            continue
        below = [nodes[child] for child in children[node]]
        states = [
            builder.product([*_own(builder, tree, node, state), *(lines[state] for lines in below)])
            for state in range(int(tree.states[node]))
        ]
        nodes[node] = [builder.sum(states, line) for line in tables[node]]
    roots = np.flatnonzero(tree.forest.parent < 0).tolist()
    return builder.freeze(builder.product([nodes[root][0] for root in roots]))


def _own(builder: Builder, tree: Rooted, node: int, state: int) -> list[int]:
    return [] if tree.is_hidden(node) else [builder.indicator(node, state)]


def _leaves(builder: Builder, column: int, table: Floats) -> list[int]:
    variable = builder.schema[column]
    params = state_params(table) if variable.is_categorical else table
    family = default_family(variable)
    return [builder.leaf(family, column, line) for line in params.tolist()]
