"""Constant folding: the one step behind conditioning, pruning and normalising.

Some leaves have become mere numbers. Below a product they become its factor, a factor moves up to the weight
of the edge above, a sum of numbers is a number. A node with one child left is replaced by that child, and
what is zero is removed.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, renumbered_features
from tractable.circuit.blocks import Block, ConstantBlock, LeafNumbers
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import LEAF, SUM, Graph
from tractable.circuit.kernels import fold
from tractable.data.schema import Schema


class FoldedGraph(NamedTuple):
    """A simpler circuit; the one it came from is exp(log_factor) times this."""

    graph: Graph
    log_factor: float


def constants(graph: Graph) -> LeafNumbers:
    """The constants of a graph as numbers; every other leaf stays."""
    numbers = LeafNumbers(np.zeros(graph.nodes), np.zeros(graph.nodes, dtype=np.bool_))
    for block in graph.blocks_of(ConstantBlock):
        numbers.log_value[block.node] = block.log_value
        numbers.known[block.node] = True
    return numbers


def log_root(graph: Graph, log_value: Floats, log_weight: Floats) -> float:
    """The logarithm of the root's value when each leaf is a number and the weights are those given."""
    factor, gone = log_value.copy(), graph.kind == LEAF
    fold(graph.kind, graph.start, graph.child, log_weight, factor, gone, False)
    return float(factor[-1])


def fold_numbers(
    graph: Graph,
    numbers: LeafNumbers,
    columns: Ints,
    blocks: Iterable[Block] | None = None,
    *,
    normalise: bool = False,
    features: bool = False,
) -> FoldedGraph:
    """The graph over the given columns, with the known numbers moved into weights and into one factor.

    Leaves over other columns must be known. The leaves that are not are those of `blocks`, where they are
    others than the graph's. With `normalise`, the weights of each sum add up to one. With
    `features`, the feature table is kept: its constants must not be known then.
    """
    factor, gone = numbers.log_value.copy(), numbers.known.copy()
    alias, stays, weight, rest = fold(
        graph.kind, graph.start, graph.child, graph.log_weight, factor, gone, normalise
    )
    schema = graph.schema.select(columns)
    if gone[-1]:
        return FoldedGraph(constant_graph(schema, 0.0), float(factor[-1]))
    keeper = ~gone & (alias == np.arange(graph.nodes)) & (graph.kind != LEAF)
    kept = stays & keeper[graph.parent]
    beside = np.flatnonzero(keeper & (rest > -np.inf) & (graph.kind == SUM))
    edges = concatenate_edges(
        [
            Edges(graph.parent[kept] + 1, alias[graph.child[kept]] + 1, weight[kept]),
            Edges(beside + 1, np.zeros_like(beside), rest[beside]),  # node 0 is a constant of one
        ]
    )
    simpler = assemble(
        schema,
        np.concatenate([[LEAF], graph.kind]),
        edges,
        [
            ConstantBlock(np.zeros(1, dtype=np.int64), np.zeros(1)),
            *_unknown_leaves(graph, numbers, columns, blocks),
        ],
        int(alias[-1]) + 1,
        _shifted_features(graph, 1) if features else None,
    )
    return FoldedGraph(simpler, float(factor[-1]))


def _shifted_features(graph: Graph, shift: int) -> FeatureTable | None:
    number = np.arange(graph.nodes) + shift
    return None if graph.features is None else renumbered_features(graph.features, number)


def apply_factor(simpler: FoldedGraph) -> Graph:
    """The circuit times its factor, which goes to the weights of the root, or to a sum above it."""
    graph, factor = simpler
    if factor == 0.0:
        return graph
    if is_number(graph):
        return constant_graph(
            graph.schema, factor + log_root(graph, constants(graph).log_value, graph.log_weight)
        )
    topped = graph if graph.kind[-1] == SUM else with_root_sum(graph)
    weight = topped.log_weight.copy()
    weight[topped.start[-2] :] += factor
    return Graph(
        topped.schema, topped.kind, topped.start, topped.child, weight, topped.blocks, topped.features
    )


def is_number(graph: Graph) -> bool:
    """Whether a circuit is a single constant."""
    return graph.nodes == 1 and any(block.node.size for block in graph.blocks_of(ConstantBlock))


def with_root_sum(graph: Graph) -> Graph:
    """The circuit below an additional root sum with a single edge of weight one."""
    return Graph(
        graph.schema,
        np.append(graph.kind, np.uint8(SUM)),
        np.append(graph.start, graph.edges + 1),
        np.append(graph.child, graph.root),
        np.append(graph.log_weight, 0.0),
        graph.blocks,
        graph.features,
    )


def constant_graph(schema: Schema, log_value: float) -> Graph:
    """A circuit that is the same number for every row."""
    none = np.zeros(0, dtype=np.int64)
    kind, start = np.array([LEAF], dtype=np.uint8), np.zeros(2, dtype=np.int64)
    block = ConstantBlock(np.array([0]), np.array([log_value]))
    return Graph(schema, kind, start, none, np.zeros(0), (block,))


def _unknown_leaves(
    graph: Graph, numbers: LeafNumbers, columns: Ints, blocks: Iterable[Block] | None
) -> Iterator[Block]:
    """The leaves that are not constants, over columns renumbered from 0, as nodes from 1 on."""
    place = np.full(len(graph.schema), -1, dtype=np.int64)
    place[columns] = np.arange(len(columns))
    for block in graph.blocks if blocks is None else blocks:
        known = numbers.known[block.node]
        rest = block.select(np.flatnonzero(~known)) if known.any() else block
        if rest.node.size:
            yield rest.renumber(rest.node + 1).over(place)
