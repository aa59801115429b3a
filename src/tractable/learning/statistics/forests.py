"""Forests over columns: found from gains of pairs of columns, and compiled to deterministic circuits.

In a forest a column has at most one parent, a categorical column. In its circuit a column with children has
a product for each of its states (the state's indicator, and the children given that state) and, for each
state of its parent, a sum over these products; a column without children has a leaf for each state of its
parent.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.progress import Watch
from tractable.circuit import Builder
from tractable.circuit.leaves import leaf_family, state_family
from tractable.data import Schema
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.leaf_choice import add_leaf
from tractable.learning.statistics.link_gains import link_gains, link_parameters

MOST_PARAMETERS = 4_000_000  # of a link between two columns of many states
ROUNDING = 1e-9  # nats a row below which a gain may be rounding error


class Forest(NamedTuple):
    """Columns under their parents."""

    parent: Ints  # (columns,) -1 for a root
    order: Ints  # (columns,) parents before their children

    def children(self) -> list[list[int]]:
        """The children of each column."""
        answer: list[list[int]] = [[] for _ in self.parent]
        for column in np.flatnonzero(self.parent >= 0).tolist():
            answer[self.parent[column]].append(column)
        return answer


def best_forest(gain: Floats, categorical: Bools) -> Forest:
    """The forest of maximum gain, each column below a categorical one; all its links gain something.

    `gain` is (columns, columns): entry (a, b) is the gain of b with parent a, which is symmetric between
    categorical columns.
    """
    columns = np.flatnonzero(categorical)
    parent = np.full(len(gain), -1, dtype=np.int64)
    order: list[int] = []
    for tree in _rooted_trees(maximum_spanning_links(gain[np.ix_(columns, columns)]), columns.size):
        for column, above in tree:
            order.append(int(columns[column]))
            parent[columns[column]] = columns[above] if above >= 0 else -1
    numbers = np.flatnonzero(~categorical)
    if columns.size and numbers.size:
        gains = gain[np.ix_(columns, numbers)]
        best = gains.argmax(axis=0)
        parent[numbers] = np.where(gains.max(axis=0) > 0, columns[best], -1)
    return Forest(parent, np.array([*order, *numbers.tolist()], dtype=np.int64))


def chow_liu_forest(
    encoding: Encoding, smoothing: float, link_cost: float = 0.0, watch: Watch | None = None
) -> Forest:
    """The forest of greatest log-likelihood, less `link_cost` for each parameter that a link adds.

    Pairs of columns that have more than `MOST_PARAMETERS`, or were not compared in time, are not linked.
    """
    gain = link_gains(encoding, smoothing, watch)
    parameters = link_parameters(encoding.schema)
    gain[(gain <= ROUNDING * encoding.total) | (parameters > MOST_PARAMETERS)] = 0.0
    return best_forest(gain - link_cost * parameters, categorical_mask(encoding.schema))


def maximum_spanning_links(gain: Floats) -> Ints:
    """The links of the spanning forest of maximum gain, among pairs of positive gain. Shape (links, 2)."""
    one, other = np.nonzero(np.triu(gain, 1) > 0)
    if not one.size:
        return np.zeros((0, 2), dtype=np.int64)
    cost = gain.max() + 1.0 - gain[one, other]  # positive, because scipy takes a cost of zero for no link
    graph = sparse.csr_array((cost, (one, other)), shape=gain.shape)
    tree = csgraph.minimum_spanning_tree(graph).tocoo()
    links = np.stack([tree.row, tree.col], axis=1).astype(np.int64)
    return links[np.lexsort((links[:, 1], links[:, 0]))]


def _rooted_trees(links: Ints, size: int) -> list[list[tuple[int, int]]]:
    """Each tree as pairs (node, parent) from its root down; rooted at its centre, it is shallow."""
    both = np.concatenate([links, links[:, ::-1]])
    graph = sparse.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(size, size))
    _, label = csgraph.connected_components(graph, directed=False)
    _, first = np.unique(label, return_index=True)
    trees = []
    for start in np.sort(first).tolist():
        order, above = csgraph.breadth_first_order(graph, _centre(graph, start), directed=False)
        trees.append([(node, max(-1, int(above[node]))) for node in order.tolist()])
    return trees


def _centre(graph: "sparse.csr_array", start: int) -> int:
    """The middle of a longest path of the tree that `start` is in."""
    far = int(csgraph.breadth_first_order(graph, start, directed=False)[0][-1])
    order, above = csgraph.breadth_first_order(graph, far, directed=False)
    path = [int(order[-1])]
    while path[-1] != far:
        path.append(int(above[path[-1]]))
    return path[len(path) // 2]


def forest_node(
    builder: Builder, forest: Forest, tables: Sequence[Floats], columns: Ints | None = None
) -> int:
    """The root node of the forest's circuit; `tables` has for each column a row for each state of its parent.

    A row is the log-probabilities of a categorical column's states, or the parameters of a numeric column's
    leaf. With `columns`, column j of the forest is column `columns[j]` of the builder.
    """
    place = np.arange(forest.parent.size) if columns is None else columns
    children = forest.children()
    nodes: list[list[int]] = [[] for _ in forest.parent]  # for each column, a node for each line of its table
    for column in forest.order[::-1].tolist():
        at = int(place[column])
        if not children[column]:
            nodes[column] = leaf_nodes(builder, at, tables[column])
            continue
        below = [nodes[child] for child in children[column]]
        states = [
            builder.product([builder.indicator(at, k), *(lines[k] for lines in below)])
            for k in range(builder.schema[at].cardinality)
        ]
        nodes[column] = [builder.sum(states, line) for line in tables[column]]
    return builder.product([nodes[root][0] for root in np.flatnonzero(forest.parent < 0).tolist()])


def leaf_nodes(builder: Builder, column: int, table: Floats) -> list[int]:
    """A leaf over the column for each row of a table."""
    variable = builder.schema[column]
    if not variable.is_categorical:
        return [add_leaf(builder, leaf_family(variable), column, line) for line in table]
    family = state_family(variable.cardinality)
    return [builder.leaf(family.name, column, line) for line in family.from_log_states(table).tolist()]


def categorical_mask(schema: Schema) -> Bools:
    """Which columns are categorical. Shape (columns,)."""
    return schema.cardinalities > 0
