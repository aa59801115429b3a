"""What a split would do to a growing circuit, found without changing it.

A split of parameters on a column gives each of them a new factor for every state of the column. The part of
the circuit above the parameters and the part that has the column meet at the lowest products above both, the
*tops*. There the circuit gets a sum over the states of the column: the column's part is divided into one part
for each state, and the parameters' part is copied for each state. Nothing above or beside the tops changes.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Int32s
from tractable.circuit import PRODUCT
from tractable.compiled import njit
from tractable.growing.store import INDICATOR, NODES, Store
from tractable.growing.walks import INSIDE, SPLIT, Workspace, children_of_tops, walk_down, walk_up

NEVER = 1 << 60  # a number of edges above every limit


class SplitPlan(NamedTuple):
    """A split that has been planned but not made.

    New nodes have the numbers that they will get: after the new parameters come those of `given`, then those
    of `copy`. Together with the plan, the marks and lists of the workspace describe the split. A plan can be
    carried out until the circuit changes or another walk uses the workspace.
    """

    edges: (
        int  # how many edges the circuit gains; NEVER if above the limit, and then the plan is not complete
    )
    nodes: int  # an upper bound of the new nodes, without the new parameters
    slots: int  # an upper bound of the new slots
    below_top: Int32s  # (tops, 2) the child of each top that has the column, and the one with the parameters
    given: Int32s  # (within, states) what each node becomes given a state of the column; -1 if it is zero
    copy: Int32s  # (inside, states) the copy of each node for a state of the column; -1 if it needs none


@njit(cache=True, nogil=True)
def plan_split(
    s: Store,
    w: Workspace,
    params: Int32s,
    column: int,
    indicator: int,
    states: int,
    replace: bool,
    limit: int,
) -> SplitPlan:
    """Plan the split of parameters, one of which is in every product that they are about, on a column.

    `indicator` is the node of the column's first state. With `replace` the new parameters take the place of
    the old ones. The plan is given up when it would add more than `limit` edges.
    """
    inside, tops = walk_up(s, w, params, column)
    below_top = children_of_tops(s, w, tops, column)
    within = walk_down(s, w, below_top, column)
    base = s.used[NODES] + params.size * states  # new parameters are numbered before other new nodes
    given, is_new, copied, edges = _condition_on_states(s, w, within, indicator, states, base, limit)
    nothing = np.empty((0, states), dtype=np.int32)
    if edges == NEVER:
        return SplitPlan(NEVER, 0, 0, below_top, given, nothing)
    nodes, slots = copied, edges
    need = _copies_needed(s, w, inside, below_top, given)
    freed, extra, new = _changes_at_tops(s, w, below_top, given, is_new, base, copied, replace)
    edges += extra - freed
    slots += 4 * states * tops
    for t in range(tops):
        slots += s.degree[w.tops[t]] + 1
    for i in range(within):  # products that get one more factor may move to new slots
        slots += states * (s.degree[w.within[i]] + 1)
    nodes += new
    copy = np.full((inside, states), -1, dtype=np.int32)
    number = base + copied
    for i in range(inside):
        node = w.inside[i]
        times = 0
        for v in range(states):
            if need[i, v]:
                copy[i, v] = node if times == 0 else number
                number += times > 0
                times += 1
        added = times if w.holds[node] and not replace else 0
        edges += (times - 1) * s.degree[node] + added
        slots += times * (s.degree[node] + 1)
        nodes += times - 1
    return SplitPlan(edges if edges <= limit else NEVER, nodes, slots, below_top, given, copy)


@njit(cache=True, nogil=True)
def _condition_on_states(
    s: Store, w: Workspace, within: int, indicator: int, states: int, base: int, limit: int
) -> tuple[Int32s, Bools, int, int]:
    """What each node with the column becomes given each state: itself, another, a new one, or -1 for zero.

    Answers also with which of them are new, how many these are, and how many edges they have. A node below
    which the column has one state only stays as it is for that state, so that nothing is copied needlessly.
    """
    given = np.empty((within, states), dtype=np.int32)
    is_new = np.zeros((within, states), dtype=np.bool_)
    number, edges, passed = base, 0, 0
    for i in range(within):
        node = w.within[i]
        if s.kind[node] == INDICATOR:
            for v in range(states):
                given[i, v] = node if node == indicator + v else -1
            continue
        passed += s.degree[node]
        for v in range(states):
            alive, same, last = _children_given(s, w, node, v, given)
            if alive == 0:
                given[i, v] = -1
            elif same:
                given[i, v] = node
            elif s.kind[node] != PRODUCT and alive == 1:
                given[i, v] = last
            else:
                given[i, v] = number
                is_new[i, v] = True
                number += 1
                edges += s.degree[node] if s.kind[node] == PRODUCT else alive
        if edges - passed > limit:  # at most the edges of the nodes passed can be freed
            return given, is_new, 0, NEVER
    return given, is_new, number - base, edges


@njit(cache=True, nogil=True)
def _children_given(s: Store, w: Workspace, node: int, v: int, given: Int32s) -> tuple[int, bool, int]:
    """How many children with the column are not zero given a state, whether all stay, and the last."""
    child, seen, rank, now = s.child, w.seen, w.rank, w.round[0]
    alive, same, last = 0, True, -1
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below = child[slot]
        if seen[below] == now:
            through = given[rank[below], v]
            same &= through == below
            if through >= 0:
                alive += 1
                last = through
    return alive, same, last


@njit(cache=True, nogil=True)
def _copies_needed(s: Store, w: Workspace, inside: int, below_top: Int32s, given: Int32s) -> Bools:
    """For which states each node above the parameters needs a copy. Shape (inside, states)."""
    now, states = w.round[0], given.shape[1]
    need = np.zeros((inside, states), dtype=np.bool_)
    if _has_all_states(w, below_top, given):
        need[:] = True
        return need
    for v in range(states):
        high = 0
        for t in range(len(below_top)):
            node = below_top[t, 1]
            if (
                w.role[node] == INSIDE
                and given[w.rank[below_top[t, 0]], v] >= 0
                and not need[w.place[node], v]
            ):
                need[w.place[node], v] = True
                w.stack[high] = node
                high += 1
        while high > 0:
            high -= 1
            node = w.stack[high]
            for slot in range(s.first[node], s.first[node] + s.degree[node]):
                below = s.child[slot]
                if w.mark[below] == now and w.role[below] == INSIDE and not need[w.place[below], v]:
                    need[w.place[below], v] = True
                    w.stack[high] = below
                    high += 1
    return need


@njit(cache=True, nogil=True)
def _has_all_states(w: Workspace, below_top: Int32s, given: Int32s) -> bool:
    """Whether the column can have every one of its states below every top."""
    for t in range(len(below_top)):
        for v in range(given.shape[1]):
            if given[w.rank[below_top[t, 0]], v] < 0:
                return False
    return True


@njit(cache=True, nogil=True)
def _changes_at_tops(
    s: Store,
    w: Workspace,
    below_top: Int32s,
    given: Int32s,
    is_new: Bools,
    base: int,
    copied: int,
    replace: bool,
) -> tuple[int, int, int]:
    """The edges that are freed below the tops, and the edges and nodes that are added at the tops."""
    refs, fresh = _count_references(s, w, below_top, given, is_new, base, copied)
    freed = _freed_edges(s, w, refs)
    edges, nodes = 0, 0
    for t in range(len(below_top)):
        rank = w.rank[below_top[t, 0]]
        direct = w.role[below_top[t, 1]] == SPLIT
        alive = 0
        for v in range(given.shape[1]):
            alive += given[rank, v] >= 0
        if alive < 2:
            edges += direct and not replace
            continue
        taken = 1 if direct and not replace else 2
        edges += alive - taken
        if s.degree[w.tops[t]] > taken:  # the top has other children, so the sum becomes a node of its own
            edges += 1
            nodes += 1
        for v in range(given.shape[1]):
            node = given[rank, v]
            if node >= base:
                grows = fresh[node - base] == 1
            else:
                grows = node >= 0 and s.kind[node] == PRODUCT and refs[w.rank[node]] == 1
            if node >= 0:
                edges += 1 if grows else 2
                nodes += 0 if grows else 1
    return freed, edges, nodes


@njit(cache=True, nogil=True)
def _count_references(
    s: Store, w: Workspace, below_top: Int32s, given: Int32s, is_new: Bools, base: int, copied: int
) -> tuple[Int32s, Int32s]:
    """How many edges will lead to each node with the column, before any is freed, and to each new product.

    New sums count as shared by several parents, so that no factor is added to them.
    """
    within = len(given)
    refs = np.empty(within, dtype=np.int32)
    fresh = np.zeros(copied, dtype=np.int32)
    for i in range(within):
        refs[i] = s.refs[w.within[i]]
    for i in range(within):
        for v in range(given.shape[1]):
            if is_new[i, v]:
                fresh[given[i, v] - base] += 0 if s.kind[w.within[i]] == PRODUCT else 2
                _count_children(s, w, w.within[i], v, given, base, refs, fresh)
    for t in range(len(below_top)):
        rank = w.rank[below_top[t, 0]]
        alive = 0
        for v in range(given.shape[1]):
            alive += given[rank, v] >= 0
        if alive > 1:
            refs[rank] -= 1
            for v in range(given.shape[1]):
                _count_reference(w, given[rank, v], base, refs, fresh)
    return refs, fresh


@njit(cache=True, nogil=True)
def _count_children(
    s: Store, w: Workspace, node: int, v: int, given: Int32s, base: int, refs: Int32s, fresh: Int32s
) -> None:
    """Count the edges that the copy of a node for a state will have."""
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below = s.child[slot]
        if w.seen[below] == w.round[0]:
            _count_reference(w, given[w.rank[below], v], base, refs, fresh)


@njit(cache=True, nogil=True)
def _count_reference(w: Workspace, node: int, base: int, refs: Int32s, fresh: Int32s) -> None:
    """Count an edge to a node, which may be new or zero."""
    if node >= base:
        fresh[node - base] += 1
    elif node >= 0:
        refs[w.rank[node]] += 1


@njit(cache=True, nogil=True)
def _freed_edges(s: Store, w: Workspace, refs: Int32s) -> int:
    """The edges of nodes that will have no parent; `refs` is lowered for the children of these."""
    now = w.round[0]
    edges = 0
    for i in range(refs.size - 1, -1, -1):
        node = w.within[i]
        if refs[i] == 0 and s.kind[node] != INDICATOR:
            edges += s.degree[node]
            for slot in range(s.first[node], s.first[node] + s.degree[node]):
                if w.seen[s.child[slot]] == now:
                    refs[w.rank[s.child[slot]]] -= 1
    return edges
