"""The memory of a growing circuit: flat arrays with spare room, in which every node knows its parents.

The edges of a node occupy `degree[node]` consecutive slots that begin at `first[node]`. All slots that lead
to the same child form a doubly linked list, so that the parents of a node can be visited. Inner nodes form
another doubly linked list, in which children come before their parents: this is the order of evaluation.
Node 0 is not a node of the circuit; it is the head of that list.
"""

from typing import Any, NamedTuple

import numpy as np

from tractable.arrays import Bytes, Int32s, Ints, Words
from tractable.circuit import PRODUCT, SUM
from tractable.compiled import njit

# Kinds of nodes, beside PRODUCT and SUM: two kinds of leaves, and nodes that were removed.
INDICATOR, PARAMETER, REMOVED = 3, 4, 5
NODES, SLOTS, EDGES, INNER = 0, 1, 2, 3  # positions in `Store.used`


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
    """An empty store with room for so many nodes and slots, and so many words for a node's scope."""
    kind, scope = np.zeros(nodes, dtype=np.uint8), np.zeros((nodes, words), dtype=np.uint64)
    first, degree, head, refs, after, before = (np.zeros(nodes, dtype=np.int32) for _ in range(6))
    child, owner, up, down = (np.full(slots, -1, dtype=np.int32) for _ in range(4))
    head[:] = -1
    used = np.array([1, 0, 0, 0])
    return Store(kind, first, degree, head, refs, after, before, scope, child, owner, up, down, used)


def ensure_room(store: Store, nodes: int, slots: int) -> Store:
    """The same store if so many more nodes and slots fit into it, otherwise a larger copy."""
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


@njit(cache=True, nogil=True, inline="always")
def is_inner(kind: int) -> bool:
    """Whether nodes of this kind have children."""
    return kind == PRODUCT or kind == SUM  # noqa: PLR1714 - compiles to faster code than a tuple


@njit(cache=True, nogil=True)
def new_leaf(s: Store, kind: int) -> int:
    """Allocate a node that is not in the order of evaluation."""
    node = s.used[NODES]
    s.used[NODES] += 1
    s.kind[node] = kind
    return int(node)


@njit(cache=True, nogil=True)
def new_inner(s: Store, kind: int, earlier: int) -> int:
    """Allocate an inner node that follows `earlier` in the order of evaluation; it has no edges yet."""
    node = new_leaf(s, kind)
    link_after(s, node, earlier)
    return node


@njit(cache=True, nogil=True)
def link_after(s: Store, node: int, earlier: int) -> None:
    """Insert an inner node into the order of evaluation, just after `earlier`."""
    later = s.after[earlier]
    s.after[earlier], s.before[node] = node, earlier
    s.after[node], s.before[later] = later, node
    s.used[INNER] += 1


@njit(cache=True, nogil=True)
def unlink(s: Store, node: int) -> None:
    """Remove an inner node from the order of evaluation."""
    s.after[s.before[node]] = s.after[node]
    s.before[s.after[node]] = s.before[node]
    s.used[INNER] -= 1


@njit(cache=True, nogil=True)
def set_children(s: Store, node: int, children: Int32s, size: int) -> None:
    """Replace the children of a node by the first `size` of `children`, in its old slots if these suffice."""
    clear_children(s, node)
    if size > s.degree[node]:
        s.first[node] = s.used[SLOTS]
        s.used[SLOTS] += size
    s.degree[node] = size
    s.used[EDGES] += size
    first = s.first[node]
    child, owner, up, down, head, refs = s.child, s.owner, s.up, s.down, s.head, s.refs
    for i in range(size):
        slot, below = first + i, children[i]
        child[slot], owner[slot] = below, node
        old = head[below]
        up[slot], down[slot], head[below] = old, -1, slot
        if old >= 0:
            down[old] = slot
        refs[below] += 1


@njit(cache=True, nogil=True)
def clear_children(s: Store, node: int) -> None:
    """Remove the edges of a node from the lists of its children. Its slots and its degree stay."""
    child, up, down, head, refs = s.child, s.up, s.down, s.head, s.refs
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below, later, earlier = child[slot], up[slot], down[slot]
        if earlier >= 0:
            up[earlier] = later
        else:
            head[below] = later
        if later >= 0:
            down[later] = earlier
        refs[below] -= 1
    s.used[EDGES] -= s.degree[node]


@njit(cache=True, nogil=True)
def evaluation_order(s: Store) -> Int32s:
    """The inner nodes, children before their parents. Shape (inner nodes,)."""
    answer = np.empty(s.used[INNER], dtype=np.int32)
    after = s.after
    node = after[0]
    for i in range(answer.size):
        answer[i] = node
        node = after[node]
    return answer


@njit(cache=True, nogil=True)
def copy_in_order(s: Store, leaves: Int32s, order: Int32s, number: Int32s, into: Store) -> None:
    """Copy a circuit to an empty store: first the given leaves, then the inner nodes in the given order.

    `number` is filled with the new number of each copied node, and is not changed for the others.
    """
    for i in range(leaves.size):
        node = new_leaf(into, s.kind[leaves[i]])
        into.scope[node] = s.scope[leaves[i]]
        number[leaves[i]] = node
    below = np.empty(max(1, s.degree.max()), dtype=np.int32)
    last = 0
    for i in range(order.size):
        old = order[i]
        last = new_inner(into, s.kind[old], last)
        into.scope[last] = s.scope[old]
        number[old] = last
        for j in range(s.degree[old]):
            below[j] = number[s.child[s.first[old] + j]]
        set_children(into, last, below, s.degree[old])
