"""The second half of compiling: which operations are needed, in which order, and where their values lie."""

import numpy as np

from tractable.arrays import Bools, Floats, Ints, UInt32s
from tractable.compiled import njit
from tractable.engine.scaling import SAFE


@njit(cache=True, nogil=True)
def needs(start: Ints, operand: Ints) -> Ints:
    """The number of values that must be alive at once to evaluate each operation if the circuit were a tree.

    Children that need most are evaluated first: each one after it holds one more value.
    """
    need = np.ones(start.size - 1, dtype=np.int64)
    for op in range(need.size):
        first, last = start[op], start[op + 1]
        if last - first == 1:
            need[op] = max(1, need[operand[first]])
        elif last > first:
            below = np.sort(need[operand[first:last]])[::-1]
            for i in range(below.size):
                need[op] = max(need[op], below[i] + i)
            need[op] = max(need[op], below.size + 1)
    return need


@njit(cache=True, nogil=True)
def depth_first(start: Ints, operand: Ints, need: Ints, root: int) -> Ints:
    """The operations below the root, children before parents, each child's subtree together."""
    done = np.zeros(start.size - 1, dtype=np.bool_)
    order = np.empty(start.size - 1, dtype=np.int64)
    ranked = np.empty_like(operand)
    position = start[:-1].copy()
    stack = np.empty(start.size, dtype=np.int64)
    made, top = 0, 0
    stack[0] = root
    _rank(root, start, operand, need, ranked)
    while top >= 0:
        op = stack[top]
        if position[op] == start[op + 1]:
            done[op] = True
            order[made] = op
            made += 1
            top -= 1
            continue
        below = ranked[position[op]]
        position[op] += 1
        if not done[below]:
            top += 1
            stack[top] = below
            _rank(below, start, operand, need, ranked)
    return order[:made]


@njit(cache=True, nogil=True)
def _rank(op: int, start: Ints, operand: Ints, need: Ints, ranked: Ints) -> None:
    first, last = start[op], start[op + 1]
    if last - first > 1:
        ranked[first:last] = operand[first:last][np.argsort(-need[operand[first:last]])]
    elif last > first:
        ranked[first] = operand[first]


@njit(cache=True, nogil=True)
def slots(start: Ints, operand: UInt32s) -> tuple[Ints, int]:
    """Where each value lies, a place being free again after its last reader; and the number of places.

    The operations are numbered in the order they run.
    """
    size = start.size - 1
    last_edge = np.full(size, -1, dtype=np.int64)
    for e in range(operand.size):
        last_edge[operand[e]] = e
    slot = np.empty(size, dtype=np.int64)
    free = np.empty(size, dtype=np.int64)
    spare, used = 0, 0
    for op in range(size):
        if spare > 0:
            spare -= 1
            slot[op] = free[spare]
        else:
            slot[op] = used
            used += 1
        for e in range(start[op], start[op + 1]):
            if last_edge[operand[e]] == e:
                free[spare] = slot[operand[e]]
                spare += 1
        if last_edge[op] < 0:  # nobody reads it
            free[spare] = slot[op]
            spare += 1
    return slot, used


@njit(cache=True, nogil=True)
def bounds(
    is_sum: Bools,
    start: Ints,
    operand: UInt32s,
    log_weight: Floats,
    leaf_edges: tuple[Ints, Floats, Floats],
    low: Floats,
    high: Floats,
) -> None:
    """Fill the smallest and largest logarithm that an operation's non-zero values can take.

    `leaf_edges` is (start, low, high) of the edges to leaves, weights included. Of a product only what drives
    it one way counts, so that no partial product leaves the bounds either. Operations that read leaves are
    filled.
    """
    leaf_start, leaf_low, leaf_high = leaf_edges
    for op in range(is_sum.size):
        first, last = start[op], start[op + 1]
        leaf_first, leaf_last = leaf_start[op], leaf_start[op + 1]
        if first == last and leaf_first == leaf_last:
            continue
        lowest, highest = (np.inf, -np.inf) if is_sum[op] else (0.0, 0.0)
        for e in range(first, last):
            a, w = operand[e], log_weight[e]
            lowest, highest = _widen(is_sum[op], lowest, highest, w + low[a], w + high[a])
            if w <= -SAFE or low[a] <= -SAFE or high[a] >= SAFE:
                lowest = -np.inf  # what may have an exponent hands it on, even where a weight brings it back
        for e in range(leaf_first, leaf_last):
            lowest, highest = _widen(is_sum[op], lowest, highest, leaf_low[e], leaf_high[e])
        low[op], high[op] = lowest, highest


@njit(cache=True, nogil=True)
def _widen(is_sum: bool, lowest: float, highest: float, low: float, high: float) -> tuple[float, float]:
    if is_sum:
        return min(lowest, low), np.logaddexp(highest, high)
    return lowest + min(low, 0.0), highest + max(high, 0.0)
