"""Compiled loops of the search for selective trees: no objects and no choices of policy.

The size of a circuit is one integer: the edges below products, plus 2^32 for each edge below a sum. Sizes are
added and subtracted as they are, and `SUM_EDGE` takes them apart again.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import njit

Codes: TypeAlias = npt.NDArray[np.int32]

SUM_EDGE = 1 << 32
HALF = 1 << 31
TIE = 1e-10  # relative difference below which two scores are equal


class Slots(NamedTuple):
    """The ways to divide rows in two by one state of one column; each is numbered.

    A column of one state has no slot and a column of two states has one, for both states divide rows in the
    same way. A column of more states has one for each.
    """

    column: Ints  # (slots,)
    state: Ints  # (slots,)
    first: Ints  # (columns + 1,) the slots of column c are first[c]:first[c + 1]

    def of(self, column: int) -> Ints:
        """The slots of a column."""
        return np.arange(self.first[column], self.first[column + 1])


class Entries(NamedTuple):
    """Weighted rows, each a list of the slots that it has; see `Slots`."""

    weight: Floats  # (rows,)
    start: Ints  # (rows + 1,) row r's slots are start[r]:start[r + 1]
    slot: Codes  # (entries,) the usual state of a column is not listed
    usual: Ints  # (columns of three or more states, 3) first slot, one after the last, one that is not listed


class Scores(NamedTuple):
    """A line for each sum; see `lines.Lines`."""

    gain: Floats  # (lines, slots)
    size: Ints  # (lines,)
    preference: Floats  # (slots,) of slots that gain the same


class Factors(NamedTuple):
    """The factors of a product; those with a single state count as one."""

    lines: Ints  # (factors,) the last one is zero if there are factors with a single state
    slots: Ints  # of the columns of all factors
    line_of_slot: Ints  # (slots,) that of the factor that each belongs to
    correction: Ints  # (slots,) that of this factor; see `corrections`
    held: Floats  # (slots + 1,) the weight of the rows with each slot, and of all rows
    overhead: Ints  # (slots,) the size that a split adds beside its copies


@njit(cache=True, nogil=True)
def x_log_x(x: float) -> float:
    """The number times its logarithm; zero at zero."""
    return x * np.log(x) if x > 0.0 else 0.0


@njit(cache=True, nogil=True)
def count_slots(rows: Codes, code: Codes, branch: Codes, entries: Entries, table: Floats) -> None:
    """Count the rows with each slot on each edge of a sum.

    `branch` is the edge of each code. `table` is (slots + 2, edges) and filled with zeros; the line after
    those of the slots becomes the count of all rows.
    """
    slots, edges = table.shape[0] - 2, table.shape[1]
    for r in rows:
        c, w = branch[code[r]], entries.weight[r]
        table[slots, c] += w
        for e in range(entries.start[r], entries.start[r + 1]):
            table[entries.slot[e], c] += w
    for i in range(entries.usual.shape[0]):
        for c in range(edges):
            rest = table[slots, c]
            for s in range(entries.usual[i, 0], entries.usual[i, 1]):
                if s != entries.usual[i, 2]:
                    rest -= table[s, c]
            table[entries.usual[i, 2], c] = max(rest, 0.0)  # rounding may take it below


@njit(cache=True, nogil=True)
def conditioning_gains(table: Floats, gain: Floats) -> None:
    """What the log-likelihood of a sum gains when its rows are divided by each slot.

    `table` comes from `count_slots`; its last line is used for intermediate results.
    """
    slots, edges = table.shape[0] - 2, table.shape[1]
    whole, total = 0.0, 0.0
    for c in range(edges):
        table[slots + 1, c] = x_log_x(table[slots, c])
        whole += table[slots + 1, c]
        total += table[slots, c]
    before = whole - x_log_x(total)
    for s in range(slots):
        inside, outside, count = 0.0, whole, 0.0
        for c in range(edges):
            x = table[s, c]
            if x > 0.0:
                count += x
                inside += x_log_x(x)
                outside += x_log_x(table[slots, c] - x) - table[slots + 1, c]
        if count > 0.0:
            gain[s] = inside - x_log_x(count) + outside - x_log_x(total - count) - before


@njit(cache=True, nogil=True)
def best_split(scores: Scores, factors: Factors, price: Floats, answer: Floats) -> None:
    """Find the best split of a product.

    `price` is the penalty of a unit of inference cost, how many edges may be added, and what the gain of all
    factors counts where two slots gain the same. `answer` is what the score must gain at least, and becomes
    what it gains, the place of the slot, the line of the other factor, the edges that are added, and the
    fewest edges of those splits that are as good or better, but add too many.
    """
    many = factors.slots.size
    total = factors.held[many]
    fixed = np.empty(many)  # what the slot's own factor gains
    promise = np.empty(many)  # two columns often gain the same by each other, and then this decides
    cost, edges = np.empty(many), np.empty(many)
    for i in range(many):
        s, mine, x = factors.slots[i], factors.line_of_slot[i], factors.held[i]
        grown = factors.overhead[i] + scores.size[mine] + factors.correction[i]
        sums = (grown + HALF) >> 32
        edges[i] = grown - (sums << 32) + sums
        cost[i] = edges[i] + sums
        promise[i] = scores.preference[s]
        fixed[i] = -np.inf
        if 0.0 < x < total:
            fixed[i] = x_log_x(x) + x_log_x(total - x) - x_log_x(total) + scores.gain[mine, s]
    for other in factors.lines:
        for i in range(many):
            promise[i] += price[2] * scores.gain[other, factors.slots[i]]
    best = -1
    for other in factors.lines:
        sums = (scores.size[other] + HALF) >> 32
        more = scores.size[other] - (sums << 32) + sums
        for i in range(many):
            score = fixed[i] + scores.gain[other, factors.slots[i]] - price[0] * (cost[i] + more + sums)
            close = TIE * abs(answer[0])
            if score < answer[0] - close or factors.line_of_slot[i] == other:
                continue
            if edges[i] + more > price[1]:
                answer[4] = min(answer[4], edges[i] + more)
                continue
            if score > answer[0] + close or (best >= 0 and promise[i] > promise[best]):
                best = i
                answer[0], answer[1], answer[2], answer[3] = score, i, other, edges[i] + more
