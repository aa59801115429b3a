"""The memory of a growing circuit: flat arrays that append, with links from every node to the nodes above it.

A node's edges are `degree[node]` slots from `first[node]` on. Slots of one child are chained, so that its
parents can be walked; inner nodes are chained in an order that has children before their parents. Node 0
is no node: it begins and ends that chain.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from tractable.arrays import Bytes, Ints

Numbers: TypeAlias = npt.NDArray[np.int32]
Words: TypeAlias = npt.NDArray[np.uint64]

GONE, INDICATOR, PARAMETER, PRODUCT, SUM = 0, 1, 2, 3, 4
NODES, SLOTS, EDGES, INNER = 0, 1, 2, 3  # places in `used`


class Store(NamedTuple):
    """The arrays; all but the last have room for more."""

    kind: Bytes  # (nodes,)
    first: Numbers  # (nodes,) the slot of the first edge
    degree: Numbers  # (nodes,) edges
    head: Numbers  # (nodes,) a slot that leads to the node, -1 if none does
    refs: Numbers  # (nodes,) slots that lead to the node
    after: Numbers  # (nodes,) the next inner node
    before: Numbers  # (nodes,) the inner node before
    scope: Words  # (nodes, words) the columns below, a bit each
    child: Numbers  # (slots,)
    owner: Numbers  # (slots,) the node whose edge it is
    up: Numbers  # (slots,) the next slot that leads to the same child, -1 at the end
    down: Numbers  # (slots,) the slot before it in that chain, -1 at the beginning
    used: Ints  # (4,) nodes and slots that were ever handed out, edges and inner nodes alive now


def empty_store(nodes: int, slots: int, words: int) -> Store:
    """A store with room for so many nodes and slots."""
    kind, scope = np.zeros(nodes, dtype=np.uint8), np.zeros((nodes, words), dtype=np.uint64)
    first, degree, head, refs, after, before = (np.zeros(nodes, dtype=np.int32) for _ in range(6))
    child, owner, up, down = (np.full(slots, -1, dtype=np.int32) for _ in range(4))
    head[:] = -1
    used = np.array([1, 0, 0, 0])
    return Store(kind, first, degree, head, refs, after, before, scope, child, owner, up, down, used)


def with_room(store: Store, nodes: int, slots: int) -> Store:
    """The same store, or a larger copy, in which so many more nodes and slots fit."""
    have_nodes, have_slots = store.kind.size, store.child.size
    need_nodes, need_slots = store.used[NODES] + nodes, store.used[SLOTS] + slots
    if need_nodes <= have_nodes and need_slots <= have_slots:
        return store
    words = store.scope.shape[1]
    larger = empty_store(max(2 * have_nodes, need_nodes), max(2 * have_slots, need_slots), words)
    pairs: Any = zip(store, larger, strict=True)
    for old, new in pairs:
        new[: len(old)] = old
    return larger


@njit(cache=True, nogil=True)
def new_leaf(s: Store, kind: int) -> int:
    """A node outside the order of inner nodes."""
    node = s.used[NODES]
    s.used[NODES] += 1
    s.kind[node] = kind
    return int(node)


@njit(cache=True, nogil=True)
def new_inner(s: Store, kind: int, earlier: int) -> int:
    """An inner node that comes after `earlier` in the order; it has no edges yet."""
    node = new_leaf(s, kind)
    put_after(s, node, earlier)
    return node


@njit(cache=True, nogil=True)
def put_after(s: Store, node: int, earlier: int) -> None:
    """Chain an inner node into the order."""
    later = s.after[earlier]
    s.after[earlier], s.before[node] = node, earlier
    s.after[node], s.before[later] = later, node
    s.used[INNER] += 1


@njit(cache=True, nogil=True)
def take_out(s: Store, node: int) -> None:
    """Take an inner node out of the order."""
    s.after[s.before[node]] = s.after[node]
    s.before[s.after[node]] = s.before[node]
    s.used[INNER] -= 1


@njit(cache=True, nogil=True)
def set_children(s: Store, node: int, children: Numbers, size: int) -> None:
    """Give a node other children; old slots are used again where they suffice."""
    clear_children(s, node, False)
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
def clear_children(s: Store, node: int, forget: bool) -> None:
    """Take away a node's edges; with `forget` its count too."""
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
    if forget:
        s.degree[node] = 0


@njit(cache=True, nogil=True)
def in_order(s: Store) -> Numbers:
    """The inner nodes, children before parents. Shape (inner nodes,)."""
    answer = np.empty(s.used[INNER], dtype=np.int32)
    after = s.after
    node = after[0]
    for i in range(answer.size):
        answer[i] = node
        node = after[node]
    return answer


@njit(cache=True, nogil=True)
def copy_in_order(s: Store, leaves: Numbers, order: Numbers, number: Numbers, into: Store) -> None:
    """Fill an empty store with the same circuit: the given leaves first, then inner nodes in their order.

    `number` is filled with the new number of each node, or zero.
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
