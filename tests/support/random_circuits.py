"""Large random circuits, for tests and benchmarks."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.assemble import Edges, assemble
from tractable.circuit.blocks import LeafBlock
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.leaves import FAMILIES
from tractable.data.schema import discrete_schema

MOST_SUMS = 64  # in one region; beyond that there are several region trees


def random_graph(
    rng: np.random.Generator, variables: int, target_edges: int, states: int = 2, fan_in: int = 4
) -> Graph:
    """A normalised, smooth and decomposable circuit of about `target_edges` edges.

    The columns are halved at random down to single ones. Every such region holds several sums, each over
    `fan_in` products of the two halves, and every node is used. Where one such tree would be too wide,
    several are mixed at the root.
    """
    if variables < 1 or states < 1 or fan_in < 2:
        raise ValueError("a random circuit needs at least one variable, one state and a fan-in of two")
    regions = max(1, variables - 1)
    trees = max(1, ceil(target_edges / (2 * fan_in * regions * MOST_SUMS)))
    sums = max(1, round(target_edges / (2 * fan_in * regions * trees)))
    drawing = _Drawing(rng, sums, fan_in)
    roots = np.array([drawing.tree(variables) for _ in range(trees)])
    if trees > 1:
        drawing.add_sums(roots[None, :])
    return drawing.graph(variables, states)


@dataclass
class _Layer:
    """Nodes of one kind with the same number of children."""

    kind: int
    children: Ints  # (nodes, children)
    log_weights: Floats  # (nodes, children)


class _Drawing:
    """Layers of nodes, children before parents."""

    def __init__(self, rng: np.random.Generator, sums: int, fan_in: int) -> None:
        self.rng = rng
        self.sums = sums
        self.fan_in = fan_in
        self.layers: list[_Layer] = []
        self.leaf_columns: list[Ints] = []
        self.leaf_nodes: list[Ints] = []
        self.nodes = 0

    def tree(self, variables: int) -> int:
        """A region tree over all variables; returns its root."""
        regions = _halve(self.rng.permutation(variables))
        made: list[Ints] = []
        for region in reversed(regions):
            if region.column >= 0:
                made.append(self._add_leaves(region.column, self.sums if variables > 1 else 1))
            else:
                first, second = made.pop(), made.pop()
                made.append(self._add_region(first, second, 1 if region.whole else self.sums))
        return int(made[0][0])

    def add_sums(self, children: Ints) -> Ints:
        """Sums over the given children, (sums, fan-in), with random weights."""
        raw = np.log(self.rng.uniform(0.1, 1.0, children.shape))
        return self._add(SUM, children, raw - np.logaddexp.reduce(raw, axis=1, keepdims=True))

    def graph(self, variables: int, states: int) -> Graph:
        """All layers as one circuit."""
        node, column = np.concatenate(self.leaf_nodes), np.concatenate(self.leaf_columns)
        raw = np.log(self.rng.uniform(0.05, 1.0, (node.size, states)))
        binary = states == 2
        params = raw[:, 1:] - raw[:, :1] if binary else raw - np.logaddexp.reduce(raw, axis=1, keepdims=True)
        block = LeafBlock(FAMILIES["bernoulli" if binary else "categorical"], node, column, params)
        schema = discrete_schema([states] * variables)
        return assemble(schema, self._kinds(), self._edges(), [block])

    def _add_leaves(self, column: int, count: int) -> Ints:
        nodes = self._add(LEAF, np.zeros((count, 0), dtype=np.int64), np.zeros((count, 0)))
        self.leaf_nodes.append(nodes)
        self.leaf_columns.append(np.full(count, column))
        return nodes

    def _add_region(self, left: Ints, right: Ints, sums: int) -> Ints:
        count = max(self.fan_in, sums * self.fan_in // 2, left.size, right.size)
        pairs = np.stack([self._use_each(left, count), self._use_each(right, count)], axis=1)
        products = self._add(PRODUCT, pairs, np.zeros(pairs.shape))
        if sums == 1:
            return self.add_sums(products[None, :])
        window = np.arange(sums)[:, None] * (count // sums) + np.arange(self.fan_in)[None, :]
        return self.add_sums(products[window % count])

    def _use_each(self, nodes: Ints, count: int) -> Ints:
        """`count` of the nodes in random order, each about equally often."""
        return self.rng.permutation(np.resize(nodes, count))

    def _add(self, kind: int, children: Ints, log_weights: Floats) -> Ints:
        self.layers.append(_Layer(kind, children, log_weights))
        nodes = np.arange(self.nodes, self.nodes + len(children))
        self.nodes += len(children)
        return nodes

    def _kinds(self) -> Ints:
        return np.concatenate([np.full(len(layer.children), layer.kind) for layer in self.layers])

    def _edges(self) -> Edges:
        degree = np.concatenate([np.full(len(x.children), x.children.shape[1]) for x in self.layers])
        return Edges(
            np.repeat(np.arange(self.nodes), degree),
            np.concatenate([x.children.ravel() for x in self.layers]),
            np.concatenate([x.log_weights.ravel() for x in self.layers]),
        )


@dataclass(frozen=True, slots=True)
class _Region:
    column: int  # -1 for one that is halved further
    whole: bool = False


def _halve(columns: Ints) -> list[_Region]:
    """A binary tree over the columns, parents before children."""
    regions: list[_Region] = []
    waiting = [columns]
    while waiting:
        part = waiting.pop()
        if part.size == 1:
            regions.append(_Region(int(part[0])))
        else:
            regions.append(_Region(-1, part.size == columns.size))
            waiting += [part[: part.size // 2], part[part.size // 2 :]]
    return regions
