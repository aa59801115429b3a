"""The first half of compiling: nodes to references, sums and products to operations.

Every node becomes a reference: a kind, an identity and a coefficient, which is a logarithm. A reference
TO_CONSTANT stands for its coefficient alone, one TO_LEAF for a table or dense leaf times the coefficient, one
TO_OPERATION for an operation times the coefficient.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bytes, Floats, Ints
from tractable.circuit.graph import PRODUCT, SUM, Graph
from tractable.compiled import njit
from tractable.engine.bottom import TO_CONSTANT, TO_LEAF, TO_OPERATION, Bottom


class Operations(NamedTuple):
    """Sums and products in the order of the nodes; when merging, a sum's highest log weight is zero."""

    kind: Bytes  # (ops,) SUM or PRODUCT
    origin: Ints  # (edges,) the circuit's edge
    start: Ints  # (ops + 1,)
    edge_kind: Bytes  # (edges,) TO_CONSTANT, TO_LEAF or TO_OPERATION
    edge: Ints  # (edges,) the leaf or operation
    log_weight: Floats  # (edges,)


def simplify(graph: Graph, bottom: Bottom, merge: bool) -> tuple[Operations, int]:
    """The operations, and the number of leaves with merged ones. Fills the references of `bottom`."""
    ops = (
        np.zeros(graph.nodes, np.uint8), np.zeros(graph.edges, np.int64), np.zeros(graph.nodes + 1, np.int64),
        np.zeros(graph.edges, np.uint8), np.zeros(graph.edges, np.int64), np.zeros(graph.edges),
    )  # fmt: skip
    arrays = (graph.kind, graph.start, graph.child, graph.log_weight)
    tables = (bottom.tables.column, bottom.tables.offset, bottom.tables.log_value)
    leaves, made = _simplify(arrays, bottom.refs, tables, bottom.leaves, ops, merge)
    last = ops[2][made]
    return Operations(
        ops[0][:made], ops[1][:last], ops[2][: made + 1], ops[3][:last], ops[4][:last], ops[5][:last]
    ), leaves


@njit(cache=True, nogil=True)
def _simplify(
    graph: tuple[Bytes, Ints, Ints, Floats],
    refs: tuple[Bytes, Ints, Floats],
    tables: tuple[Ints, Ints, Floats],
    leaves: int,
    ops: tuple[Bytes, Ints, Ints, Bytes, Ints, Floats],
    merge: bool,
) -> tuple[int, int]:
    """Fill `refs` of the inner nodes, append merged leaves to `tables` and operations to `ops`.

    `graph` is (kind, start, child, log_weight); `refs` (kind, identity, coefficient), leaves filled already;
    `tables` (column, offset, log_value); `ops` (kind, edge origin, start, edge kind, edge identity, edge log
    weight). Returns the numbers of leaves and operations.
    """
    kind, start = graph[0], graph[1]
    made = 0
    for node in range(kind.size):
        if start[node + 1] == start[node]:
            continue
        if kind[node] == PRODUCT:
            made = _product(node, graph, refs, ops, made)
        else:
            leaves, made = _sum(node, graph, refs, tables, leaves, ops, made, merge)
    return leaves, made


@njit(cache=True, nogil=True)
def _product(
    node: int,
    graph: tuple[Bytes, Ints, Ints, Floats],
    refs: tuple[Bytes, Ints, Floats],
    ops: tuple[Bytes, Ints, Ints, Bytes, Ints, Floats],
    made: int,
) -> int:
    _, start, child, _ = graph
    ref_kind, ref, coefficient = refs
    _, origin, op_start, edge_kind, edge_ref, edge_weight = ops
    first = op_start[made]
    edge = first
    total = 0.0
    for e in range(start[node], start[node + 1]):
        c = child[e]
        total += coefficient[c]
        if ref_kind[c] != TO_CONSTANT:
            edge_kind[edge], edge_ref[edge], edge_weight[edge] = ref_kind[c], ref[c], 0.0
            origin[edge] = e
            edge += 1
    if total == -np.inf:
        edge = first
    coefficient[node] = total
    return _finish(node, PRODUCT, first, edge, refs, ops, made)


