"""Walks through a growing circuit: from parameters up, and from where they meet a column down to it."""

from typing import NamedTuple

import numpy as np
from numba import njit

from tractable.arrays import Bools, Bytes, Ints
from tractable.growing.store import INDICATOR, Numbers, Store

INSIDE, TOP, SPLIT = 1, 2, 3  # roles of marked nodes


class Work(NamedTuple):
    """Room to work in, one place a node; marks of an earlier plan are told apart by the round."""

    round: Ints  # (1,)
    mark: Numbers  # (nodes,) the round in which a node was met on the way up
    role: Bytes  # (nodes,) and as what
    place: Numbers  # (nodes,) its place in the lists below
    holds: Bools  # (nodes,) whether it is right above a parameter
    inside: Numbers  # (nodes,) nodes between the parameters and the tops
    tops: Numbers  # (nodes,) the lowest products above both
    seen: Numbers  # (nodes,) the round in which a node was met on the way down to the column
    rank: Numbers  # (nodes,) its place in the list below
    within: Numbers  # (nodes,) nodes between the column and the tops, children first
    stack: Numbers  # (nodes + slots,)


def work_for(store: Store) -> Work:
    """Room for plans on a store of this size."""
    nodes = store.kind.size
    role, holds = np.zeros(nodes, dtype=np.uint8), np.zeros(nodes, dtype=np.bool_)
    mark, place, inside, tops, seen, rank, within = np.zeros((7, nodes), dtype=np.int32)
    stack = np.zeros(nodes + store.child.size, dtype=np.int32)
    return Work(
        np.zeros(1, dtype=np.int64), mark, role, place, holds, inside, tops, seen, rank, within, stack
    )


@njit(cache=True, nogil=True)
def way_up(s: Store, w: Work, params: Numbers, column: int) -> tuple[int, int]:
    """List the nodes above the parameters that lack the column, and the first ones that have it.

    Every way up meets exactly one of these: no product has a parameter under two of its children.
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
                w.holds[node] = done < 0  # parameters come first
                many += 1
        done += 1
    return many, found


@njit(cache=True, nogil=True)
def below_tops(s: Store, w: Work, tops: int, column: int) -> Numbers:
    """The child of each top with the column, and the one with the parameters. Shape (tops, 2)."""
    word, bit = column >> 6, np.uint64(1) << np.uint64(column & 63)
    answer = np.empty((tops, 2), dtype=np.int32)
    now = w.round[0]
    for t in range(tops):
        node = w.tops[t]
        for slot in range(s.first[node], s.first[node] + s.degree[node]):
            below = s.child[slot]
            if s.scope[below, word] & bit:
                answer[t, 0] = below
            elif w.mark[below] == now:
                answer[t, 1] = below
    return answer


@njit(cache=True, nogil=True)
def way_down(s: Store, w: Work, below_top: Numbers, column: int) -> int:
    """List the nodes between the tops and the column's indicators, children first."""
    word, bit = column >> 6, np.uint64(1) << np.uint64(column & 63)
    kind, first, count, child, scope = s.kind, s.first, s.degree, s.child, s.scope
    seen, rank, within, stack = w.seen, w.rank, w.within, w.stack
    now = w.round[0]
    many = 0
    for t in range(len(below_top)):
        stack[0] = below_top[t, 0]
        high = 1
        while high > 0:
            node = stack[high - 1]
            if node < 0:  # all below it is listed
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
