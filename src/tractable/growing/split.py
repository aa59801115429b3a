"""Doing a split that was planned."""

import numpy as np
from numba import njit

from tractable.growing.plan import NEVER, Plan, plan
from tractable.growing.store import (
    GONE,
    INDICATOR,
    NODES,
    PRODUCT,
    SUM,
    Numbers,
    Store,
    clear_children,
    new_inner,
    put_after,
    set_children,
    take_out,
)
from tractable.growing.walks import INSIDE, SPLIT, Work


@njit(cache=True, nogil=True)
def cost(
    s: Store, w: Work, params: Numbers, column: int, indicator: int, states: int, replace: bool, limit: int
) -> tuple[int, int, int]:
    """How many edges a split would add (NEVER above `limit`), and the room in nodes and slots it takes."""
    p = plan(s, w, params, column, indicator, states, replace, limit)
    return p.edges, p.nodes, p.slots


@njit(cache=True, nogil=True)
def split(
    s: Store, w: Work, params: Numbers, fresh: Numbers, column: int, indicator: int, replace: bool
) -> int:
    """Split parameters on a column; `fresh` are the new parameters, (parameters, states). Edges that came."""
    p = plan(s, w, params, column, indicator, fresh.shape[1], replace, NEVER - 1)
    edges = s.used[2]
    room = np.empty(_widest(s, w, p) + fresh.shape[1] + 2, dtype=np.int32)
    _take_apart(s, w, p, room)
    _copy(s, w, p, fresh, replace, room)
    sums = np.full(len(p.below_top), -1, dtype=np.int32)
    for t in range(len(p.below_top)):
        sums[t] = _sum_at_top(s, w, p, t, fresh, replace, room)
    for t in range(len(p.below_top)):
        _let_go(s, w, p.below_top[t, 0])
    for t in range(len(p.below_top)):
        if sums[t] > 0:
            _multiply(s, w, p, t, sums[t], fresh, room)
    return int(s.used[2] - edges)


@njit(cache=True, nogil=True)
def _widest(s: Store, w: Work, p: Plan) -> int:
    most = 0
    for i in range(len(p.given)):
        most = max(most, s.degree[w.within[i]])
    for i in range(len(p.copy)):
        most = max(most, s.degree[w.inside[i]])
    for t in range(len(p.below_top)):
        most = max(most, s.degree[w.tops[t]])
    return most


@njit(cache=True, nogil=True)
def _take_apart(s: Store, w: Work, p: Plan, room: Numbers) -> None:
    """Make the nodes that stand for the column's part given a state."""
    now = w.round[0]
    for i in range(len(p.given)):
        node = w.within[i]
        if s.kind[node] == INDICATOR:
            continue
        for v in range(p.given.shape[1]):
            if p.given[i, v] != s.used[NODES]:  # numbers were given in this very order
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
def _copy(s: Store, w: Work, p: Plan, fresh: Numbers, replace: bool, room: Numbers) -> None:
    """Copy the parameters' part for each state that needs it; the first state keeps the nodes there are."""
    for i in range(len(p.copy)):
        node = w.inside[i]
        for v in range(p.copy.shape[1]):
            if p.copy[i, v] >= 0 and p.copy[i, v] != node:
                made = new_inner(s, s.kind[node], node)
                s.scope[made] = s.scope[node]
                set_children(s, made, room, _copied_children(s, w, p, node, v, fresh, replace, room))
    for i in range(len(p.copy)):
        node = w.inside[i]
        for v in range(p.copy.shape[1]):
            if p.copy[i, v] == node:
                set_children(s, node, room, _copied_children(s, w, p, node, v, fresh, replace, room))


@njit(cache=True, nogil=True)
def _copied_children(
    s: Store, w: Work, p: Plan, node: int, v: int, fresh: Numbers, replace: bool, room: Numbers
) -> int:
    """Write the children of a copy into `room`, answer with their number."""
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
def _sum_at_top(s: Store, w: Work, p: Plan, t: int, fresh: Numbers, replace: bool, room: Numbers) -> int:
    """Put a sum over the column's states at a top, its children still without the parameters' part.

    Answers with the sum; zero if the top has one state only, whose parameters it gets at once.
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
def _let_go(s: Store, w: Work, node: int) -> None:
    """Remove a node that nothing leads to any more, and what hung on it alone."""
    if s.refs[node] > 0 or s.kind[node] < PRODUCT:
        return
    w.stack[0] = node
    high = 1
    while high > 0:
        high -= 1
        gone = w.stack[high]
        clear_children(s, gone, False)
        take_out(s, gone)
        s.kind[gone] = GONE
        for slot in range(s.first[gone], s.first[gone] + s.degree[gone]):
            below = s.child[slot]
            if s.refs[below] == 0 and s.kind[below] >= PRODUCT:
                w.stack[high] = below
                high += 1
        s.degree[gone] = 0


@njit(cache=True, nogil=True)
def _multiply(s: Store, w: Work, p: Plan, t: int, total: int, fresh: Numbers, room: Numbers) -> None:
    """Multiply each child of a new sum by the parameters' part of its state.

    A product that belongs to this sum alone takes it in; it then stands just below the sum, as what it takes
    in may come later than it did.
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
            take_out(s, below)
            put_after(s, below, s.before[total])
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
    size = s.degree[node]
    room = np.empty(size + 1, dtype=np.int32)
    for i in range(size):
        room[i] = s.child[s.first[node] + i]
    room[size] = child
    set_children(s, node, room, size + 1)
