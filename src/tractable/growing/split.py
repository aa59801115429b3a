"""Carrying out a split that was planned."""

import numpy as np

from tractable.arrays import Int32s
from tractable.circuit import PRODUCT, SUM
from tractable.compiled import njit
from tractable.growing.plan import SplitPlan
from tractable.growing.store import (
    INDICATOR,
    NODES,
    PARAMETER,
    REMOVED,
    Store,
    clear_children,
    is_inner,
    link_after,
    new_inner,
    new_leaf,
    set_children,
    unlink,
)
from tractable.growing.walks import INSIDE, SPLIT, Workspace


@njit(cache=True, nogil=True)
def make_split(s: Store, w: Workspace, p: SplitPlan, params: int, replace: bool) -> Int32s:
    """Carry out the plan that the workspace was last used for; the store has room for it.

    Answers with the nodes of the new parameters, (parameters, states).
    """
    fresh = np.empty((params, p.given.shape[1]), dtype=np.int32)
    for i in range(params):
        for v in range(fresh.shape[1]):
            fresh[i, v] = new_leaf(s, PARAMETER)
    room = np.empty(_largest_degree(s, w, p) + fresh.shape[1] + 2, dtype=np.int32)
    _divide_by_states(s, w, p, room)
    _copy_for_states(s, w, p, fresh, replace, room)
    sums = np.full(len(p.below_top), -1, dtype=np.int32)
    for t in range(len(p.below_top)):
        sums[t] = _put_sum_at_top(s, w, p, t, fresh, replace, room)
    for t in range(len(p.below_top)):
        _remove_unused(s, w, p.below_top[t, 0])
    for t in range(len(p.below_top)):
        if sums[t] > 0:
            _multiply_children(s, w, p, t, sums[t], fresh)
    return fresh


@njit(cache=True, nogil=True)
def _largest_degree(s: Store, w: Workspace, p: SplitPlan) -> int:
    """The largest number of children of the nodes that the plan is about."""
    most = 0
    for i in range(len(p.given)):
        most = max(most, s.degree[w.within[i]])
    for i in range(len(p.copy)):
        most = max(most, s.degree[w.inside[i]])
    for t in range(len(p.below_top)):
        most = max(most, s.degree[w.tops[t]])
    return most


@njit(cache=True, nogil=True)
def _divide_by_states(s: Store, w: Workspace, p: SplitPlan, room: Int32s) -> None:
    """Make the new nodes that the column's part becomes given a state."""
    now = w.round[0]
    for i in range(len(p.given)):
        node = w.within[i]
        if s.kind[node] == INDICATOR:
            continue
        for v in range(p.given.shape[1]):
            if p.given[i, v] != s.used[NODES]:  # new nodes were numbered in this very order
                continue
            made = new_inner(s, s.kind[node], node)
            s.scope[made] = s.scope[node]
            size = 0
            for slot in range(s.first[node], s.first[node] + s.degree[node]):
                below = s.child[slot]
                if w.seen[below] == now:
                    below = p.given[w.rank[below], v]
                if below >= 0:
                    room[size] = below
                    size += 1
            set_children(s, made, room, size)


@njit(cache=True, nogil=True)
def _copy_for_states(
    s: Store, w: Workspace, p: SplitPlan, fresh: Int32s, replace: bool, room: Int32s
) -> None:
    """Copy the parameters' part for each state that needs it; the first such state keeps the nodes."""
    for i in range(len(p.copy)):
        node = w.inside[i]
        for v in range(p.copy.shape[1]):
            if p.copy[i, v] >= 0 and p.copy[i, v] != node:
                made = new_inner(s, s.kind[node], node)
                s.scope[made] = s.scope[node]
                set_children(s, made, room, _write_children(s, w, p, node, v, fresh, replace, room))
    for i in range(len(p.copy)):
        node = w.inside[i]
        for v in range(p.copy.shape[1]):
            if p.copy[i, v] == node:
                set_children(s, node, room, _write_children(s, w, p, node, v, fresh, replace, room))


@njit(cache=True, nogil=True)
def _write_children(
    s: Store, w: Workspace, p: SplitPlan, node: int, v: int, fresh: Int32s, replace: bool, room: Int32s
) -> int:
    """Write the children of the copy of a node for a state to `room`, and answer with their number."""
    now = w.round[0]
    size = 0
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below = s.child[slot]
        if w.mark[below] == now and w.role[below] == INSIDE:
            room[size] = p.copy[w.place[below], v]
            size += 1
        elif w.mark[below] == now and w.role[below] == SPLIT:
            if not replace:
                room[size] = below
                size += 1
            room[size] = fresh[w.place[below], v]
            size += 1
        else:
            room[size] = below
            size += 1
    return size


