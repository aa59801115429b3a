"""The form of a circuit while it grows."""

from collections.abc import Iterable, Sequence

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.assemble import Edges, assemble
from tractable.circuit.check import check_magnitudes
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Block, GateBlock, Graph, JointBlock, LeafBlock
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.leaves.logistic import SoftmaxRegressions
from tractable.circuit.leaves.multivariate import JOINT_FAMILIES
from tractable.data.schema import Schema


class Builder:
    """Collects nodes, children before parents; each method returns the number of the node that it made."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._kind: list[int] = []
        self._children: list[Sequence[int]] = []
        self._weights: list[Sequence[float] | None] = []
        self._leaves: dict[tuple[str, int], list[tuple[int, int, Sequence[float]]]] = {}
        self._joints: list[JointBlock] = []
        self._gates: list[GateBlock] = []
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
        self._joints.append(JointBlock(JOINT_FAMILIES[family], np.array([node]), over, line))
        return node

    def gates(self, regressions: SoftmaxRegressions) -> Ints:
        """Leaves for all outcomes of some regressions on inputs. Shape (regressions, outcomes)."""
        shape = (len(regressions.weights), regressions.outcomes)
        node: Ints = np.array([self._add(LEAF, (), None) for _ in range(shape[0] * shape[1])], dtype=np.int64)
        regression, outcome = (index.ravel() for index in np.indices(shape))
        self._gates.append(GateBlock(regressions, node, regression, outcome))
        return node.reshape(shape)

    def indicator(self, column: int, state: int) -> int:
        """The leaf that is one where the column has that state; the same node each time it is asked for."""
        key = (column, state)
        if key not in self._interned:
            self._interned[key] = self.leaf("indicator", column, (state,))
        return self._interned[key]

    def constant(self, log_value: float) -> int:
        """A leaf over no column, with that value."""
        return self.leaf("constant", -1, (log_value,))

    def product(self, children: Sequence[int]) -> int:
        """A product; a single child stands for itself."""
        return children[0] if len(children) == 1 else self._add(PRODUCT, children, None)

    def sum(self, children: Sequence[int], log_weights: Sequence[float] | Floats) -> int:
        """A sum with the given logarithms of weights."""
        if len(children) != len(log_weights):
            raise ValueError(f"{len(children)} children and {len(log_weights)} weights")
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
        for block in graph.leaves:
            column = np.where(block.column < 0, -1, where[np.maximum(block.column, 0)] if where.size else -1)
            lines = zip(new[block.node].tolist(), column.tolist(), block.params.tolist(), strict=True)
            self._leaves.setdefault((block.family.name, block.params.shape[1]), []).extend(lines)
        for joint in graph.joints:
            self._joints.append(JointBlock(joint.family, new[joint.node], where[joint.columns], joint.params))
        self._gates += [gate.renumber(new[gate.node]).over(where) for gate in graph.gates]
        return int(new[-1])

    def freeze(self, root: int | None = None, features: FeatureTable | None = None) -> Graph:
        """The circuit below `root` (the last node made, unless given) as flat arrays.

        Nodes that the root does not reach are left out. `features` names builder nodes and is renumbered.

        Raises:
            ValueError: if a parameter is wrong, or too large to compute with.
        """
        if not self._kind:
            raise ValueError("a circuit has at least one node")
        degree = np.array([len(c) for c in self._children], dtype=np.int64)
        child = np.array([c for children in self._children for c in children], dtype=np.int64)
        weight = np.zeros(child.size)
        start = np.cumsum(degree) - degree
        for node, line in enumerate(self._weights):
            if line is not None:
                weight[start[node] : start[node] + len(line)] = line
        edges = Edges(np.repeat(np.arange(degree.size), degree), child, weight)
        blocks: list[Block] = [*self._joints, *self._gates]
        blocks += [_block(name, lines) for (name, _), lines in self._leaves.items()]
        graph = assemble(self.schema, np.array(self._kind, dtype=np.int64), edges, blocks, root, features)
        check_magnitudes(graph)
        return graph

    def _add(self, kind: int, children: Sequence[int], weights: Sequence[float] | None) -> int:
        node = len(self._kind)
        if kind != LEAF and not children:
            raise ValueError("a sum or product has at least one child")
        for child in children:
            if not 0 <= child < node:
                raise ValueError(f"there is no node {child} yet")
        self._kind.append(kind)
        self._children.append(children)
        self._weights.append(weights)
        return node


def _block(name: str, lines: list[tuple[int, int, Sequence[float]]]) -> LeafBlock:
    node, column, params = zip(*lines, strict=True)
    shape = (len(lines), len(params[0]))
    return LeafBlock(
        FAMILIES[name], np.array(node), np.array(column), np.array(params, dtype=np.float64).reshape(shape)
    )
