"""The log-likelihood of rows under a part of a selective tree, which need not be made for them."""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.compiled import njit
from tractable.learners.selective.kernels import Codes, Entries, count_slots, x_log_x
from tractable.learners.selective.shapes import Shape


class Cells(NamedTuple):
    """The training rows, column by column and as lists of slots."""

    codes: Codes  # (columns, rows)
    entries: Entries
    first: Ints  # (columns + 1,) see `rows.Slots`
    most_states: int  # of any column


@njit(cache=True, nogil=True)
def log_likelihood_below(shape: Shape, top: int, cells: Cells, rows: Codes) -> float:
    """The log-likelihood of rows from one node down, with the parameters of maximum likelihood for them.

    `rows` are put into another order.
    """
    stack = np.empty((shape.many[top] + 1, 3), dtype=np.int64)
    room, tally = np.empty_like(rows), np.empty(2 * cells.most_states)
    slots, together = np.empty((cells.first[-1] + 2, 1)), np.zeros(cells.most_states, dtype=np.int32)
    listed = cells.entries.slot.size / max(cells.entries.weight.size, 1)  # slots of a row
    answer, height = 0.0, 1
    stack[0, 0], stack[0, 1], stack[0, 2] = top, 0, rows.size
    while height > 0:
        height -= 1
        node, low, high = stack[height]
        if low == high:
            continue
        column, many = shape.column[node], high - low
        if column >= 0:
            answer += _divide(shape, node, cells, rows, room, tally, stack[height])
        counts_slots = column < 0 and shape.many[node] * many > 2 * (listed * many + slots.size)
        if counts_slots:
            for s in range(slots.size):
                slots[s, 0] = 0.0
            count_slots(rows[low:high], cells.codes[0], together, cells.entries, slots)
        child, edge = node + 1, 0
        while child < node + shape.many[node]:
            if counts_slots and shape.many[child] == 1:
                answer += _score_slots(slots, cells.first, shape.column[child])
            else:
                if column >= 0:
                    low, high = high if edge else low, int(tally[edge])
                stack[height, 0], stack[height, 1], stack[height, 2] = child, low, high
                height += 1
            child, edge = child + shape.many[child], edge + 1
    return answer


@njit(cache=True, nogil=True)
def _score_slots(slots: Floats, first: Ints, column: int) -> float:
    """The log-likelihood of a column at maximum likelihood, given counts of slots and of all rows."""
    low, high = first[column], first[column + 1]
    if low == high:
        return 0.0
    total = slots[first[-1], 0]
    if high - low == 1:
        return x_log_x(slots[low, 0]) + x_log_x(total - slots[low, 0]) - x_log_x(total)
    answer = -x_log_x(total)
    for s in range(low, high):
        answer += x_log_x(slots[s, 0])
    return answer


@njit(cache=True, nogil=True)
def _divide(
    shape: Shape, node: int, cells: Cells, rows: Codes, room: Codes, tally: Floats, span: Ints
) -> float:
    """Order the rows of a sum by its edges; where those of each edge end goes to `tally`."""
    low, high, half = span[1], span[2], tally.size // 2
    is_decision, base = shape.many[node] > 1, shape.state_start[node]
    code, weight = cells.codes[shape.column[node]], cells.entries.weight
    for c in range(tally.size):
        tally[c] = 0.0
    total = 0.0
    for i in range(low, high):
        c = max(shape.branch[base + code[rows[i]]], 0) if is_decision else code[rows[i]]
        tally[c] += 1.0
        tally[half + c] += weight[rows[i]]
        total += weight[rows[i]]
    answer, end = -x_log_x(total), float(low)
    for c in range(half):
        answer += x_log_x(tally[half + c])
        tally[c], end = end, end + tally[c]  # where the rows of an edge begin
    for i in range(low, high if is_decision else low):
        c = max(shape.branch[base + code[rows[i]]], 0)
        room[int(tally[c])] = rows[i]
        tally[c] += 1.0
    for i in range(low, high if is_decision else low):
        rows[i] = room[i]
    return answer
