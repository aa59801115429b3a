"""Compiled loops of the search for tree distributions: no objects and no choices of policy."""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tractable.arrays import Floats, Ints
from tractable.compiled import njit

Codes: TypeAlias = npt.NDArray[np.int32]


class Entries(NamedTuple):
    """The cells of each row that do not hold the usual state of their column."""

    start: Ints  # (rows + 1,) row r's cells are start[r]:start[r + 1]
    slot: Codes  # (cells,) which column and state each is
    slots: Ints  # (columns + 1,) the slots of column c, one a state and one for missing, begin at slots[c]
    usual: Ints  # (columns,) the usual states


@njit(cache=True, nogil=True)
def unusual_cells(codes: Codes, slots: Ints, usual: Ints) -> tuple[Ints, Codes]:
    """Where each row's unusual cells begin, and the slot of each; `codes` is (columns, rows)."""
    columns, rows = codes.shape
    start = np.zeros(rows + 1, dtype=np.int64)
    for c in range(columns):
        for r in range(rows):
            if codes[c, r] != usual[c]:
                start[r + 1] += 1
    start = np.cumsum(start)
    slot = np.empty(start[rows], dtype=np.int32)
    fill = start[:-1].copy()
    for c in range(columns):
        for r in range(rows):
            if codes[c, r] != usual[c]:
                slot[fill[r]] = slots[c] + codes[c, r]
                fill[r] += 1
    return start, slot


@njit(cache=True, nogil=True)
def partition_rows(rows: Codes, codes: Codes, states: int) -> tuple[Codes, Ints]:
    """The rows in order of a column's code, and where those of each state begin; missing ones come last."""
    start = np.zeros(states + 2, dtype=np.int64)
    for r in rows:
        start[codes[r] + 1] += 1
    start = np.cumsum(start)
    fill = start[:-1].copy()
    order = np.empty_like(rows)
    for r in rows:
        order[fill[codes[r]]] = r
        fill[codes[r]] += 1
    return order, start[: states + 1]


@njit(cache=True, nogil=True)
def split_gains(
    rows: Codes, state: Codes, weight: Floats, entries: Entries, before: Floats, after: Floats
) -> Floats:
    """What the log-likelihood of a leaf's child gains when each of the columns splits the leaf.

    `rows` end in the leaf, `state` is the child's code in every row of the table. `before` and `after` are
    the pseudo-counts of the child's states in the leaf, and in each of the leaves that a split makes.
    Rows in which the column of a split is missing count neither before nor after it.
    """
    total = _totals(rows, state, weight, before.size)
    seen = np.flatnonzero(total > 0)
    number = np.zeros(before.size, dtype=np.int64)
    number[seen] = np.arange(seen.size)
    total, own, new = total[seen], before[seen], after[seen]
    own_mass, new_mass = before.sum(), after.sum()
    table = _tally(rows, number[state[rows]], weight, entries, seen.size)
    whole = _log_likelihood(total, own, own_mass)
    gain = np.empty(entries.usual.size)
    rest = np.empty(seen.size)
    for column in range(gain.size):
        first, missing = entries.slots[column], entries.slots[column + 1] - 1
        lost = False
        for x in range(seen.size):
            lost |= table[missing, x] > 0
            rest[x] = max(total[x] - table[missing, x], 0.0)  # rounding may take it below
        gain[column] = -_log_likelihood(rest, own, own_mass) if lost else -whole
        for slot in range(first, missing):
            if slot != first + entries.usual[column]:
                gain[column] += _log_likelihood(table[slot], new, new_mass)
                for x in range(seen.size):
                    rest[x] = max(rest[x] - table[slot, x], 0.0)
        gain[column] += _log_likelihood(rest, new, new_mass)
    return gain


@njit(cache=True, nogil=True)
def _totals(rows: Codes, state: Codes, weight: Floats, states: int) -> Floats:
    total = np.zeros(states)
    for r in rows:
        total[state[r]] += weight[r]
    return total


@njit(cache=True, nogil=True)
def _tally(rows: Codes, number: Ints, weight: Floats, entries: Entries, states: int) -> Floats:
    """The weight of the rows with each unusual cell and each state of the child. Shape (slots, states)."""
    table = np.zeros((entries.slots[-1], states))
    for i in range(rows.size):
        r, x = rows[i], number[i]
        for e in range(entries.start[r], entries.start[r + 1]):
            table[entries.slot[e], x] += weight[r]
    return table


@njit(cache=True, nogil=True)
def _log_likelihood(counts: Floats, pseudo: Floats, mass: float) -> float:
    """Of counts, under the distribution that follows them and pseudo-counts, which sum to `mass`."""
    answer, total = 0.0, 0.0
    for x in range(counts.size):
        if counts[x] > 0:
            answer += counts[x] * np.log(counts[x] + pseudo[x])
            total += counts[x]
    return answer - total * np.log(total + mass) if total > 0 else 0.0
