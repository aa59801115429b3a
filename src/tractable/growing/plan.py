"""What a split does to a growing circuit, found without doing it.

Splitting parameters on a column means that each gets a factor of its own for every state of the column. Where
a parameter's part and the column's part of the circuit meet, at the lowest products above both, the column is
summed out anew: the column's part is taken apart by states, and the parameters' part is copied for each.
Nothing above or beside those products changes.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tractable.arrays import Bools
from tractable.growing.store import INDICATOR, NODES, PRODUCT, Numbers, Store
from tractable.growing.walks import INSIDE, SPLIT, Work, below_tops, way_down, way_up

NEVER = 1 << 60  # edges: more than any limit


class Plan(NamedTuple):
    """A split, planned. New nodes have the numbers they will get, first those of `given`, then of `copy`."""

    edges: int  # how many more edges there will be, NEVER if above the limit
    nodes: int  # room that doing it takes
    slots: int
    below_top: Numbers  # (tops, 2) the column's child of each top, and the parameters' child
    given: Numbers  # (within, states) each node given a state of the column; -1 where it is zero
    copy: Numbers  # (inside, states) the copy of each node for a state; -1 where none is needed


@njit(cache=True, nogil=True)
def plan(
    s: Store, w: Work, params: Numbers, column: int, indicator: int, states: int, replace: bool, limit: int
) -> Plan:
    """Plan the split of parameters (one of which is in every product) on a column.

    `indicator` is the node of the column's first state. With `replace` the new parameters take the place of
    the old ones. Above `limit` more edges the plan is given up.
    """
    inside, tops = way_up(s, w, params, column)
    below_top = below_tops(s, w, tops, column)
    within = way_down(s, w, below_top, column)
    given, made, copied, edges = _given_states(s, w, within, indicator, states, limit)
    nothing = np.empty((0, states), dtype=np.int32)
    if edges == NEVER:
        return Plan(NEVER, 0, 0, below_top, given, nothing)
    nodes, slots = copied, edges
    need = _needed(s, w, inside, below_top, given, states)
    freed, extra, new = _at_tops(s, w, below_top, within, given, made, copied, replace)
    edges += extra - freed
    slots += 4 * states * tops
    for t in range(tops):
        slots += s.degree[w.tops[t]] + 1
    for i in range(within):  # products that take in a factor move
        slots += states * (s.degree[w.within[i]] + 1)
    nodes += new
    copy = np.full((inside, states), -1, dtype=np.int32)
    number = s.used[NODES] + copied
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
    return Plan(edges if edges <= limit else NEVER, nodes, slots, below_top, given, copy)


@njit(cache=True, nogil=True)
def _given_states(
    s: Store, w: Work, within: int, indicator: int, states: int, limit: int
) -> tuple[Numbers, Bools, int, int]:
    """Each listed node given each state: itself, another node, a copy to be made, or -1 for zero.

    Answers also with which are made, how many, and their edges. A node that has one state only is its own
    copy: so the parts of different states are shared, not copied again.
    """
    given = np.empty((within, states), dtype=np.int32)
    made = np.zeros((within, states), dtype=np.bool_)
    number, base, edges, passed = s.used[NODES], s.used[NODES], 0, 0
    for i in range(within):
        node = w.within[i]
        if s.kind[node] == INDICATOR:
            for v in range(states):
                given[i, v] = node if node == indicator + v else -1
            continue
        passed += s.degree[node]
        for v in range(states):
            alive, same, last = _left_given(s, w, node, v, given)
            if alive == 0:
                given[i, v] = -1
            elif same:
                given[i, v] = node
            elif s.kind[node] != PRODUCT and alive == 1:
                given[i, v] = last
            else:
                given[i, v] = number
                made[i, v] = True
                number += 1
                edges += s.degree[node] if s.kind[node] == PRODUCT else alive
        if edges - passed > limit:  # no more edges can fall away than those passed
            return given, made, 0, NEVER
    return given, made, number - base, edges


@njit(cache=True, nogil=True)
def _left_given(s: Store, w: Work, node: int, v: int, given: Numbers) -> tuple[int, bool, int]:
    """How many children with the column are not zero given a state, whether all stay, and the last one."""
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
def _needed(s: Store, w: Work, inside: int, below_top: Numbers, given: Numbers, states: int) -> Bools:
    """For which states each node above the parameters needs a copy. Shape (inside, states)."""
    now = w.round[0]
    need = np.zeros((inside, states), dtype=np.bool_)
    if _all_alive(w, below_top, given):
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
def _all_alive(w: Work, below_top: Numbers, given: Numbers) -> bool:
    """Whether every top has every state of the column."""
    for t in range(len(below_top)):
        for v in range(given.shape[1]):
            if given[w.rank[below_top[t, 0]], v] < 0:
                return False
    return True


@njit(cache=True, nogil=True)
def _at_tops(
    s: Store,
    w: Work,
    below_top: Numbers,
    within: int,
    given: Numbers,
    made: Bools,
    copied: int,
    replace: bool,
) -> tuple[int, int, int]:
    """Edges that fall away below the tops, edges that come at the tops, and nodes that come there."""
    refs, fresh = _references(s, w, below_top, within, given, made, copied)
    freed = _freed(s, w, within, refs)
    base = s.used[NODES]
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
        if s.degree[w.tops[t]] > taken:  # the sum is a node of its own, beside what else the top has
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
def _references(
    s: Store, w: Work, below_top: Numbers, within: int, given: Numbers, made: Bools, copied: int
) -> tuple[Numbers, Numbers]:
    """How many edges will lead to each listed node, before any falls away, and to each copied product.

    Copies of sums count as shared, so that nothing grows into them.
    """
    base = s.used[NODES]
    refs = np.empty(within, dtype=np.int32)
    fresh = np.zeros(copied, dtype=np.int32)
    for i in range(within):
        refs[i] = s.refs[w.within[i]]
    for i in range(within):
        for v in range(given.shape[1]):
            if made[i, v]:
                fresh[given[i, v] - base] += 0 if s.kind[w.within[i]] == PRODUCT else 2
                _count_children(s, w, w.within[i], v, given, refs, fresh)
    for t in range(len(below_top)):
        rank = w.rank[below_top[t, 0]]
        alive = 0
        for v in range(given.shape[1]):
            alive += given[rank, v] >= 0
        if alive > 1:
            refs[rank] -= 1
            for v in range(given.shape[1]):
                _count_reference(s, w, given[rank, v], refs, fresh)
    return refs, fresh


@njit(cache=True, nogil=True)
def _count_children(
    s: Store, w: Work, node: int, v: int, given: Numbers, refs: Numbers, fresh: Numbers
) -> None:
    """Count the edges of a copy."""
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below = s.child[slot]
        if w.seen[below] == w.round[0]:
            _count_reference(s, w, given[w.rank[below], v], refs, fresh)


@njit(cache=True, nogil=True)
def _count_reference(s: Store, w: Work, node: int, refs: Numbers, fresh: Numbers) -> None:
    base = s.used[NODES]
    if node >= base:
        fresh[node - base] += 1
    elif node >= 0:
        refs[w.rank[node]] += 1


@njit(cache=True, nogil=True)
def _freed(s: Store, w: Work, within: int, refs: Numbers) -> int:
    """Edges of listed nodes that nothing leads to any more; `refs` is lowered for what hung on them."""
    now = w.round[0]
    edges = 0
    for i in range(within - 1, -1, -1):
        node = w.within[i]
        if refs[i] == 0 and s.kind[node] != INDICATOR:
            edges += s.degree[node]
            for slot in range(s.first[node], s.first[node] + s.degree[node]):
                if w.seen[s.child[slot]] == now:
                    refs[w.rank[s.child[slot]]] -= 1
    return edges
