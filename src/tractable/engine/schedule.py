"""The second half of compiling: which operations are needed, in which order, and where their values lie."""

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints, UInt32s
from tractable.base.compiled import njit
from tractable.engine.scaling import DRIFT, HALF_STEP, SAFE


def depth_first(start: Ints, operand: Ints, root: int) -> Ints:
    """The operations below the root, children before parents, each child's subtree together.

    Children that need most values at once are evaluated first: each one after it holds one more value.
    """
    ranked = operand.copy()
    _rank_operands(start, ranked, np.ones(start.size - 1, dtype=np.int64))
    order, stack = np.empty(start.size - 1, dtype=np.int64), np.empty(start.size, dtype=np.int64)
    stack[0] = root
    done = np.zeros(start.size - 1, dtype=np.bool_)
    return order[: _visit(start, ranked, start[:-1].copy(), stack, done, order)]


@njit(cache=True, nogil=True)
def _rank_operands(start: Ints, ranked: Ints, need: Ints) -> None:
    """Sort the operands of every operation by how much they need, most first.

    `need` becomes the number of values that must be alive at once to evaluate each operation if the circuit
    were a tree. Shell's method is short, and fast enough for any number of operands.
    """
    for op in range(need.size):
        first, last = start[op], start[op + 1]
        gap = (last - first) // 2
        while gap > 0:
            for e in range(first + gap, last):
                a, f = ranked[e], e
                while f >= first + gap and need[ranked[f - gap]] < need[a]:
                    ranked[f] = ranked[f - gap]
                    f -= gap
                ranked[f] = a
            gap = 0 if gap == 1 else max(gap * 5 // 11, 1)
        if last - first > 1:
            need[op] = last - first + 1
        for e in range(first, last):
            need[op] = max(need[op], need[ranked[e]] + e - first)


@njit(cache=True, nogil=True)
def _visit(start: Ints, ranked: Ints, position: Ints, stack: Ints, done: Bools, order: Ints) -> int:
    """Fill in the order of the operations below the one on the stack; the number of them."""
    made, top = 0, 0
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
    return made


def slots(start: Ints, operand: UInt32s) -> tuple[UInt32s, int]:
    """Where each value lies, a place being free again after its last reader; and the number of places.

    The operations are numbered in the order they run.
    """
    size = start.size - 1
    last_edge = np.full(size, -1, dtype=np.int64)
    last_edge[operand] = np.arange(operand.size)
    slot = np.empty(size, dtype=np.uint32)
    return slot, int(_place(start, operand, last_edge, np.empty(size, dtype=np.uint32), slot))


@njit(cache=True, nogil=True)
def _place(start: Ints, operand: UInt32s, last_edge: Ints, free: UInt32s, slot: UInt32s) -> int:
    """Fill in the places, given each operation's last edge upwards; the number of them."""
    spare, used = 0, 0
    for op in range(slot.size):
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
    return used


@njit(cache=True, nogil=True)
def bounds(
    is_sum: Bools,
    start: Ints,
    operand: UInt32s,
    log_weight: Floats,
    leaf_edges: tuple[Ints, Floats, Floats],
    whole: tuple[Floats, Floats],
    held: tuple[Floats, Floats],
    reach: Floats,
) -> None:
    """Fill the smallest and largest logarithm that an operation's non-zero values can take.

    `leaf_edges` is (start, low, high) of the edges to leaves, weights included. Of a product only what drives
    it one way counts, so that no partial product leaves the bounds either. Operations that read leaves are
    filled. `whole` are the (low, high) bounds of the values themselves. `held` are those of the doubles that
    stand for them beside exponents: what leaves +-DRIFT is checked, and lies within +-SAFE afterwards.
    `reach` is how far an operation's double can be off before it is checked.
    """
    leaf_start, leaf_low, leaf_high = leaf_edges
    (low, high), (held_low, held_high) = whole, held
    for op in range(is_sum.size):
        edges, leaf = start[op + 1] - start[op], leaf_start[op]
        every = edges + leaf_start[op + 1] - leaf
        lowest, highest = (np.inf, -np.inf) if is_sum[op] else (0.0, 0.0)
        least, most = lowest, highest
        for i in range(every):
            if i < edges:
                a, w = operand[start[op] + i], log_weight[start[op] + i]
                below, above = w + low[a], w + high[a]
                held_below, held_above = w + held_low[a], w + held_high[a]
                if w <= -SAFE or low[a] <= -SAFE or high[a] >= SAFE:
                    lowest = -np.inf  # what may have an exponent hands it on, even where a weight ends it
            else:
                below, above = leaf_low[leaf + i - edges], leaf_high[leaf + i - edges]
                held_below, held_above = below, above
            if is_sum[op]:
                lowest, highest = min(lowest, below), np.logaddexp(highest, above)
                least, most = min(least, held_below), max(most, held_above)
            else:
                lowest, highest = lowest + min(below, 0.0), highest + max(above, 0.0)
                least, most = least + min(held_below, 0.0), most + max(held_above, 0.0)
        if every > 0:
            low[op], high[op] = lowest, highest
            if lowest > -SAFE and highest < SAFE:
                least, most = lowest, highest
            elif is_sum[op]:  # terms may be brought to one exponent
                least, most = min(least, -HALF_STEP), max(most, HALF_STEP) + np.log(float(every))
            reach[op] = max(-least, most)
            is_near = reach[op] < DRIFT
            held_low[op], held_high[op] = (least, most) if is_near else (-SAFE, SAFE)
