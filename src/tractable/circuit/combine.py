"""Combination of several circuits into one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, edges_of
from tractable.circuit.blocks import Block
from tractable.circuit.facts import remembered
from tractable.circuit.fold import constants, log_root
from tractable.circuit.graph import PRODUCT, SUM, Graph
from tractable.circuit.properties import explain_decomposable, explain_smooth
from tractable.circuit.shapes import declare_members
from tractable.data.schema import Schema


def mixture(graphs: Sequence[Graph], weights: Sequence[float] | Floats | None = None) -> Graph:
    """The distribution that is each circuit's with the given probability (equal ones, unless given).

    Columns are matched by name and come in the order of the first circuit; neither the weights nor the
    circuits need add up to one.

    Raises:
        ValueError: if the circuits are not over the same columns or are conditional, or a weight is negative.
    """
    for variable in (v for graph in graphs for v in graph.schema if v.role == "input"):
        raise ValueError(
            f"column '{variable.name}' is an input: conditional circuits cannot be mixed, because each has a"
            " partition function that depends on the row"
        )
    share = np.ones(len(graphs)) if weights is None else np.asarray(weights, dtype=np.float64)
    _check_weights(graphs, share)
    schema = graphs[0].schema
    for graph in graphs[1:]:
        if set(graph.schema) != set(schema):
            raise ValueError(
                f"the circuits of a mixture must have the same columns: {_difference(schema, graph.schema)}"
            )
    with np.errstate(divide="ignore"):
        logs = np.log(share / share.sum())
    return _join(schema, graphs, SUM, logs - np.array([_log_scale(g) for g in graphs]))


def sum_circuits(graphs: Sequence[Graph], log_weights: Floats) -> Graph:
    """The sum of circuits over the same columns, with weights as they are; nodes come circuit by circuit."""
    return _join(graphs[0].schema, graphs, SUM, log_weights)


def product(graphs: Sequence[Graph]) -> Graph:
    """The circuit in which the columns of each circuit are independent of those of all others.

    Raises:
        ValueError: if two circuits have a column of the same name.
    """
    if not graphs:
        raise ValueError("a product needs at least one circuit")
    schema = Schema(tuple(v for graph in graphs for v in graph.schema))
    return _join(schema, graphs, PRODUCT, np.zeros(len(graphs)))


@remembered
def _log_scale(graph: Graph) -> float:
    """The log partition function of a circuit by constant folding, without a sweep of the engine."""
    fault = explain_smooth(graph) or explain_decomposable(graph)
    if fault is not None:
        raise ValueError(f"the circuit cannot be summed out: {fault}")
    return log_root(graph, constants(graph).log_value, graph.log_weight)


def _check_weights(graphs: Sequence[Graph], share: Floats) -> None:
    if not graphs:
        raise ValueError("a mixture needs at least one circuit")
    if share.shape != (len(graphs),):
        raise ValueError(f"{share.size} weights for {len(graphs)} circuits")
    if not (np.isfinite(share).all() and (share >= 0).all() and share.sum() > 0):
        raise ValueError("the weights of a mixture must be finite, non-negative and not all zero")


def _difference(one: Schema, other: Schema) -> str:
    names = sorted(v.name for v in set(one) ^ set(other))
    return f"column '{names[0]}' is not the same in all circuits"


class _Stack(NamedTuple):
    kind: Ints
    edges: Edges
    blocks: list[Block]
    roots: Ints


def _join(schema: Schema, graphs: Sequence[Graph], kind: int, log_weights: Floats) -> Graph:
    """All circuits below one more node; a single child of a product stands for itself."""
    stack = _stack(schema, graphs)
    if kind == PRODUCT and len(graphs) == 1:
        return assemble(schema, stack.kind, stack.edges, stack.blocks)
    top = Edges(np.full(len(graphs), stack.kind.size), stack.roots, log_weights)
    kinds, edges = np.append(stack.kind, kind), concatenate_edges([stack.edges, top])
    joined = assemble(schema, kinds, edges, stack.blocks)
    return declare_members(joined, graphs) if kind == SUM else joined


def _stack(schema: Schema, graphs: Sequence[Graph]) -> _Stack:
    """The nodes of all circuits, one circuit after the other, under the columns of `schema`."""
    offset = np.cumsum([0, *(g.nodes for g in graphs)])
    edges = []
    blocks: list[Block] = []
    for graph, shift in zip(graphs, offset[:-1].tolist(), strict=True):
        parent, child, log_weight = edges_of(graph)
        edges.append(Edges(parent + shift, child + shift, log_weight))
        place = np.array(schema.columns(graph.schema.names), dtype=np.int64)
        blocks += [block.renumber(block.node + shift).over(place) for block in graph.blocks]
    kind = np.concatenate([g.kind for g in graphs]).astype(np.int64)
    return _Stack(kind, concatenate_edges(edges), blocks, offset[1:] - 1)
