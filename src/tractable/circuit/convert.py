"""Conversion of sum-product networks to arithmetic circuits.

An arithmetic circuit has its parameters as constants and its leaves are indicators; a sum-product network has
them as weights, and its leaves are distributions.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, renumbered_features
from tractable.circuit.blocks import ConstantBlock, JointBlock, LeafBlock
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.scopes import leaf_columns, leaves_by_column


def to_ac(graph: Graph) -> Graph:
    """An equal circuit whose leaves are indicators and constants, and whose sums have no weights.

    A weighted edge becomes a product with a constant; a leaf becomes a sum over states of products of an
    indicator and a constant. An edge becomes at most three edges, a leaf at most three for each state.

    Raises:
        ValueError: if a leaf is over a column that is not categorical.
    """
    indicators = _indicators(graph)
    numbering = _number_nodes(graph, indicators)
    weights, leaves = _weight_parts(graph, numbering), _leaf_parts(graph, numbering, indicators)
    kind = np.full(numbering.size, LEAF)
    kind[numbering.number[graph.kind == PRODUCT]] = PRODUCT
    kind[numbering.number[(graph.kind == SUM) | (numbering.states > 0)]] = SUM
    kind[np.concatenate([weights.product, leaves.product])] = PRODUCT
    constant = ConstantBlock(
        np.concatenate([weights.constant, leaves.constant]),
        np.concatenate([weights.log_value, leaves.log_value]),
    )
    kept = [
        b.renumber(numbering.number[b.node])
        for b in graph.blocks
        if not isinstance(b, LeafBlock | JointBlock)
    ]
    features = None if graph.features is None else renumbered_features(graph.features, numbering.number)
    edges = concatenate_edges([weights.edges, leaves.edges])
    blocks = [indicators.block, constant, *kept]
    return assemble(graph.schema, kind, edges, blocks, int(numbering.number[-1]), features)


class _Indicators(NamedTuple):
    """One indicator for each state of the columns that have leaves, numbered from 0."""

    block: LeafBlock
    first: Ints  # (columns,) the number of the column's first indicator


class _Numbering(NamedTuple):
    """Where nodes go: each new constant and product stands just before the node that it is made for."""

    number: Ints  # (nodes,) what stands for each old node
    slot: Ints  # (nodes,) the place of the node itself; the made ones are before it
    states: Ints  # (nodes,) the number of states of a leaf that becomes a sum; else zero
    weighted: Ints  # (nodes,) the number of weighted edges
    size: int


class _Parts(NamedTuple):
    """Products with a constant, and the edges around them."""

    constant: Ints
    log_value: Floats
    product: Ints
    edges: Edges


def _indicators(graph: Graph) -> _Indicators:
    columns = leaf_columns(graph)
    for column in columns.tolist():
        variable = graph.schema[column]
        if not variable.is_categorical:
            raise ValueError(
                f"column '{variable.name}' is {variable.kind}: arithmetic circuits support only categorical"
                " columns"
            )
    states = graph.schema.cardinalities[columns]
    first = np.full(len(graph.schema), -1, dtype=np.int64)
    first[columns] = np.cumsum(states) - states
    node = np.arange(int(states.sum()))
    state = node - np.repeat(first[columns], states)
    params = state[:, None].astype(np.float64)
    return _Indicators(LeafBlock(FAMILIES["indicator"], node, np.repeat(columns, states), params), first)


def _number_nodes(graph: Graph, indicators: _Indicators) -> _Numbering:
    states = np.zeros(graph.nodes, dtype=np.int64)
    for block in graph.blocks_of(LeafBlock):
        if not block.family.is_fixed:
            states[block.node] = graph.schema.cardinalities[block.column]
    weighted = np.bincount(graph.parent[graph.log_weight != 0], minlength=graph.nodes)
    slot = indicators.block.node.size + np.arange(graph.nodes) + np.cumsum(2 * (states + weighted))
    number = slot.copy()
    for block in graph.blocks_of(LeafBlock):
        if block.family.is_indicator:
            number[block.node] = indicators.first[block.column] + block.params[:, 0].astype(np.int64)
    return _Numbering(number, slot, states, weighted, int(slot[-1]) + 1)


def _weight_parts(graph: Graph, numbering: _Numbering) -> _Parts:
    """The edges of the old graph, those with a weight by way of a product."""
    edge = np.flatnonzero(graph.log_weight)
    parent = graph.parent[edge]
    before = np.cumsum(numbering.weighted) - numbering.weighted
    place = np.arange(edge.size) - before[parent]
    product = numbering.slot[parent] - numbering.weighted[parent] + place
    constant = product - numbering.weighted[parent]
    below = numbering.number[graph.child]
    target = below.copy()
    target[edge] = product
    edges = [
        _plain(numbering.number[graph.parent], target),
        _plain(product, below[edge]),
        _plain(product, constant),
    ]
    return _Parts(constant, graph.log_weight[edge], product, concatenate_edges(edges))


def _leaf_parts(graph: Graph, numbering: _Numbering, indicators: _Indicators) -> _Parts:
    """For each leaf that is a distribution, its sum over states."""
    parts = [
        _state_parts(block, numbering, int(graph.schema.cardinalities[column]), int(indicators.first[column]))
        for column, blocks in leaves_by_column(graph).items()
        for block in blocks
        if not block.family.is_indicator
    ]
    none = np.zeros(0, dtype=np.int64)
    parts.append(_Parts(none, np.zeros(0), none, _plain(none, none)))
    constant, log_value, product = (np.concatenate([p[i] for p in parts]) for i in range(3))
    return _Parts(constant, log_value, product, concatenate_edges(p.edges for p in parts))


def _state_parts(block: LeafBlock, numbering: _Numbering, states: int, first: int) -> _Parts:
    top = np.repeat(numbering.slot[block.node], states)
    state = np.tile(np.arange(states), block.node.size)
    product = top - states + state
    constant = product - states
    edges = [_plain(top, product), _plain(product, first + state), _plain(product, constant)]
    return _Parts(constant, block.table(states).ravel(), product, concatenate_edges(edges))


def _plain(parent: Ints, child: Ints) -> Edges:
    """Edges without a weight."""
    return Edges(parent, child, np.zeros(parent.size))
