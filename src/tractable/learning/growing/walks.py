"""Walks through the part of a growing circuit that a split changes.

A split concerns some parameters and a column. The walk up visits the nodes above the parameters until it
meets the first ones that have the column in their scope: these are products, here called the *tops*. The walk
down visits the nodes between the tops and the indicators of the column.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Bytes, Int32s, Ints
from tractable.base.compiled import inner
from tractable.learning.growing.store import INDICATOR, TRIAL, Store

INSIDE, TOP, SPLIT = 1, 2, 3  # roles of the nodes that the walk up meets: below a top, a top, a parameter


class Workspace(NamedTuple):
    """Scratch memory of walks, with one place for each node.

    Every walk that begins anew counts `round` up by one. A mark is valid if it equals the current round, so
    that marks of earlier walks need not be cleared.
    """

    round: Ints  # (1,) the current round
    mark: Int32s  # (nodes,) the round in which the walk up met a node
    role: Bytes  # (nodes,) in which role it did: INSIDE, TOP or SPLIT
    place: Int32s  # (nodes,) the position of the node in `inside` or in `tops`, or among the parameters
    holds: Bools  # (nodes,) whether a node of role INSIDE is a parent of a parameter
    inside: Int32s  # (nodes,) the nodes between the parameters and the tops
    tops: Int32s  # (nodes,) the lowest products above both the parameters and the column
    column_part: Int32s  # (nodes,) the child of each top that has the column
    param_part: Int32s  # (nodes,) the child of each top that has the parameters
    seen: Int32s  # (nodes,) the round in which the walk down met a node
    rank: Int32s  # (nodes,) the position of the node in `within`
    within: Int32s  # (nodes,) the nodes between the tops and the column, children first
    stack: Int32s  # (nodes + slots,) nodes that a walk has yet to visit


def new_workspace(store: Store) -> Workspace:
    """Scratch memory for walks through a store of this size."""
    nodes = store.kind.size
    role, holds = np.zeros(nodes, dtype=np.uint8), np.zeros(nodes, dtype=np.bool_)
    mark, place, *lists, seen, rank, within = np.zeros((9, nodes), dtype=np.int32)
    stack = np.zeros(nodes + store.child.size, dtype=np.int32)
    inside, tops, column_part, param_part = lists
    return Workspace(
        np.zeros(1, dtype=np.int64), mark, role, place, holds, inside, tops, column_part, param_part, seen,
        rank, within, stack,
    )  # fmt: skip


@TRIAL.kernel
def find_parts(s: Store, w: Workspace, params: Int32s, column: int) -> tuple[int, int, int]:
    """Fill the workspace for the split of parameters on a column.

    Answers with the numbers of nodes in `inside`, in `tops` and in `within`.
    """
    inside, tops = _walk_up(s, w, params, column)
    _children_of_tops(s, w, tops, column)
    return inside, tops, _walk_down(s, w, tops, column)


@inner
def _walk_up(s: Store, w: Workspace, params: Int32s, column: int) -> tuple[int, int]:
    """List the nodes above the parameters that lack the column, and the tops. Answers with both numbers.

    Every path upwards meets exactly one top, because no product has a parameter below two of its children.
    """
    head, owner, up, scope = s.head, s.owner, s.up, s.scope
    mark, role, place, inside, tops = w.mark, w.role, w.place, w.inside, w.tops
    w.round[0] += 1
    now = w.round[0]
    word, bit = column >> 6, np.uint64(1) << np.uint64(column & 63)
    for i in range(params.size):
        mark[params[i]], role[params[i]], place[params[i]] = now, SPLIT, i
    many, found = 0, 0
    done = -params.size
    while done < many:
        slot = head[params[done + params.size]] if done < 0 else head[inside[done]]
        while slot >= 0:
            node = owner[slot]
            slot = up[slot]
            if mark[node] == now:
                continue
            mark[node] = now
            if scope[node, word] & bit:
                role[node], place[node], tops[found] = TOP, found, node
                found += 1
            else:
                role[node], place[node], inside[many] = INSIDE, many, node
                w.holds[node] = done < 0  # the parents of parameters are met first
                many += 1
        done += 1
    return many, found


@inner
def _children_of_tops(s: Store, w: Workspace, tops: int, column: int) -> None:
    """Fill in the child of each top that has the column, and the one that has the parameters."""
    word, bit = column >> 6, np.uint64(1) << np.uint64(column & 63)
    now = w.round[0]
    for t in range(tops):
        node = w.tops[t]
        for slot in range(s.first[node], s.first[node] + s.degree[node]):
            below = s.child[slot]
            if s.scope[below, word] & bit:
                w.column_part[t] = below
            elif w.mark[below] == now:
                w.param_part[t] = below


@inner
def _walk_down(s: Store, w: Workspace, tops: int, column: int) -> int:
    """List the nodes between the tops and the indicators, children first, and answer with their number."""
    word, bit = column >> 6, np.uint64(1) << np.uint64(column & 63)
    kind, first, count, child, scope = s.kind, s.first, s.degree, s.child, s.scope
    seen, rank, within, stack = w.seen, w.rank, w.within, w.stack
    now = w.round[0]
    many = 0
    for t in range(tops):
        stack[0] = w.column_part[t]
        high = 1
        while high > 0:
            node = stack[high - 1]
            if node < 0:  # the complement of a node: everything below it is listed
                high -= 1
                rank[~node], within[many] = many, ~node
                many += 1
            elif seen[node] == now:
                high -= 1
            else:
                seen[node] = now
                stack[high - 1] = ~node
                if kind[node] != INDICATOR:
                    for slot in range(first[node], first[node] + count[node]):
                        below = child[slot]
                        if scope[below, word] & bit and seen[below] != now:
                            stack[high] = below
                            high += 1
    return many
