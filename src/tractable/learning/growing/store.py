"""The memory of a growing circuit: flat arrays with spare room, in which every node knows its parents.

The edges of a node occupy `degree[node]` consecutive slots that begin at `first[node]`. All slots that lead
to the same child form a doubly linked list, so that the parents of a node can be visited. Inner nodes form
another doubly linked list, in which children come before their parents: this is the order of evaluation.
Node 0 is not a node of the circuit; it is the head of that list.

Whole circuits are written by numpy; the compiled functions here change one node at a time, for those of
`split.py`. Numbers of nodes are int64 in all their arguments, so that each is compiled once.
"""

from typing import Any, NamedTuple

import numpy as np

from tractable.base.arrays import Bytes, Int32s, Ints, Words
from tractable.base.compiled import Trial, inner
from tractable.circuit import PRODUCT, SUM

# Kinds of nodes, beside PRODUCT and SUM: two kinds of leaves, and nodes that were removed.
INDICATOR, PARAMETER, REMOVED = 3, 4, 5
NODES, SLOTS, EDGES, INNER = 0, 1, 2, 3  # positions in `Store.used`

TRIAL = Trial(
    uncached=4.0, cached=0.5
)  # compiling the kernels of this room takes about 8 s, loading them 1 s


class Store(NamedTuple):
    """The arrays of a growing circuit. All but the last are longer than what is in use."""

    kind: Bytes  # (nodes,) PRODUCT, SUM, INDICATOR, PARAMETER or REMOVED
    first: Int32s  # (nodes,) the slot of the node's first edge
    degree: Int32s  # (nodes,) the number of edges to children
    head: Int32s  # (nodes,) the first slot in the list of those that lead to the node; -1 if there is none
    refs: Int32s  # (nodes,) the number of slots that lead to the node
    after: Int32s  # (nodes,) the next inner node in the order of evaluation
    before: Int32s  # (nodes,) the previous inner node in the order of evaluation
    scope: Words  # (nodes, words) the columns below the node, one bit each
    child: Int32s  # (slots,) the node that the edge leads to
    owner: Int32s  # (slots,) the node that the edge belongs to
    up: Int32s  # (slots,) the next slot that leads to the same child; -1 at the end of the list
    down: Int32s  # (slots,) the previous slot that leads to the same child; -1 at its beginning
    used: Ints  # (4,) how many nodes and slots were ever allocated, how many edges and inner nodes there are


def new_store(nodes: int, slots: int, words: int) -> Store:
    """An empty store with a given capacity of nodes, slots and words of a scope."""
    kind, scope = np.zeros(nodes, dtype=np.uint8), np.zeros((nodes, words), dtype=np.uint64)
    first, degree, head, refs, after, before = (np.zeros(nodes, dtype=np.int32) for _ in range(6))
    child, owner, up, down = (np.full(slots, -1, dtype=np.int32) for _ in range(4))
    head[:] = -1
    used = np.array([1, 0, 0, 0])
    return Store(kind, first, degree, head, refs, after, before, scope, child, owner, up, down, used)


def ensure_room(store: Store, nodes: int, slots: int) -> Store:
    """The store, or a larger copy if the additional nodes and slots do not fit."""
    have_nodes, have_slots = store.kind.size, store.child.size
    need_nodes, need_slots = store.used[NODES] + nodes, store.used[SLOTS] + slots
    if need_nodes <= have_nodes and need_slots <= have_slots:
        return store
    words = store.scope.shape[1]
    larger = new_store(max(2 * have_nodes, need_nodes), max(2 * have_slots, need_slots), words)
    copy_arrays(store, larger)
    return larger


def copy_arrays(source: Any, target: Any) -> None:
    """Copy the arrays of a tuple to the beginnings of those of another, which are at least as long."""
    for old, new in zip(source, target, strict=True):
        new[: len(old)] = old


def write_nodes(s: Store, kind: Bytes, scope: Words, degree: Ints, child: Int32s) -> None:
    """Fill an empty store: leaves first, then inner nodes in the order of evaluation, the root last.

    Shapes are (nodes,), (nodes, words), (nodes,) and (edges,). The first node is number 1.
    """
    nodes, edges = kind.size, child.size
    own = slice(1, nodes + 1)
    s.kind[own], s.scope[own], s.degree[own] = kind, scope, degree
    s.first[own] = np.cumsum(degree) - degree
    s.child[:edges] = child
    s.owner[:edges] = np.repeat(np.arange(1, nodes + 1), degree)
    inner_nodes = 1 + np.flatnonzero((kind == PRODUCT) | (kind == SUM))
    s.after[np.append(0, inner_nodes)] = np.append(inner_nodes, 0)
    s.before[np.append(inner_nodes, 0)] = np.append(0, inner_nodes)
    s.refs[: nodes + 1] = np.bincount(child, minlength=nodes + 1)
    list_parents(s.child[:edges], s.head, s.up, s.down)
    s.used[:] = nodes + 1, edges, edges, inner_nodes.size


