"""Conversion of cutset networks to a circuit.

Nodes 0, 1, ... are the indicators of all states of all columns, which all networks share. A split is a sum of
products of an indicator and a branch; a leaf is the circuit of its tree, as in `statistics/forests.py`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit import LEAF, PRODUCT, SUM, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble, concatenate_edges
from tractable.circuit.leaves import Indicator, state_family
from tractable.data import Schema
from tractable.learning.joint.cutset.kernels import fill_edges, number_nodes
from tractable.learning.joint.cutset.network import CutsetTree, LeafTree, TreeShape


class _Leaves(NamedTuple):
    """Leaves over columns, each given by a row of a table."""

    node: Ints
    column: Ints
    log_prob: Floats  # (leaves, states)


@dataclass(slots=True)
class _Parts:
    """A circuit under construction."""

    kinds: list[Ints]
    size: int
    edges: list[Edges] = field(default_factory=list)
    leaves: dict[int, list[_Leaves]] = field(default_factory=dict)  # by number of states

    def add(self, kind: int, children: Ints, log_weights: Floats) -> int:
        """A sum or a product."""
        node = self.size
        self.kinds.append(np.array([kind]))
        self.edges.append(Edges(np.full(children.size, node), children, log_weights))
        self.size += 1
        return node

    def product(self, children: list[int]) -> int:
        """A product; a single child is returned unchanged."""
        if len(children) == 1:
            return children[0]
        return self.add(PRODUCT, np.array(children), np.zeros(len(children)))


def cutset_circuit(schema: Schema, networks: list[CutsetTree], weights: Floats) -> Graph:
    """The circuit of a mixture of cutset networks, or of a single network."""
    states = schema.cardinalities
    parts = _Parts([np.full(int(states.sum()), LEAF)], int(states.sum()))
    first = np.cumsum(states) - states
    roots = [_add_network(parts, network, first) for network in networks]
    root = roots[0] if len(roots) == 1 else parts.add(SUM, np.array(roots), np.log(weights))
    column = np.repeat(np.arange(states.size), states)
    state = (np.arange(column.size) - first[column]).astype(np.float64)
    blocks = [LeafBlock(Indicator(), np.arange(column.size), column, state[:, None])]
    blocks += [_leaf_block(schema, group) for group in parts.leaves.values()]
    edges = concatenate_edges(parts.edges) if parts.edges else Edges(*(np.zeros((3, 0), dtype=np.int64)))
    return assemble(schema, np.concatenate(parts.kinds), edges, blocks, root)


def _add_network(parts: _Parts, network: CutsetTree, indicator: Ints) -> int:
    """The root of a network; `indicator` is the first indicator of each column."""
    root = np.zeros(len(network.nodes), dtype=np.int64)
    for number in range(len(network.nodes) - 1, -1, -1):
        node = network.nodes[number]
        if node.share is None:
            assert node.tree is not None
            root[number] = parts.product([*_add_tree(parts, node.tree)])
            continue
        below = root[node.first : node.first + node.share.size].tolist()
        branches = [parts.product([int(indicator[node.column]) + k, b]) for k, b in enumerate(below)]
        root[number] = parts.add(SUM, np.array(branches), np.log(node.share))
    return int(root[0])


def _add_tree(parts: _Parts, tree: LeafTree) -> list[int]:
    """The roots of a tree's circuit, one for each connected component."""
    shape = tree.shape
    linked = shape.order[shape.parent[shape.order] >= 0]
    has_children = np.zeros(len(shape.places), dtype=np.bool_)
    has_children[shape.parent[linked]] = True
    node = np.zeros(len(shape.places), dtype=np.int64)
    begin = parts.size
    parts.size = number_nodes(shape.places, shape.parent, shape.order, has_children, begin, node)
    kind = np.full(parts.size - begin, LEAF)
    inner = has_children[shape.order]
    kind[_ranges(node[shape.order] - begin, shape.lines)[0][np.repeat(inner, shape.lines)]] = SUM
    products = shape.order[inner]
    kind[_ranges(node[products] - shape.places[products, 1] - begin, shape.places[products, 1])[0]] = PRODUCT
    parts.kinds.append(kind)
    parts.edges.append(_tree_edges(tree, has_children, node))
    _add_leaves(parts, tree, shape.order[~inner], node)
    return [int(node[c]) for c in shape.order if shape.parent[c] < 0]


def _tree_edges(tree: LeafTree, has_children: Bools, node: Ints) -> Edges:
    shape = tree.shape
    inner, states, lines = has_children[shape.order], shape.states, shape.lines
    size = np.where(inner, states * (lines + 1), 0) + np.where(shape.parent[shape.order] < 0, 0, lines)
    above, below = np.zeros((2, int(size.sum())), dtype=np.int64)
    fill_edges(shape.places, shape.parent, shape.order, has_children, node, above, below)
    weight = np.zeros(above.size)
    own = np.where(inner, states * lines, 0)  # the edges of sums come first among those of a column
    edge, _ = _ranges(np.cumsum(size) - size, own)
    place, _ = _ranges(shape.start[shape.order], own)
    weight[edge] = tree.log_prob[place]
    return Edges(above, below, weight)


def _add_leaves(parts: _Parts, tree: LeafTree, columns: Ints, node: Ints) -> None:
    """Leaves for all table rows of columns without children."""
    shape = tree.shape
    above = shape.parent[columns]
    lines = np.where(above < 0, 1, shape.places[above, 1])
    states = shape.places[columns, 1]
    for k in np.unique(states).tolist():
        some = states == k
        number, owner = _ranges(node[columns[some]], lines[some])
        line = number - node[columns[some]][owner]
        first = shape.start[columns[some]][owner] + line * k
        table = tree.log_prob[first[:, None] + np.arange(k)]
        parts.leaves.setdefault(k, []).append(_Leaves(number, columns[some][owner], table))


def _ranges(first: Ints, size: Ints) -> tuple[Ints, Ints]:
    """The concatenated ranges with given starts and sizes, and the index of each element's range."""
    owner = np.repeat(np.arange(first.size), size)
    return first[owner] + np.arange(owner.size) - (np.cumsum(size) - size)[owner], owner


def _leaf_block(schema: Schema, group: list[_Leaves]) -> LeafBlock:
    """All leaves over columns with equal numbers of states."""
    node, column, log_prob = (np.concatenate(each) for each in zip(*group, strict=True))
    family = state_family(log_prob.shape[1])
    return LeafBlock(family, node, column, family.from_log_states(log_prob))


def count_edges(network: CutsetTree, leaf_edges: Ints) -> int:
    """The number of edges of a network's circuit; `leaf_edges` is that of a leaf over each column."""
    splits = sum(3 * node.share.size for node in network.nodes if node.share is not None)
    leaves = (node.tree.shape for node in network.nodes if node.share is None and node.tree is not None)
    return splits + sum(count_tree_edges(shape, leaf_edges) for shape in leaves)


def count_tree_edges(shape: TreeShape, leaf_edges: Ints) -> int:
    """The number of edges of a tree's circuit."""
    above = shape.parent[shape.order]
    inner = np.isin(shape.order, above)
    below = np.where(inner, shape.states * (shape.lines + 1), leaf_edges[shape.order] * shape.lines)
    roots = int((above < 0).sum())
    return int(below.sum() + shape.lines[above >= 0].sum()) + (roots if roots > 1 else 0)