@njit(cache=True, nogil=True)
def _sum(
    node: int,
    graph: tuple[Bytes, Ints, Ints, Floats],
    refs: tuple[Bytes, Ints, Floats],
    tables: tuple[Ints, Ints, Floats],
    leaves: int,
    ops: tuple[Bytes, Ints, Ints, Bytes, Ints, Floats],
    made: int,
    merge: bool,
) -> tuple[int, int]:
    _, start, child, log_weight = graph
    ref_kind, ref, coefficient = refs
    _, origin, op_start, edge_kind, edge_ref, edge_weight = ops
    first = op_start[made]
    edge = first
    constants = -np.inf
    for e in range(start[node], start[node + 1]):
        c = child[e]
        weight = log_weight[e] + coefficient[c]
        if weight == -np.inf:
            continue
        if ref_kind[c] == TO_CONSTANT:
            constants = np.logaddexp(constants, weight)
            continue
        edge_kind[edge], edge_ref[edge], edge_weight[edge] = ref_kind[c], ref[c], weight
        origin[edge] = e
        edge += 1
    if constants > -np.inf:
        if edge == first:
            ref_kind[node], ref[node], coefficient[node] = TO_CONSTANT, -1, constants
            return leaves, made
        edge_kind[edge], edge_ref[edge], edge_weight[edge] = TO_CONSTANT, -1, constants
        origin[edge] = -1
        edge += 1
    if merge and edge - first > 1:
        leaves, edge = _merge(first, edge, tables, leaves, edge_kind, edge_ref, edge_weight)
    top = -np.inf if merge or edge == first + 1 else 0.0
    for e in range(first, edge):
        top = max(top, edge_weight[e]) if merge or edge == first + 1 else 0.0
    for e in range(first, edge):
        edge_weight[e] -= top
    coefficient[node] = top if edge > first else -np.inf
    return leaves, _finish(node, SUM, first, edge, refs, ops, made)


@njit(cache=True, nogil=True)
def _finish(
    node: int,
    kind: int,
    first: int,
    edge: int,
    refs: tuple[Bytes, Ints, Floats],
    ops: tuple[Bytes, Ints, Ints, Bytes, Ints, Floats],
    made: int,
) -> int:
    """The node's reference: nothing, its only child, or an operation of its own."""
    ref_kind, ref, _ = refs
    op_kind, _, op_start, edge_kind, edge_ref, _ = ops
    if edge == first:
        ref_kind[node], ref[node] = TO_CONSTANT, -1
        return made
    if edge == first + 1:
        ref_kind[node], ref[node] = edge_kind[first], edge_ref[first]
        return made
    ref_kind[node], ref[node] = TO_OPERATION, made
    op_kind[made] = kind
    op_start[made + 1] = edge
    return made + 1


@njit(cache=True, nogil=True)
def _merge(
    first: int,
    edge: int,
    tables: tuple[Ints, Ints, Floats],
    leaves: int,
    edge_kind: Bytes,
    edge_ref: Ints,
    edge_weight: Floats,
) -> tuple[int, int]:
    """Replace all edges of a sum by one when all lead to tables over one column."""
    column, offset, log_value = tables
    c = column[edge_ref[first]] if edge_kind[first] == TO_LEAF else -1
    if c < 0:
        return leaves, edge
    states = offset[edge_ref[first] + 1] - offset[edge_ref[first]]
    if states == 0:
        return leaves, edge
    for e in range(first, edge):
        if edge_kind[e] != TO_LEAF or column[edge_ref[e]] != c:
            return leaves, edge
    base = offset[leaves]
    if leaves == column.size or base + states > log_value.size:
        return leaves, edge  # edges that were dropped led to other columns: no room was kept for this sum
    top = -np.inf
    for e in range(first, edge):
        top = max(top, edge_weight[e])
    for s in range(states):
        total = -np.inf
        for e in range(first, edge):
            total = np.logaddexp(total, edge_weight[e] - top + log_value[offset[edge_ref[e]] + s])
        log_value[base + s] = total
    column[leaves] = c
    offset[leaves + 1] = base + states
    edge_ref[first], edge_weight[first] = leaves, top
    return leaves + 1, first + 1
