"""Smoothing of circuits: the children of every sum get equal scopes."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Ints, Words
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, renumbered_features
from tractable.circuit.blocks import LeafBlock
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.properties import is_smooth
from tractable.circuit.scopes import Window, windows


def smooth(graph: Graph) -> Graph:
    """A smooth circuit with the same value for every complete row.

    Where the child of a sum lacks a column, it is multiplied with a sum over all states of that column, which
    is one for every row.

    Raises:
        ValueError: if the column is not categorical: no leaf is one for every number.
    """
    if is_smooth(graph):
        return graph
    lacking = _find_gaps(graph)
    fillers = _fillers(graph, np.unique(lacking.column))
    return _fill_gaps(graph, lacking, fillers)


class _Gaps(NamedTuple):
    """Edges of sums, each with a column that their child lacks."""

    edge: Ints
    column: Ints


class _Fillers(NamedTuple):
    """For each column that some child lacks, a node that is one whatever its state; numbered from 0."""

    kind: Ints
    edges: Edges
    leaves: LeafBlock
    node: Ints  # (columns of the schema,) -1 where there is none


def _find_gaps(graph: Graph) -> _Gaps:
    gaps = [_window_gaps(graph, w) for w in windows(graph, range(len(graph.schema)))]
    edge, column = (np.concatenate(part) for part in zip(*gaps, strict=True))
    order = np.argsort(edge, kind="stable")
    return _Gaps(edge[order], column[order])


def _window_gaps(graph: Graph, window: Window) -> _Gaps:
    parent = graph.parent
    gap: Words = np.where(
        graph.kind[parent] == SUM, window.word[parent] & ~window.word[graph.child], np.uint64(0)
    )
    edges = np.flatnonzero(gap)
    each = [edges[gap[edges] >> np.uint64(bit) & np.uint64(1) == 1] for bit in range(window.columns.size)]
    return _Gaps(np.concatenate(each), np.repeat(window.columns, [some.size for some in each]))


def _fillers(graph: Graph, columns: Ints) -> _Fillers:
    for column in columns.tolist():
        variable = graph.schema[column]
        if not variable.is_categorical:
            fault = f"column '{variable.name}' is {variable.kind}"
            raise ValueError(f"{fault}: a sum whose child lacks it cannot be made smooth")
    states = graph.schema.cardinalities[columns]
    size = states + 1  # the indicators, and the sum above them
    top = np.cumsum(size) - 1
    kind = np.full(int(size.sum()), LEAF)
    kind[top] = SUM
    leaf = np.flatnonzero(kind == LEAF)
    state = leaf - np.repeat(top - states, states)
    block = LeafBlock(
        FAMILIES["indicator"], leaf, np.repeat(columns, states), state[:, None].astype(np.float64)
    )
    node = np.full(len(graph.schema), -1, dtype=np.int64)
    node[columns] = top
    return _Fillers(kind, Edges(np.repeat(top, states), leaf, np.zeros(leaf.size)), block, node)


def _fill_gaps(graph: Graph, lacking: _Gaps, fillers: _Fillers) -> Graph:
    """Number the fillers first, and each new product just before the sum that it stands below."""
    edge = np.unique(lacking.edge)
    new_below = np.zeros(graph.nodes, dtype=np.int64)
    np.add.at(new_below, graph.parent[edge], 1)
    number = fillers.kind.size + np.arange(graph.nodes) + np.cumsum(new_below)
    product = fillers.kind.size + graph.parent[edge] + np.arange(edge.size)
    kind = np.full(fillers.kind.size + graph.nodes + edge.size, PRODUCT)
    kind[: fillers.kind.size] = fillers.kind
    kind[number] = graph.kind
    child = number[graph.child]
    child[edge] = product
    above = product[np.searchsorted(edge, lacking.edge)]
    edges = concatenate_edges(
        [
            fillers.edges,
            Edges(number[graph.parent], child, graph.log_weight),
            Edges(product, number[graph.child[edge]], np.zeros(edge.size)),
            Edges(above, fillers.node[lacking.column], np.zeros(above.size)),
        ]
    )
    moved = [b.renumber(number[b.node]) for b in graph.blocks]
    features = None if graph.features is None else renumbered_features(graph.features, number)
    return assemble(graph.schema, kind, edges, [*moved, fillers.leaves], features=features)
