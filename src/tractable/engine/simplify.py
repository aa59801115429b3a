"""The first half of compiling: nodes to references, sums and products to operations.

Every node becomes a reference: a kind, an identity and a coefficient, which is a logarithm. A reference
TO_CONSTANT stands for its coefficient alone, one TO_LEAF for a table or dense leaf times the coefficient, one
TO_OPERATION for an operation times the coefficient.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints
from tractable.base.compiled import njit
from tractable.circuit.graph import PRODUCT, Graph
from tractable.engine.bottom import TO_CONSTANT, TO_LEAF, TO_OPERATION, Bottom
from tractable.engine.rows import inlined


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
def _simplify(  # noqa: C901
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
    ref_kind, ref, coefficient = refs
    op_kind, _, op_start, edge_kind, edge_ref, edge_weight = ops
    made = 0
    for node in range(kind.size):
        if start[node + 1] == start[node]:
            continue
        first = op_start[made]
        if kind[node] == PRODUCT:
            last = _gather_factors(node, graph, refs, ops, first)
        else:
            last = _gather_terms(node, graph, refs, ops, first)
            if (
                merge
                and last - first > 1
                and _merge(first, last, tables, leaves, edge_kind, edge_ref, edge_weight)
            ):
                leaves, last = leaves + 1, first + 1
            if last > first:
                top = 0.0
                if merge or last == first + 1:
                    top = edge_weight[first]
                    for e in range(first, last):
                        top = max(top, edge_weight[e])
                for e in range(first, last):
                    edge_weight[e] -= top
                coefficient[node] = top
        if last == first:
            ref_kind[node], ref[node] = TO_CONSTANT, -1
        elif last == first + 1:
            ref_kind[node], ref[node] = edge_kind[first], edge_ref[first]
        else:
            ref_kind[node], ref[node] = TO_OPERATION, made
            op_kind[made] = kind[node]
            made += 1
            op_start[made] = last
    return leaves, made


@inlined
def _gather_factors(
    node: int,
    graph: tuple[Bytes, Ints, Ints, Floats],
    refs: tuple[Bytes, Ints, Floats],
    ops: tuple[Bytes, Ints, Ints, Bytes, Ints, Floats],
    first: int,
) -> int:
    """List the edges of a product, without constants, and fill in its coefficient; where the list ends."""
    _, start, child, _ = graph
    ref_kind, ref, coefficient = refs
    _, origin, _, edge_kind, edge_ref, edge_weight = ops
    last = first
    total = 0.0
    for e in range(start[node], start[node + 1]):
        c = child[e]
        total += coefficient[c]
        if ref_kind[c] != TO_CONSTANT:
            edge_kind[last], edge_ref[last], edge_weight[last], origin[last] = ref_kind[c], ref[c], 0.0, e
            last += 1
    coefficient[node] = total
    return first if total == -np.inf else last


@inlined
def _gather_terms(
    node: int,
    graph: tuple[Bytes, Ints, Ints, Floats],
    refs: tuple[Bytes, Ints, Floats],
    ops: tuple[Bytes, Ints, Ints, Bytes, Ints, Floats],
    first: int,
) -> int:
    """List the edges of a sum that are not zero, constants as one; where the list ends.

    The coefficient is filled in if the list is empty.
    """
    _, start, child, log_weight = graph
    ref_kind, ref, coefficient = refs
    _, origin, _, edge_kind, edge_ref, edge_weight = ops
    last = first
    constants = -np.inf
    for e in range(start[node], start[node + 1]):
        c = child[e]
        weight = log_weight[e] + coefficient[c]
        if weight == -np.inf:
            continue
        if ref_kind[c] == TO_CONSTANT:
            constants = np.logaddexp(constants, weight)
            continue
        edge_kind[last], edge_ref[last], edge_weight[last], origin[last] = ref_kind[c], ref[c], weight, e
        last += 1
    coefficient[node] = constants
    if constants > -np.inf and last > first:
        edge_kind[last], edge_ref[last], edge_weight[last], origin[last] = TO_CONSTANT, -1, constants, -1
        last += 1
    return last


@inlined
def _merge(
    first: int,
    last: int,
    tables: tuple[Ints, Ints, Floats],
    leaves: int,
    edge_kind: Bytes,
    edge_ref: Ints,
    edge_weight: Floats,
) -> bool:
    """Replace all edges of a sum by one if all lead to tables over one column; whether they do."""
    column, offset, log_value = tables
    same = edge_kind[first] == TO_LEAF
    c = column[edge_ref[first]] if same else 0
    states = offset[edge_ref[first] + 1] - offset[edge_ref[first]] if same else 0
    same = same and states > 0
    for e in range(first, last):
        same = same and edge_kind[e] == TO_LEAF and column[edge_ref[e]] == c
    # Edges that were dropped may have led to other columns: then no room was kept for this sum.
    if not same or leaves == column.size or offset[leaves] + states > log_value.size:
        return False
    base, top = offset[leaves], edge_weight[first]
    for e in range(first, last):
        top = max(top, edge_weight[e])
    for s in range(states):
        total = -np.inf
        for e in range(first, last):
            total = np.logaddexp(total, edge_weight[e] - top + log_value[offset[edge_ref[e]] + s])
        log_value[base + s] = total
    column[leaves] = c
    offset[leaves + 1] = base + states
    edge_ref[first], edge_weight[first] = leaves, top
    return True