@njit(cache=True, nogil=True)
def _put_sum_at_top(
    s: Store, w: Workspace, p: SplitPlan, t: int, fresh: Int32s, replace: bool, room: Int32s
) -> int:
    """Put a sum over the column's states at a top; its children lack the parameters' part as yet.

    Answers with the sum, or with zero if the top has one state only: then it gets that state's part at once.
    """
    top, column_part, part = w.tops[t], p.below_top[t, 0], p.below_top[t, 1]
    given = p.given[w.rank[column_part]]
    alive, only = 0, -1
    for v in range(given.size):
        if given[v] >= 0:
            alive += 1
            only = v
    direct = w.role[part] == SPLIT
    size = 0
    for slot in range(s.first[top], s.first[top] + s.degree[top]):
        below = s.child[slot]
        kept = below != part or (direct and not replace)
        if kept and (alive == 1 or below != column_part):
            room[size] = below
            size += 1
    if alive == 1:
        room[size] = fresh[w.place[part], only] if direct else p.copy[w.place[part], only]
        set_children(s, top, room, size + 1)
        return 0
    total = top
    if size > 0:
        total = new_inner(s, SUM, s.before[top])
        for word in range(s.scope.shape[1]):
            s.scope[total, word] = s.scope[column_part, word] | s.scope[part, word]
        room[size] = total
        set_children(s, top, room, size + 1)
    s.kind[total] = SUM
    size = 0
    for v in range(given.size):
        if given[v] >= 0:
            room[size] = given[v]
            size += 1
    set_children(s, total, room, size)
    return int(total)


@njit(cache=True, nogil=True)
def _remove_unused(s: Store, w: Workspace, node: int) -> None:
    """Remove a node that has no parent any more, and everything that was below it alone."""
    if s.refs[node] > 0 or not is_inner(s.kind[node]):
        return
    w.stack[0] = node
    high = 1
    while high > 0:
        high -= 1
        gone = w.stack[high]
        clear_children(s, gone)
        unlink(s, gone)
        s.kind[gone] = REMOVED
        for slot in range(s.first[gone], s.first[gone] + s.degree[gone]):
            below = s.child[slot]
            if s.refs[below] == 0 and is_inner(s.kind[below]):
                w.stack[high] = below
                high += 1
        s.degree[gone] = 0


@njit(cache=True, nogil=True)
def _multiply_children(s: Store, w: Workspace, p: SplitPlan, t: int, total: int, fresh: Int32s) -> None:
    """Multiply each child of a new sum by the copy of the parameters' part for its state.

    A product that has no other parent gets this as one more factor. It is then evaluated just before the sum,
    because the factor may come later in the order of evaluation than the product did.
    """
    part = p.below_top[t, 1]
    direct = w.role[part] == SPLIT
    given = p.given[w.rank[p.below_top[t, 0]]]
    factors = np.empty(given.size, dtype=np.int32)
    size = 0
    for v in range(given.size):
        below = given[v]
        if below < 0:
            continue
        factor = fresh[w.place[part], v] if direct else p.copy[w.place[part], v]
        if s.kind[below] == PRODUCT and s.refs[below] == 1:
            unlink(s, below)
            link_after(s, below, s.before[total])
            _append_child(s, below, factor)
            factors[size] = below
        else:
            made = new_inner(s, PRODUCT, s.before[total])
            pair = np.empty(2, dtype=np.int32)
            pair[0], pair[1] = below, factor
            set_children(s, made, pair, 2)
            for word in range(s.scope.shape[1]):
                s.scope[made, word] = s.scope[below, word]
            factors[size] = made
        size += 1
        grown = factors[size - 1]
        for word in range(s.scope.shape[1]):
            s.scope[grown, word] |= s.scope[factor, word]
    set_children(s, total, factors, size)


@njit(cache=True, nogil=True)
def _append_child(s: Store, node: int, child: int) -> None:
    """Add one more child to a node, after the others."""
    size = s.degree[node]
    room = np.empty(size + 1, dtype=np.int32)
    for i in range(size):
        room[i] = s.child[s.first[node] + i]
    room[size] = child
    set_children(s, node, room, size + 1)
