"""Compiled loops of the search for selective trees: no objects and no choices of policy.

The size of a circuit is one integer: the edges below products, plus 2^32 for each edge below a sum. Sizes are
added and subtracted as they are, and `SUM_EDGE` takes them apart again.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tractable.arrays import Floats, Ints
from tractable.compiled import njit

Codes: TypeAlias = npt.NDArray[np.int32]

SUM_EDGE = 1 << 32
HALF = 1 << 31


class Entries(NamedTuple):
    """Weighted rows, each a list of the slots that it has; see `rows.Slots`."""

    weight: Floats  # (rows,)
    start: Ints  # (rows + 1,) row r's slots are start[r]:start[r + 1]
    slot: Codes  # (entries,) the usual state of a column is not listed
    usual: (
        Ints  # (columns of three or more states, 3) first slot, slot after the last, slot that is not listed
    )


class Shape(NamedTuple):
    """A tree without its rows; node 0 is the root."""

    column: Codes  # (nodes,) that a sum decides; -1 for a product
    first: Codes  # (nodes + 1,) node i's children are child[first[i]:first[i + 1]]; a marginal has none
    child: Codes
    entry: Codes  # (nodes,) a decision's child of state s is branch[entry[i] + s], counted from its first
    branch: Codes


@njit(cache=True, nogil=True)
def _x_log_x(x: float) -> float:
    return x * np.log(x) if x > 0.0 else 0.0


@njit(cache=True, nogil=True)
def conditioning_gains(
    rows: Codes, code: Codes, branch: Codes, entries: Entries, table: Floats, gain: Floats
) -> None:
    """What the log-likelihood of a sum gains when its rows are divided by each slot.

    `branch` is the child of each code. `table` is (slots + 2, children) and filled with zeros; afterwards its
    first lines are the counts of each slot and the line after them those of all rows.
    """
    slots, children = table.shape[0] - 2, table.shape[1]
    for r in rows:
        c = branch[code[r]]
        table[slots, c] += entries.weight[r]
        for e in range(entries.start[r], entries.start[r + 1]):
            table[entries.slot[e], c] += entries.weight[r]
    for i in range(entries.usual.shape[0]):
        for c in range(children):
            rest = table[slots, c]
            for s in range(entries.usual[i, 0], entries.usual[i, 1]):
                if s != entries.usual[i, 2]:
                    rest -= table[s, c]
            table[entries.usual[i, 2], c] = max(rest, 0.0)  # rounding may take it below
    whole, total = 0.0, 0.0
    for c in range(children):
        table[slots + 1, c] = _x_log_x(table[slots, c])
        whole += table[slots + 1, c]
        total += table[slots, c]
    before = whole - _x_log_x(total)
    for s in range(slots):
        inside, outside, count = 0.0, whole, 0.0
        for c in range(children):
            x = table[s, c]
            if x > 0.0:
                count += x
                inside += _x_log_x(x)
                outside += _x_log_x(table[slots, c] - x) - table[slots + 1, c]
        if count > 0.0:
            gain[s] = inside - _x_log_x(count) + outside - _x_log_x(total - count) - before


@njit(cache=True, nogil=True)
def best_split(
    gain: Floats,
    correction: Ints,
    size: Ints,
    lines: Ints,
    slots: Ints,
    own: Ints,
    count: Floats,
    overhead: Ints,
    price: Floats,
    answer: Floats,
) -> None:
    """Find the best split of a product.

    `gain`, `correction` and `size` have a line for each sum of the tree; `lines` are those of the product's
    children, and `own` is the line of the child that each of `slots` belongs to. `count` is the weight of the
    rows with each slot, and of all rows at its end. `overhead` is the size that a split on each slot adds
    beside its copies. `price` is the penalty of a unit of inference cost, and how many edges may be added.
    `answer` is what the score gains, the place of the slot, the line of the other child and the edges.
    """
    total = count[slots.size]
    for i in range(slots.size):
        s, mine, x = slots[i], own[i], count[i]
        if x <= 0.0 or x >= total:
            continue
        fixed = _x_log_x(x) + _x_log_x(total - x) - _x_log_x(total) + gain[mine, s]
        grown = overhead[i] + size[mine] + correction[mine, s]
        for other in lines:
            if other != mine:
                both = grown + size[other]
                sums = (both + HALF) >> 32
                products = both - (sums << 32)
                score = fixed + gain[other, s] - price[0] * (2 * sums + products)
                if score > answer[0] and sums + products <= price[1]:
                    answer[0], answer[1], answer[2], answer[3] = score, i, other, sums + products


@njit(cache=True, nogil=True)
def shape_log_likelihood(shape: Shape, codes: Codes, weight: Floats, rows: Codes, tally: Floats) -> float:
    """The log-likelihood of rows under a tree with the parameters of maximum likelihood for these rows.

    `rows` are put into another order. `tally` is as long as a column has states, at most, and twice so.
    """
    nodes = shape.column.size
    stack = np.empty((nodes + 1, 3), dtype=np.int64)
    room = np.empty_like(rows)
    answer = 0.0
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, rows.size
    height = 1
    while height > 0:
        height -= 1
        node, low, high = stack[height, 0], stack[height, 1], stack[height, 2]
        first, last, column = shape.first[node], shape.first[node + 1], shape.column[node]
        if low == high:
            continue
        if column < 0:
            for e in range(first, last):
                stack[height, 0], stack[height, 1], stack[height, 2] = shape.child[e], low, high
                height += 1
            continue
        size = last - first if last > first else tally.size // 2
        half = tally.size // 2
        for c in range(size):
            tally[c], tally[half + c] = 0.0, 0.0
        total = 0.0
        for i in range(low, high):
            state = codes[column, rows[i]]
            c = shape.branch[shape.entry[node] + state] if last > first else state
            tally[c] += weight[rows[i]]
            tally[half + c] += 1.0
            total += weight[rows[i]]
        for c in range(size):
            answer += _x_log_x(tally[c])
        answer -= _x_log_x(total)
        if last > first:
            begin = low
            for c in range(size):
                here = int(tally[half + c])
                stack[height, 0], stack[height, 1], stack[height, 2] = (
                    shape.child[first + c],
                    begin,
                    begin + here,
                )
                height += 1
                tally[half + c] = begin
                begin += here
            for i in range(low, high):
                c = shape.branch[shape.entry[node] + codes[column, rows[i]]]
                room[int(tally[half + c])] = rows[i]
                tally[half + c] += 1.0
            for i in range(low, high):
                rows[i] = room[i]
    return answer
