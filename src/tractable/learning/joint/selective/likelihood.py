"""What more rows would add to the log-likelihood of a part of a selective tree."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import njit
from tractable.learning.joint.selective.kernels import Codes, Entries, Slots, count_slots, x_log_x
from tractable.learning.joint.selective.shapes import Shape


class Cells(NamedTuple):
    """The training rows, column by column and as lists of slots."""

    codes: Codes  # (columns, rows)
    entries: Entries
    slots: Slots
    most_states: int  # of any column


class Counted(NamedTuple):
    """The structure of a part of a tree, and the rows that reach it."""

    shape: Shape
    edge_start: Ints  # see `subtrees.Weights`, as the next one
    counts: Floats


@njit(cache=True, nogil=True)
def added_likelihood(part: Counted, top: int, reaching: float, cells: Cells, rows: Codes) -> float:
    """What more rows add to the log-likelihood from one node down, at maximum likelihood before and after.

    Only nodes that these rows reach are looked at. The weight of the rows that reach the top without them is
    `reaching`. `rows` are put into another order. Every row has an edge of each sum that it reaches.
    """
    shape = part.shape
    stack, before = np.empty((shape.many[top] + 1, 3), dtype=np.int64), np.empty(shape.many[top] + 1)
    room, tally = np.empty_like(rows), np.empty(2 * cells.most_states)
    slots, together = np.empty((cells.slots.first[-1] + 2, 1)), np.zeros(cells.most_states, dtype=np.int32)
    listed = cells.entries.slot.size / max(cells.entries.weight.size, 1)  # slots of a row
    answer, shared, height = 0.0, 0.0, 1
    stack[0, 0], stack[0, 1], stack[0, 2], before[0] = top, 0, rows.size, reaching
    while height > 0:
        height -= 1
        node, low, high = stack[height]
        total, column, many = before[height], shape.column[node], high - low
        if column >= 0:
            answer += _divide(part, node, total, cells, rows, room, tally, stack[height])
        counts_slots = column < 0 and shape.many[node] * many > 2 * (listed * many + slots.size)
        if counts_slots:
            for s in range(slots.size):
                slots[s, 0] = 0.0
            count_slots(rows[low:high], cells.codes[0], together, cells.entries, slots)
            more = slots[cells.slots.first[-1], 0]
            shared = x_log_x(total) - x_log_x(total + more)
        child, edge = node + 1, 0
        while child < node + shape.many[node]:
            if counts_slots and shape.many[child] == 1:
                if cells.slots.first[shape.column[child]] < cells.slots.first[shape.column[child] + 1]:
                    answer += shared + _score_slots(part, child, total, cells, slots)
            else:
                if column >= 0:
                    low, high = high if edge else low, int(tally[edge])
                    total = part.counts[part.edge_start[node] + edge]
                if low < high:
                    stack[height, 0], stack[height, 1], stack[height, 2] = child, low, high
                    before[height] = total
                    height += 1
            child, edge = child + shape.many[child], edge + 1
    return answer


@njit(cache=True, nogil=True)
def _counted(part: Counted, node: int, state: int, total: float) -> float:
    """The weight of the rows of a marginal, in total so much, that have a state."""
    edge, first = part.shape.branch[part.shape.state_start[node] + state], part.edge_start[node]
    if edge < 0:
        return 0.0
    return part.counts[first + edge] if part.edge_start[node + 1] > first else total  # of its only state


@njit(cache=True, nogil=True)
def _score_slots(part: Counted, node: int, total: float, cells: Cells, slots: Floats) -> float:
    """What the states of a marginal add, from counts of slots and of all rows."""
    column = part.shape.column[node]
    low, high = cells.slots.first[column], cells.slots.first[column + 1]
    answer, more = 0.0, slots[cells.slots.first[-1], 0]
    if high - low == 1:  # the other one of two states has no slot
        other = _counted(part, node, 1 - cells.slots.state[low], total)
        answer = x_log_x(other + more - slots[low, 0]) - x_log_x(other)
    for s in range(low, high):
        if slots[s, 0] > 0.0:
            was = _counted(part, node, cells.slots.state[s], total)
            answer += x_log_x(was + slots[s, 0]) - x_log_x(was)
    return answer


@njit(cache=True, nogil=True)
def _divide(
    part: Counted,
    node: int,
    total: float,
    cells: Cells,
    rows: Codes,
    room: Codes,
    tally: Floats,
    span: Ints,
) -> float:
    """Order the rows of a sum by its edges; where those of each edge end goes to `tally`. What they add."""
    low, high, half, shape = span[1], span[2], tally.size // 2, part.shape
    is_decision, base = shape.many[node] > 1, shape.state_start[node]
    code, weight = cells.codes[shape.column[node]], cells.entries.weight
    for c in range(tally.size):
        tally[c] = 0.0
    more = 0.0
    for i in range(low, high):
        c = max(shape.branch[base + code[rows[i]]], 0) if is_decision else code[rows[i]]
        tally[c] += 1.0
        tally[half + c] += weight[rows[i]]
        more += weight[rows[i]]
    answer, end = x_log_x(total) - x_log_x(total + more), float(low)
    for c in range(half):
        if tally[half + c] > 0.0:
            was = part.counts[part.edge_start[node] + c] if is_decision else _counted(part, node, c, total)
            answer += x_log_x(was + tally[half + c]) - x_log_x(was)
        tally[c], end = end, end + tally[c]  # where the rows of an edge begin
    for i in range(low, high if is_decision else low):
        c = max(shape.branch[base + code[rows[i]]], 0)
        room[int(tally[c])] = rows[i]
        tally[c] += 1.0
    for i in range(low, high if is_decision else low):
        rows[i] = room[i]
    return answer
