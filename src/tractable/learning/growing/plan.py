"""Planning of a split of a growing circuit without changing it.

A split of parameters on a column gives each of them a new factor for every state of the column. The part of
the circuit above the parameters and the part that has the column meet at the lowest products above both, the
*tops*. There the circuit gets a sum over the states of the column: the column's part is divided into one part
for each state, and the parameters' part is copied for each state. Nothing above or beside the tops changes.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Int32s
from tractable.base.compiled import inner
from tractable.circuit import PRODUCT
from tractable.learning.growing.store import INDICATOR, NODES, TRIAL, Store
from tractable.learning.growing.walks import INSIDE, SPLIT, Workspace, find_parts

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
    tops: int  # the number of tops
    given: Int32s  # (within, states) what each node becomes given a state of the column; -1 if it is zero
    copy: Int32s  # (inside, states) the copy of each node for a state of the column; -1 if it needs none


class SplitQuestion(NamedTuple):
    """What is asked about the split of parameters on a column."""

    indicator: int  # the node of the column's first state
    base: int  # the number that the first new node gets; the new parameters come before it
    replace: bool  # whether new parameters take the place of the old ones
    limit: int  # of the edges that may be added


def plan_split(
    s: Store, w: Workspace, params: Int32s, column: int, indicators: range, replace: bool, limit: int
) -> SplitPlan:
    """Plan the split of parameters, one of which is in every product that they are about, on a column.

    `indicators` are the nodes of the column's states. With `replace` the new parameters take the place of the
    old ones. The plan is given up when it would add more than `limit` edges.
    """
    inside, tops, within = find_parts(s, w, params, column)
    states = len(indicators)
    given = np.empty((within, states), dtype=np.int32)
    copy = np.empty((inside, states), dtype=np.int32)
    counts = np.empty((1 + states) * within, dtype=np.int32)
    base = int(s.used[NODES]) + params.size * states
    question = SplitQuestion(indicators.start, base, replace, limit)
    edges, nodes, slots = fill_plan(s, w, tops, question, given, copy, counts)
    return SplitPlan(edges, nodes, slots, tops, given, copy)


@TRIAL.kernel
def fill_plan(
    s: Store, w: Workspace, tops: int, q: SplitQuestion, given: Int32s, copy: Int32s, counts: Int32s
) -> tuple[int, int, int]:
    """Fill in `given` and `copy`, and answer with the new edges, nodes and slots; `counts` is memory.

    The edges are NEVER if they exceed the limit, and then the plan is not complete.
    """
    within, states = given.shape
    copied, edges = _condition_on_states(s, w, q, given)
    if edges == NEVER:
        return NEVER, 0, 0
    slots = edges + 4 * states * tops
    refs, fresh = counts[:within], counts[within:]
    _count_references(s, w, q.base, given, refs, fresh)
    _count_references_of_tops(w, tops, q.base, given, refs, fresh)
    edges -= _freed_edges(s, w, refs)
    extra, nodes = _changes_at_tops(s, w, tops, q, given, refs, fresh)
    edges += extra
    for t in range(tops):
        slots += s.degree[w.tops[t]] + 1
    for i in range(within):  # products that get one more factor may move to new slots
        slots += states * (s.degree[w.within[i]] + 1)
    _mark_copies(s, w, tops, given, copy)
    number = q.base + copied
    for i in range(len(copy)):
        node = w.inside[i]
        times = 0
        for v in range(states):
            if copy[i, v] >= 0:
                copy[i, v] = node if times == 0 else number
                number += times > 0
                times += 1
        edges += (times - 1) * s.degree[node]
        if w.holds[node] and not q.replace:
            edges += times
        slots += times * (s.degree[node] + 1)
        nodes += times - 1
    return edges if edges <= q.limit else NEVER, nodes + copied, slots


@inner
def _condition_on_states(s: Store, w: Workspace, q: SplitQuestion, given: Int32s) -> tuple[int, int]:
    """What each node with the column becomes given each state: itself, another, a new one, or -1 for zero.

    Answers with how many are new, and how many edges these have. A node below which the column has one state
    only stays as it is for that state, so that nothing is copied needlessly.
    """
    number, edges, passed = q.base, 0, 0
    for i in range(len(given)):
        node = w.within[i]
        is_product = s.kind[node] == PRODUCT
        passed += s.degree[node]
        for v in range(given.shape[1]):
            if s.kind[node] == INDICATOR:
                given[i, v] = node if node == q.indicator + v else -1
                continue
            alive, same, last = _children_given(s, w, node, v, given)
            if alive == 0:
                given[i, v] = -1
            elif same:
                given[i, v] = node
            elif alive == 1 and not is_product:
                given[i, v] = last
            else:
                given[i, v] = number
                number += 1
                edges += s.degree[node] if is_product else alive
        if edges - passed > q.limit:  # at most the edges of the nodes passed can be freed
            return 0, NEVER
    return number - q.base, edges


@inner
def _children_given(s: Store, w: Workspace, node: int, v: int, given: Int32s) -> tuple[int, bool, int]:
    """How many children with the column are not zero given a state, whether all stay, and the last."""
    now, alive, same, last = w.round[0], 0, True, -1
    for slot in range(s.first[node], s.first[node] + s.degree[node]):
        below = s.child[slot]
        if w.seen[below] == now:
            through = given[w.rank[below], v]
            same &= through == below
            if through >= 0:
                alive += 1
                last = through
    return alive, same, last


@inner
def _count_references(s: Store, w: Workspace, base: int, given: Int32s, refs: Int32s, fresh: Int32s) -> None:
    """Fill in how many edges lead to each node with the column, and to each new product, but from the tops.

    Edges that are freed later still count. New sums count as shared by several parents, so that no factor is
    added to them.
    """
    within, states, now, number = len(given), given.shape[1], w.round[0], base
    for i in range(within):
        refs[i] = s.refs[w.within[i]]
    for i in range(fresh.size):
        fresh[i] = 0
    for i in range(within):
        node = w.within[i]
        for v in range(states):
            if given[i, v] == number:  # new nodes were numbered in this very order
                fresh[number - base] += 0 if s.kind[node] == PRODUCT else 2
                number += 1
                for slot in range(s.first[node], s.first[node] + s.degree[node]):
                    below = s.child[slot]
                    if w.seen[below] == now:
                        _count_reference(w, given[w.rank[below], v], base, refs, fresh)


@inner
def _count_references_of_tops(
    w: Workspace, tops: int, base: int, given: Int32s, refs: Int32s, fresh: Int32s
) -> None:
    """Count the edges of the sums over the column's states, which take the place of the column's part."""
    for t in range(tops):
        rank = w.rank[w.column_part[t]]
        alive = 0
        for v in range(given.shape[1]):
            alive += given[rank, v] >= 0
        if alive > 1:
            refs[rank] -= 1
            for v in range(given.shape[1]):
                _count_reference(w, given[rank, v], base, refs, fresh)


@inner
def _count_reference(w: Workspace, node: int, base: int, refs: Int32s, fresh: Int32s) -> None:
    """Count an edge to a node, which may be new or zero."""
    if node >= base:
        fresh[node - base] += 1
    elif node >= 0:
        refs[w.rank[node]] += 1


@inner
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


@inner
def _changes_at_tops(
    s: Store, w: Workspace, tops: int, q: SplitQuestion, given: Int32s, refs: Int32s, fresh: Int32s
) -> tuple[int, int]:
    """The edges and nodes that are added at the tops."""
    edges, nodes = 0, 0
    for t in range(tops):
        rank = w.rank[w.column_part[t]]
        alive, kept = 0, 0  # states that are possible, and whether the parameter itself stays a child
        if w.role[w.param_part[t]] == SPLIT and not q.replace:
            kept = 1
        for v in range(given.shape[1]):
            alive += given[rank, v] >= 0
        if alive < 2:
            edges += kept
            continue
        edges += alive + kept - 2
        if s.degree[w.tops[t]] + kept > 2:  # the top has other children: the sum becomes a node of its own
            edges += 1
            nodes += 1
        for v in range(given.shape[1]):
            node = given[rank, v]
            if node >= q.base:
                grows = fresh[node - q.base] == 1
            else:
                grows = node >= 0 and s.kind[node] == PRODUCT and refs[w.rank[node]] == 1
            if node >= 0:
                edges += 1 if grows else 2
                nodes += 0 if grows else 1
    return edges, nodes


@inner
def _mark_copies(s: Store, w: Workspace, tops: int, given: Int32s, copy: Int32s) -> None:
    """Fill in 0 for the states for which a node above the parameters needs a copy, and -1 for the others."""
    now = w.round[0]
    for v in range(copy.shape[1]):
        impossible, high = 0, 0
        for t in range(tops):
            impossible += given[w.rank[w.column_part[t]], v] < 0
        for i in range(len(copy)):
            copy[i, v] = -1 if impossible > 0 else 0
        for t in range(tops):
            node, is_possible = w.param_part[t], given[w.rank[w.column_part[t]], v] >= 0
            if w.role[node] == INSIDE and is_possible and copy[w.place[node], v] < 0:
                copy[w.place[node], v] = 0
                w.stack[high] = node
                high += 1
        while high > 0:
            high -= 1
            node = w.stack[high]
            for slot in range(s.first[node], s.first[node] + s.degree[node]):
                below = s.child[slot]
                if w.mark[below] == now and w.role[below] == INSIDE and copy[w.place[below], v] < 0:
                    copy[w.place[below], v] = 0
                    w.stack[high] = below
                    high += 1
