"""Leaves over categorical columns as sums over indicators, which leaves weights as the only parameters."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import LEAF, SUM, Block, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, edges_of
from tractable.circuit.leaves import Indicator, state_family


def expand_states(graph: Graph) -> Graph:
    """The circuit with every Bernoulli and categorical leaf as a weighted sum over shared indicators."""
    states = graph.schema.cardinalities
    first = np.cumsum(states) - states  # the indicators are numbered first, column by column
    shift = int(states.sum())
    old = edges_of(graph)
    kind = np.concatenate([np.full(shift, LEAF), graph.kind]).astype(np.int64)
    groups = [Edges(old.parent + shift, old.child + shift, old.log_weight)]
    blocks: list[Block] = []
    for block in graph.blocks:
        if isinstance(block, LeafBlock) and block.family.over_states:
            kind[block.node + shift] = SUM
            groups.append(_state_edges(block, block.node + shift, first, states))
        else:
            blocks.append(block.renumber(block.node + shift))
    column = np.repeat(np.arange(states.size), states)
    state = (np.arange(shift) - first[column]).astype(np.float64)
    blocks.append(LeafBlock(Indicator(), np.arange(shift), column, state[:, None]))
    return assemble(graph.schema, kind, concatenate_edges(groups), blocks)


def _state_edges(block: LeafBlock, node: Ints, first: Ints, states: Ints) -> Edges:
    """The edges from the sums that leaves were turned into, `node`, to the indicators of their states."""
    size = states[block.column]
    parent = np.repeat(node, size)
    state = np.arange(parent.size) - np.repeat(np.cumsum(size) - size, size)
    log_weight = np.empty(parent.size)
    for k in np.unique(size):
        some = np.flatnonzero(size == k)
        where = np.flatnonzero(np.repeat(size == k, size))
        log_weight[where] = block.select(some).table(int(k)).ravel()
    return Edges(parent, np.repeat(first[block.column], size) + state, log_weight)


class _Simple(NamedTuple):
    """The sums whose children are all indicators of one column."""

    node: Ints
    column: Ints


def contract_states(graph: Graph) -> Graph:
    """The circuit with every sum over indicators of one column as a Bernoulli or categorical leaf.

    The weights of such sums add up to one.
    """
    simple = _simple_sums(graph)
    is_simple = np.zeros(graph.nodes, dtype=np.bool_)
    is_simple[simple.node] = True
    kind = np.where(is_simple, LEAF, graph.kind).astype(np.int64)
    edges = edges_of(graph).select(~is_simple[graph.parent])
    table = _tables(graph, simple)
    blocks = list(graph.blocks)
    for k in np.unique(graph.schema.cardinalities[simple.column]):
        some = np.flatnonzero(graph.schema.cardinalities[simple.column] == k)
        family = state_family(k)
        with np.errstate(invalid="ignore"):
            params = family.from_log_states(table[some, :k])
        blocks.append(LeafBlock(family, simple.node[some], simple.column[some], params))
    return assemble(graph.schema, kind, edges, blocks)


def _simple_sums(graph: Graph) -> _Simple:
    column = np.full(graph.nodes, -1, dtype=np.int64)
    for block in graph.blocks_of(LeafBlock):
        if block.family.is_indicator:
            column[block.node] = block.column
    below = column[graph.child]
    low = np.full(graph.nodes, np.iinfo(np.int64).max)
    high = np.full(graph.nodes, -1)
    np.minimum.at(low, graph.parent, below)
    np.maximum.at(high, graph.parent, below)
    node = np.flatnonzero((graph.kind == SUM) & (low == high) & (low >= 0))
    return _Simple(node, low[node])


def _tables(graph: Graph, simple: _Simple) -> Floats:
    """The log-probabilities of the states of each simple sum, -inf where it has none. (sums, most states)."""
    state = np.zeros(graph.nodes, dtype=np.int64)
    for block in graph.blocks_of(LeafBlock):
        if block.family.is_indicator:
            state[block.node] = block.params[:, 0].astype(np.int64)
    number = np.full(graph.nodes, -1, dtype=np.int64)
    number[simple.node] = np.arange(simple.node.size)
    line = number[graph.parent]
    mine = line >= 0
    table = np.full((simple.node.size, int(graph.schema.cardinalities.max(initial=1))), -np.inf)
    np.logaddexp.at(table, (line[mine], state[graph.child[mine]]), graph.log_weight[mine])
    return table
