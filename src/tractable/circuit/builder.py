"""Construction of circuits."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.assemble import Edges, assemble
from tractable.circuit.blocks import Block, ConstantBlock, GateBlock, JointBlock, leaf_block
from tractable.circuit.check import check_magnitudes
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.leaves.logistic import SoftmaxRegressions
from tractable.circuit.leaves.multivariate import JOINT_FAMILIES
from tractable.data.schema import Schema


class Builder:
    """Collects nodes with children before parents; each method returns the number of the new node."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._kind: list[int] = []
        self._children: list[Sequence[int]] = []
        self._weights: list[Sequence[float] | None] = []
        self._leaves: dict[Any, list[tuple[int, int, Sequence[float]]]] = {}  # by the keys of blocks
        self._blocks: list[Block] = []  # of leaves that are not in `_leaves`
        self._interned: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._kind)

    def leaf(self, family: str, column: int, params: Iterable[float]) -> int:
        """A leaf of a named family over a column."""
        line = tuple(float(p) for p in params)
        node = self._add(LEAF, (), None)
        self._leaves.setdefault((family, len(line)), []).append((node, column, line))
        return node

    def joint_leaf(self, family: str, columns: Sequence[int] | Ints, params: Sequence[float] | Floats) -> int:
        """A leaf of a named family over several numeric columns together."""
        node = self._add(LEAF, (), None)
        over = np.asarray(columns, dtype=np.int64)[None, :]
        line = np.asarray(params, dtype=np.float64)[None, :]
        self._keep(JointBlock(JOINT_FAMILIES[family], np.array([node]), over, line))
        return node

    def gates(self, regressions: SoftmaxRegressions) -> Ints:
        """Leaves for all outcomes of some regressions on inputs. Shape (regressions, outcomes)."""
        shape = (len(regressions.weights), regressions.outcomes)
        node: Ints = np.array([self._add(LEAF, (), None) for _ in range(shape[0] * shape[1])], dtype=np.int64)
        regression, outcome = (index.ravel() for index in np.indices(shape))
        self._keep(GateBlock(regressions, node, regression, outcome))
        return node.reshape(shape)

    def indicator(self, column: int, state: int) -> int:
        """The leaf that is one where the column has that state; the same node each time it is asked for."""
        key = (column, state)
        if key not in self._interned:
            self._interned[key] = self.leaf("indicator", column, (state,))
        return self._interned[key]

    def constant(self, log_value: float) -> int:
        """A leaf over no column, with that value."""
        return self.leaf(ConstantBlock.name, -1, (log_value,))

    def product(self, children: Sequence[int]) -> int:
        """A product; a single child stands for itself."""
        return children[0] if len(children) == 1 else self._add(PRODUCT, children, None)

    def sum(self, children: Sequence[int], log_weights: Sequence[float] | Floats) -> int:
        """A sum with the given logarithms of weights."""
        if len(children) != len(log_weights):
            raise ValueError(f"a sum has {len(children)} children but {len(log_weights)} weights")
        return self._add(SUM, children, [float(w) for w in log_weights])

    def splice(self, graph: Graph, columns: Sequence[int] | Ints | None = None) -> int:
        """A copy of a whole circuit, its column j becoming `columns[j]`; returns its root."""
        new = np.arange(len(self._kind), len(self._kind) + graph.nodes)
        where = np.arange(len(graph.schema)) if columns is None else np.asarray(columns, dtype=np.int64)
        self._kind.extend(graph.kind.tolist())
        children = (graph.child + new[0]).tolist()
        weights = graph.log_weight.tolist()
        start = graph.start.tolist()
        for node in range(graph.nodes):
            first, last = start[node], start[node + 1]
            self._children.append(children[first:last])
            self._weights.append(weights[first:last] if graph.kind[node] == SUM else None)
        for block in graph.blocks:
            self._keep(block.renumber(new[block.node]).over(where))
        return int(new[-1])

    def freeze(self, root: int | None = None, features: FeatureTable | None = None) -> Graph:
        """The circuit below `root` (the last node made, unless given) as flat arrays.

        Nodes that the root does not reach are left out. `features` names builder nodes and is renumbered.

        Raises:
            ValueError: if a parameter is wrong, or too large to compute with.
        """
        if not self._kind:
            raise ValueError("a circuit must have at least one node")
        degree = np.array([len(c) for c in self._children], dtype=np.int64)
        child = np.array([c for children in self._children for c in children], dtype=np.int64)
        weight = np.zeros(child.size)
        start = np.cumsum(degree) - degree
        for node, line in enumerate(self._weights):
            if line is not None:
                weight[start[node] : start[node] + len(line)] = line
        edges = Edges(np.repeat(np.arange(degree.size), degree), child, weight)
        place = {key: number for number, key in enumerate(self._leaves)}
        single = [_block(key[0], lines) for key, lines in self._leaves.items() if lines]
        blocks = sorted([*single, *self._blocks], key=lambda block: place[block.key])
        graph = assemble(self.schema, np.array(self._kind, dtype=np.int64), edges, blocks, root, features)
        check_magnitudes(graph)
        return graph

    def _keep(self, block: Block) -> None:
        self._leaves.setdefault(block.key, [])  # which keeps the order in which kinds are met
        self._blocks.append(block)

    def _add(self, kind: int, children: Sequence[int], weights: Sequence[float] | None) -> int:
        node = len(self._kind)
        if kind != LEAF and not children:
            raise ValueError("a sum or product must have at least one child")
        for child in children:
            if not 0 <= child < node:
                raise ValueError(f"there is no node {child}")
        self._kind.append(kind)
        self._children.append(children)
        self._weights.append(weights)
        return node


def _block(name: str, lines: list[tuple[int, int, Sequence[float]]]) -> Block:
    node, column, params = zip(*lines, strict=True)
    table = np.array(params, dtype=np.float64).reshape(len(lines), -1)
    return leaf_block(name, np.array(node), np.array(column), table)