@TRIAL.kernel
def list_parents(child: Int32s, head: Int32s, up: Int32s, down: Int32s) -> None:
    """Link the slots that lead to the same child, the last one first; the lists are empty before."""
    for slot in range(child.size):
        below = child[slot]
        old = head[below]
        up[slot], down[slot], head[below] = old, -1, slot
        if old >= 0:
            down[old] = slot


def edge_slots(s: Store, order: Int32s) -> Ints:
    """The slots of all edges of the given nodes, one node after the other."""
    degree = s.degree[order].astype(np.int64)
    return np.repeat(s.first[order] - np.cumsum(degree) + degree, degree) + np.arange(degree.sum())


def copy_in_order(s: Store, leaves: Int32s, order: Int32s, into: Store) -> Int32s:
    """Copy a circuit to an empty store: first the given leaves, then the inner nodes in the given order.

    Answers with the new number of each copied node; it is zero for the others.
    """
    number, nodes = np.zeros(s.kind.size, dtype=np.int32), np.concatenate([leaves, order])
    number[nodes] = np.arange(1, nodes.size + 1)
    copy_nodes(s, nodes, leaves.size, number, into)
    edges = int(s.used[EDGES])
    list_parents(into.child[:edges], into.head, into.up, into.down)
    into.used[:] = nodes.size + 1, edges, edges, order.size
    return number


@TRIAL.kernel
def copy_nodes(s: Store, nodes: Int32s, leaves: int, number: Int32s, into: Store) -> None:
    """Copy nodes, the leaves first, with their edges and their order, but not the lists of parents."""
    slot, last = 0, 0
    for i in range(nodes.size):
        old, new = nodes[i], i + 1
        into.kind[new] = s.kind[old]
        for word in range(s.scope.shape[1]):
            into.scope[new, word] = s.scope[old, word]
        if i < leaves:
            continue
        into.first[new], into.degree[new] = slot, s.degree[old]
        for at in range(s.first[old], s.first[old] + s.degree[old]):
            below = number[s.child[at]]
            into.child[slot], into.owner[slot] = below, new
            into.refs[below] += 1
            slot += 1
        into.after[last], into.before[new] = new, last
        last = new
    into.after[last], into.before[0] = 0, last


@TRIAL.kernel
def list_in_order(after: Int32s, order: Int32s) -> None:
    """Fill in the inner nodes, children before their parents. Shape (inner nodes,)."""
    node = after[0]
    for i in range(order.size):
        order[i] = node
        node = after[node]


def evaluation_order(s: Store) -> Int32s:
    """The inner nodes, children before their parents. Shape (inner nodes,)."""
    order = np.empty(s.used[INNER], dtype=np.int32)
    list_in_order(s.after, order)
    return order


@inner
def link_after(s: Store, node: int, earlier: int) -> None:
    """Insert an inner node into the order of evaluation, just after `earlier`."""
    later = s.after[earlier]
    s.after[earlier], s.before[node] = node, earlier
    s.after[node], s.before[later] = later, node
    s.used[INNER] += 1


@inner
def unlink(s: Store, node: int) -> None:
    """Remove an inner node from the order of evaluation."""
    s.after[s.before[node]] = s.after[node]
    s.before[s.after[node]] = s.before[node]
    s.used[INNER] -= 1


@inner
def new_inner(s: Store, like: int, earlier: int) -> int:
    """Allocate a node of the same kind and scope as another, after `earlier` in the order of evaluation.

    It has no edges yet.
    """
    node = s.used[NODES]
    s.used[NODES] += 1
    s.kind[node] = s.kind[like]
    for word in range(s.scope.shape[1]):
        s.scope[node, word] = s.scope[like, word]
    link_after(s, node, earlier)
    return int(node)


@inner
def set_children(s: Store, node: int, children: Int32s, size: int) -> None:
    """Replace the children of a node by the first `size` of `children`, in its old slots if these suffice."""
    clear_children(s, node)
    if size > s.degree[node]:
        s.first[node] = s.used[SLOTS]
        s.used[SLOTS] += size
    s.degree[node] = size
    s.used[EDGES] += size
    first = s.first[node]
    for i in range(size):
        slot, below = first + i, children[i]
        s.child[slot], s.owner[slot] = below, node
        old = s.head[below]
        s.up[slot], s.down[slot], s.head[below] = old, -1, slot
        if old >= 0:
            s.down[old] = slot
        s.refs[below] += 1


@inner
def clear_children(s: Store, node: int) -> None:
    """Remove the edges of a node from the lists of its children. Its slots and its degree stay."""
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below, later, earlier = s.child[slot], s.up[slot], s.down[slot]
        if earlier >= 0:
            s.up[earlier] = later
        else:
            s.head[below] = later
        if later >= 0:
            s.down[later] = earlier
        s.refs[below] -= 1
    s.used[EDGES] -= s.degree[node]
