"""The circuit during elimination: layers of products and sums."""

import numpy as np

from tractable.base.arrays import Bytes, Floats, Int32s, Ints
from tractable.circuit.assemble import renumbered_blocks, renumbered_features, state_leaves
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.reach import reachable
from tractable.data.schema import Schema
from tractable.networks.compiling.lines import group_lines
from tractable.networks.compiling.terms import NO_NODE, Terms


class CircuitLayers:
    """Nodes with children before parents: indicators of all states, constants, then the added layers."""

    def __init__(self, schema: Schema, log_constants: Floats) -> None:
        self.schema = schema
        self._first = np.concatenate([[0], np.cumsum(schema.cardinalities)])  # each column's first indicator
        self._leaves = state_leaves(schema.cardinalities, log_constants)
        self.constants: Ints = self._first[-1] + np.arange(log_constants.size)
        self.nodes = int(self._first[-1]) + log_constants.size
        self._kind: list[Bytes] = [np.full(self.nodes, LEAF, dtype=np.uint8)]
        self._degree: list[Int32s] = [np.zeros(self.nodes, dtype=np.int32)]
        self._child: list[Int32s] = []
        self._log_weight: list[Floats] = []  # of sums alone: products have none

    def indicators(self, column: int) -> Terms:
        """The indicators of a column's states."""
        node = np.arange(self._first[column], self._first[column + 1], dtype=np.int32)
        return Terms(node, np.zeros(node.size))

    def multiply(self, left: Terms, right: Terms) -> Terms:
        """The elementwise products of pairs of terms, with equal products shared."""
        log_number = left.log_number + right.log_number
        live = log_number > -np.inf
        node = np.where(live, np.maximum(left.node, right.node), NO_NODE)
        both = live & (left.node != NO_NODE) & (right.node != NO_NODE)
        if both.any():
            pairs = np.stack([left.node[both], right.node[both]], axis=1)
            pairs.sort(axis=1)
            first, number = group_lines(pairs)
            products = self._add(PRODUCT, np.full(first.size, 2, dtype=np.int32), pairs[first].ravel(), None)
            node[both] = products[number]
        return Terms(node, log_number)

    def sum_terms(self, lines: Int32s, terms: Terms) -> Terms:
        """The sum of the terms of each row. A sum with a single non-zero term is that term."""
        live = ~terms.is_zero[lines]
        degree = live.sum(axis=1, dtype=np.int32)
        several = degree > 1
        place = live.argmax(axis=1)
        answer = terms.take(lines[np.arange(len(lines)), place])
        chosen = lines[several][live[several]]
        answer.node[several] = self._add(SUM, degree[several], terms.node[chosen], terms.log_number[chosen])
        answer.log_number[several] = 0.0
        return answer

    def graph(self, term: Terms, features: FeatureTable | None) -> Graph:
        """The circuit of a single term.

        Raises:
            ValueError: if it is zero.
        """
        if term.is_zero[0]:
            raise ValueError("every combination of states has probability zero")
        root = int(term.node[0])
        if term.log_number[0] != 0:
            root = int(self._add(SUM, np.ones(1, dtype=np.int32), term.node[:1], term.log_number[:1])[0])
        return self._assemble(root, features)

    def _assemble(self, root: int, features: FeatureTable | None) -> Graph:
        """The subgraph at and below a node, in compact arrays."""
        kind, degree = np.concatenate(self._kind), np.concatenate(self._degree)
        child = np.concatenate([np.zeros(0, dtype=np.int64), *self._child])
        self._child.clear()
        keep = reachable(np.concatenate([[0], np.cumsum(degree)]), child, root)
        number = np.full(kind.size, -1, dtype=np.int64)
        number[keep] = np.arange(keep.size)
        kept = np.repeat(number >= 0, degree)
        child = number[child[kept]]
        log_weight = np.zeros(kept.size)
        log_weight[np.repeat(kind == SUM, degree)] = np.concatenate([np.zeros(0), *self._log_weight])
        return Graph(
            self.schema,
            kind[keep],
            np.concatenate([[0], np.cumsum(degree[keep])]),
            child,
            log_weight[kept],
            renumbered_blocks(self._leaves, number),
            None if features is None else renumbered_features(features, number),
        )

    def _add(self, kind: int, degree: Int32s, child: Int32s, log_weight: Floats | None) -> Int32s:
        """The numbers of new nodes of one type."""
        self._kind.append(np.full(degree.size, kind, dtype=np.uint8))
        self._degree.append(degree)
        self._child.append(child)
        if log_weight is not None:
            self._log_weight.append(log_weight)
        self.nodes += degree.size
        return np.arange(self.nodes - degree.size, self.nodes, dtype=np.int32)
