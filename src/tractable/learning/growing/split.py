"""Execution of a planned split.

Numbers of nodes that are read from an array of int32 become int64 by `+ 0`: no function is compiled twice.
"""

import numpy as np

from tractable.base.arrays import Int32s
from tractable.base.compiled import inner
from tractable.circuit import PRODUCT, SUM
from tractable.learning.growing.plan import SplitPlan
from tractable.learning.growing.store import (
    INDICATOR,
    NODES,
    PARAMETER,
    REMOVED,
    TRIAL,
    Store,
    clear_children,
    link_after,
    new_inner,
    set_children,
    unlink,
)
from tractable.learning.growing.walks import INSIDE, SPLIT, Workspace


def make_split(s: Store, w: Workspace, p: SplitPlan, params: int, replace: bool) -> Int32s:
    """Carry out the plan that the workspace was last used for; the store has room for it.

    Answers with the nodes of the new parameters, (parameters, states).
    """
    states = p.given.shape[1]
    first, many = int(s.used[NODES]), params * states
    fresh = np.arange(first, first + many, dtype=np.int32).reshape(params, states)
    s.kind[first : first + many] = PARAMETER
    s.used[NODES] += many
    touched = (w.within[: len(p.given)], w.inside[: len(p.copy)], w.tops[: p.tops])
    largest = max(int(s.degree[nodes].max(initial=0)) for nodes in touched)
    room, sums = np.empty((2, largest + states + 2), dtype=np.int32), np.empty(p.tops, dtype=np.int32)
    change_circuit(s, w, p, fresh, replace, room, sums)
    return fresh


@TRIAL.kernel
def change_circuit(
    s: Store, w: Workspace, p: SplitPlan, fresh: Int32s, replace: bool, rooms: Int32s, sums: Int32s
) -> None:
    """Change the circuit as planned; `rooms`, for the children of two nodes, and `sums` are memory."""
    room, factors = rooms[0], rooms[1]
    _divide_by_states(s, w, p, room)
    _copy_for_states(s, w, p, fresh, replace, room)
    for t in range(p.tops):
        sums[t] = _put_sum_at_top(s, w, p, t, fresh, replace, room)
    for t in range(p.tops):
        _remove_unused(s, w, w.column_part[t])
    for t in range(p.tops):
        if sums[t] > 0:
            _multiply_children(s, w, p, t, sums[t] + 0, fresh, room, factors)


@inner
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
            made = new_inner(s, node, node)
            size = 0
            for slot in range(s.first[node], s.first[node] + s.degree[node]):
                below = s.child[slot]
                if w.seen[below] == now:
                    below = p.given[w.rank[below], v]
                if below >= 0:
                    room[size] = below
                    size += 1
            set_children(s, made, room, size)


@inner
def _copy_for_states(
    s: Store, w: Workspace, p: SplitPlan, fresh: Int32s, replace: bool, room: Int32s
) -> None:
    """Copy the parameters' part for each state that needs it; the first such state keeps the nodes."""
    for old in (False, True):  # copies first, as long as the nodes have their children
        for i in range(len(p.copy)):
            node = w.inside[i] + 0
            for v in range(p.copy.shape[1]):
                if p.copy[i, v] >= 0 and (p.copy[i, v] == node) == old:
                    made = node if old else new_inner(s, node, node)
                    set_children(s, made, room, _write_children(s, w, p, node, v, fresh, replace, room))


@inner
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


@inner
def _put_sum_at_top(
    s: Store, w: Workspace, p: SplitPlan, t: int, fresh: Int32s, replace: bool, room: Int32s
) -> int:
    """Put a sum over the column's states at a top; its children lack the parameters' part as yet.

    Answers with the sum, or with zero if the top has one state only: then it gets that state's part at once.
    """
    top, column_part, part = w.tops[t] + 0, w.column_part[t] + 0, w.param_part[t]
    given = p.given[w.rank[column_part]]
    direct = w.role[part] == SPLIT
    alive, only = 0, -1
    for v in range(given.size):
        if given[v] >= 0:
            alive += 1
            only = v
    dropped = -1 if direct and not replace else part + 0
    if alive == 1:
        size = _write_others(s, top, dropped, dropped, room)
        room[size] = fresh[w.place[part], only] if direct else p.copy[w.place[part], only]
        set_children(s, top, room, size + 1)
        return 0
    size = _write_others(s, top, dropped, column_part, room)
    total = top
    if size > 0:
        total = new_inner(s, column_part, s.before[top] + 0)
        for word in range(s.scope.shape[1]):
            s.scope[total, word] |= s.scope[part, word]
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


@inner
def _write_others(s: Store, node: int, one: int, another: int, room: Int32s) -> int:
    """Write the children of a node but for two to `room`, and answer with their number."""
    size = 0
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below = s.child[slot]
        if below != one and below != another:  # noqa: PLR1714 - compiles to faster code than a tuple
            room[size] = below
            size += 1
    return size


@inner
def _remove_unused(s: Store, w: Workspace, node: int) -> None:
    """Remove a node that has no parent any more, and everything that was below it alone."""
    w.stack[0] = node
    high = 1 if s.refs[node] == 0 and (s.kind[node] == PRODUCT or s.kind[node] == SUM) else 0
    while high > 0:
        high -= 1
        gone = w.stack[high] + 0
        clear_children(s, gone)
        unlink(s, gone)
        s.kind[gone] = REMOVED
        for slot in range(s.first[gone], s.first[gone] + s.degree[gone]):
            below = s.child[slot]
            if s.refs[below] == 0 and (s.kind[below] == PRODUCT or s.kind[below] == SUM):
                w.stack[high] = below
                high += 1
        s.degree[gone] = 0


@inner
def _multiply_children(
    s: Store, w: Workspace, p: SplitPlan, t: int, total: int, fresh: Int32s, room: Int32s, factors: Int32s
) -> None:
    """Multiply each child of a new sum by the copy of the parameters' part for its state.

    A product that has no other parent gets this as one more factor. It is then evaluated just before the sum,
    because the factor may come later in the order of evaluation than the product did.
    """
    part = w.param_part[t]
    given = p.given[w.rank[w.column_part[t]]]
    many = 0
    for v in range(given.size):
        if given[v] < 0:
            continue
        below, grown, size = given[v] + 0, given[v] + 0, 0
        factor = fresh[w.place[part], v] if w.role[part] == SPLIT else p.copy[w.place[part], v]
        if s.kind[below] == PRODUCT and s.refs[below] == 1:
            unlink(s, below)
            link_after(s, below, s.before[total] + 0)
            for slot in range(s.first[below], s.first[below] + s.degree[below]):
                room[size] = s.child[slot]
                size += 1
        else:
            grown = new_inner(s, below, s.before[total] + 0)
            s.kind[grown] = PRODUCT
            room[size] = below
            size += 1
        room[size] = factor
        set_children(s, grown, room, size + 1)
        for word in range(s.scope.shape[1]):
            s.scope[grown, word] |= s.scope[factor, word]
        factors[many] = grown
        many += 1
    set_children(s, total, factors, many)
