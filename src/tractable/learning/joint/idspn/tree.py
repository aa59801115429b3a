"""A tree of sums and products whose leaves are circuits."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import final

import numpy as np
from scipy.special import logsumexp

from tractable.base.arrays import Floats, Ints
from tractable.circuit import Graph, mixture, product
from tractable.data import Table
from tractable.engine import log_values


class Node(ABC):
    """A node of the tree, with the log-likelihoods of the rows on which models are compared."""

    log_values: Floats  # (rows,)

    @abstractmethod
    def graph(self) -> Graph:
        """The circuit of the subtree."""

    @abstractmethod
    def circuits(self) -> Iterator["CircuitNode"]:
        """The leaves at or below this node."""

    @abstractmethod
    def replace_leaf(self, old: "CircuitNode", new: "Node") -> "Node":
        """The subtree with a leaf replaced."""


@final
class CircuitNode(Node):
    """A circuit over some columns, learned on some rows."""

    def __init__(
        self, graph: Graph, rows: Ints, valid_rows: Ints, scoring_table: Table, *, final: bool
    ) -> None:
        self._graph = graph
        self.rows = rows
        self.valid_rows = valid_rows
        self.final = final  # whether it is never extended
        self.columns = np.array(scoring_table.schema.columns(graph.schema.names))
        self.log_values = log_values(graph, scoring_table.values[:, self.columns])

    def graph(self) -> Graph:
        """The circuit itself."""
        return self._graph

    def circuits(self) -> Iterator["CircuitNode"]:
        """The leaves at or below this node."""
        yield self

    def replace_leaf(self, old: "CircuitNode", new: Node) -> Node:
        """The subtree with a leaf replaced."""
        return new if self is old else self


@final
class ProductNode(Node):
    """A product of nodes over different columns."""

    def __init__(self, parts: Sequence[Node]) -> None:
        self._parts = list(parts)
        self.log_values = np.sum([p.log_values for p in parts], axis=0)

    def graph(self) -> Graph:
        """The circuit of the subtree."""
        return product([p.graph() for p in self._parts])

    def circuits(self) -> Iterator[CircuitNode]:
        """The leaves at or below this node."""
        for part in self._parts:
            yield from part.circuits()

    def replace_leaf(self, old: CircuitNode, new: Node) -> Node:
        """The subtree with a leaf replaced."""
        return ProductNode([p.replace_leaf(old, new) for p in self._parts])


@final
class SumNode(Node):
    """A mixture of nodes over the same columns."""

    def __init__(self, parts: Sequence[Node], weights: Floats) -> None:
        self._parts = list(parts)
        self._weights = weights
        logs = np.stack([p.log_values for p in parts])
        self.log_values = np.asarray(logsumexp(logs, axis=0, b=weights[:, None]), dtype=np.float64)

    def graph(self) -> Graph:
        """The circuit of the subtree."""
        return mixture([p.graph() for p in self._parts], self._weights)

    def circuits(self) -> Iterator[CircuitNode]:
        """The leaves at or below this node."""
        for part in self._parts:
            yield from part.circuits()

    def replace_leaf(self, old: CircuitNode, new: Node) -> Node:
        """The subtree with a leaf replaced."""
        return SumNode([p.replace_leaf(old, new) for p in self._parts], self._weights)
