"""Conversion of a latent tree to a circuit.

A node with children has a product for each of its states (of the children given that state and, if the node
is a column, the state's indicator) and a sum over these products for each state of its parent. A node without
children is a column and has a leaf for each state of its parent.
"""

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Builder, Graph
from tractable.learning.joint.latent_tree.start import RootedTree
from tractable.learning.statistics.forests import leaf_nodes


def tree_circuit(tree: RootedTree, tables: list[Floats]) -> Graph:
    """The circuit; `tables` has for each node a row for each state of its parent, or a single one."""
    builder = Builder(tree.schema)
    children = tree.forest.children()
    nodes: list[list[int]] = [
        [] for _ in children
    ]  # for each node of the tree, one for each row of its table
    for node in tree.forest.order[::-1].tolist():
        if not children[node]:
            nodes[node] = leaf_nodes(builder, node, tables[node])
            continue
        below = [nodes[child] for child in children[node]]
        states = [
            builder.product([*_own(builder, tree, node, state), *(lines[state] for lines in below)])
            for state in range(int(tree.states[node]))
        ]
        nodes[node] = [builder.sum(states, line) for line in tables[node]]
    roots = np.flatnonzero(tree.forest.parent < 0).tolist()
    return builder.freeze(builder.product([nodes[root][0] for root in roots]))


def _own(builder: Builder, tree: RootedTree, node: int, state: int) -> list[int]:
    return [] if tree.is_hidden(node) else [builder.indicator(node, state)]
