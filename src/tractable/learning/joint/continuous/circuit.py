"""Conversion of a mixture of trees of one structure to a circuit.

The nodes of all trees that correspond to each other have consecutive numbers. Indicators are shared by all
trees.
"""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import LEAF, PRODUCT, SUM, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble, concatenate_edges
from tractable.circuit.leaves import Indicator
from tractable.circuit.shapes import declare_shape
from tractable.learning.joint.continuous.trees import Trees
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.estimates import gaussian_params, state_params
from tractable.learning.statistics.leaf_choice import statistics_family


def mixture_circuit(trees: Trees, log_weight: Floats, encoding: Encoding) -> Graph:
    """The circuit of trees with the given log-weights."""
    growth = _Growth(trees, encoding)
    forest = trees.shape.forest
    children = forest.children()
    nodes: list[list[Ints]] = [[] for _ in forest.parent]  # for each column, a group for each parent's state
    for column in forest.order[::-1].tolist():
        below = [nodes[child] for child in children[column]]
        nodes[column] = growth.inner(column, below) if below else growth.leaves(column)
    roots = growth.product([nodes[root][0] for root in np.flatnonzero(forest.parent < 0).tolist()])
    exact = log_weight.astype(np.float64)
    return growth.freeze(roots, exact - np.logaddexp.reduce(exact))


class _Growth:
    """Groups of nodes, one node for each tree."""

    def __init__(self, trees: Trees, encoding: Encoding) -> None:
        self.encoding = encoding
        self.table, self.parent = trees.shape.table, trees.shape.forest.parent
        self.theta, self.log_partition = trees.theta, trees.log_partition
        self.size = int(self.theta.shape[1])
        self.count = 0
        self.kinds: list[Ints] = []
        self.edges: list[Edges] = []
        self.blocks: list[LeafBlock] = []

    def leaves(self, column: int) -> list[Ints]:
        """A group of leaves for each state of the parent."""
        variable = self.encoding.schema[column]
        groups = []
        for cell in self._cells(column):
            params = state_params(self._log_probs(column, cell)) if variable.is_categorical else None
            if params is None:
                params = self._number_params(column, cell)
            groups.append(self._new(LEAF, self.size))
            column_of_each = np.full(self.size, column)
            family = statistics_family(variable)
            self.blocks.append(LeafBlock(family, groups[-1], column_of_each, params))
        return groups

    def inner(self, column: int, below: list[list[Ints]]) -> list[Ints]:
        """Groups of sums for the states of the parent, over groups of products for those of the column."""
        states = self.encoding.schema[column].cardinality
        indicator = self._new(LEAF, states)
        codes = np.arange(states, dtype=np.float64)[:, None]
        self.blocks.append(LeafBlock(Indicator(), indicator, np.full(states, column), codes))
        products = np.stack([
            self.product([np.full(self.size, indicator[s]), *(groups[s] for groups in below)])
            for s in range(states)
        ])  # fmt: skip
        return [self._sum(products, self._log_probs(column, cell)) for cell in self._cells(column)]

    def product(self, children: list[Ints]) -> Ints:
        """The products of groups; a single group is returned unchanged."""
        if len(children) == 1:
            return children[0]
        group = self._new(PRODUCT, self.size)
        self._link(group, np.stack(children, axis=1), np.zeros((self.size, len(children))))
        return group

    def freeze(self, roots: Ints, log_weight: Floats) -> Graph:
        """The circuit: one sum over all trees, or a single tree."""
        top = self._new(SUM, 1)
        self._link(top, roots[None, :], log_weight[None, :])
        kinds, edges = np.concatenate(self.kinds), concatenate_edges(self.edges)
        root = int(roots[0]) if self.size == 1 else int(top[0])
        return declare_shape(assemble(self.encoding.schema, kinds, edges, self.blocks, root))

    def _sum(self, products: Ints, log_weight: Floats) -> Ints:
        group = self._new(SUM, self.size)
        self._link(group, products.T, log_weight)
        return group

    def _link(self, parents: Ints, children: Ints, log_weight: Floats) -> None:
        """Edges from parents to (parents, children)."""
        many = children.shape[1]
        self.edges.append(Edges(np.repeat(parents, many), children.ravel(), log_weight.ravel()))

    def _new(self, kind: int, size: int) -> Ints:
        self.kinds.append(np.full(size, kind))
        self.count += size
        return np.arange(self.count - size, self.count)

    def _cells(self, column: int) -> list[int]:
        """The cells of a column, one for each state of its parent."""
        base, linked = self.table.cell[column].tolist()
        many = 0 if self.parent[column] < 0 else int(self.table.states[self.parent[column]]) - 1
        return [base, *range(linked, linked + many)]

    def _log_probs(self, column: int, cell: int) -> Floats:
        """The log-probabilities of the states of a categorical column. Shape (trees, states)."""
        first, states = int(self.table.row[cell, 0]), int(self.table.states[column])
        odds = self.theta[first : first + states - 1].T.astype(np.float64)
        logs = np.concatenate([np.zeros((self.size, 1)), odds], axis=1)
        return logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)

    def _number_params(self, column: int, cell: int) -> Floats:
        """The parameters of leaves over a numeric column. Shape (trees, width)."""
        first, second = self.table.row[cell].tolist()
        if self.encoding.schema[column].kind == "count":
            return np.asarray(self.theta[first][:, None], dtype=np.float64)
        variance = -0.5 / self.theta[second].astype(np.float64)
        return gaussian_params(self.encoding, column, self.theta[first] * variance, variance)
