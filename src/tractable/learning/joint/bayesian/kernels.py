"""Compiled loops of the search for tree-structured conditional distributions."""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import inner, kernel

Codes: TypeAlias = npt.NDArray[np.int32]


class Entries(NamedTuple):
    """The cells of each row other than the most frequent state of their column."""

    start: Ints  # (rows + 1,) row r's cells are start[r]:start[r + 1]
    slot: Codes  # (cells,) which column and state each is
    slots: Ints  # (columns + 1,) the slots of column c, one a state and one for missing, begin at slots[c]
    usual: Ints  # (columns,) the usual states


class PseudoCounts(NamedTuple):
    """The pseudo-counts of a child's states in a leaf."""

    seen: Floats  # (states,) of the states that the rows of the leaf have
    mass: float  # of all states together


@kernel
def partition_rows(rows: Codes, codes: Codes, fill: Ints, order: Codes) -> None:
    """Write the rows to `order`, grouped by code; `fill` is the next position of each code."""
    for i in range(rows.size):
        r = rows[i]
        order[fill[codes[r]]] = r
        fill[codes[r]] += 1


@kernel
def tally(rows: Codes, number: Ints, weight: Floats, entries: Entries, table: Floats) -> None:
    """Add the weights of rows by cell and state of the child to `table`, (slots, states)."""
    for i in range(rows.size):
        r, x = rows[i], number[i]
        for e in range(entries.start[r], entries.start[r + 1]):
            table[entries.slot[e], x] += weight[r]


@kernel
def fill_gains(
    entries: Entries, table: Floats, total: Floats, own: PseudoCounts, new: PseudoCounts, rest: Floats,
    gain: Floats,
) -> None:  # fmt: skip
    """Fill in the gain of each column; `rest`, (states,), is scratch memory."""
    whole = _log_likelihood(total, own)
    for column in range(gain.size):
        first, missing = entries.slots[column], entries.slots[column + 1] - 1
        lost = False
        for x in range(rest.size):
            lost |= table[missing, x] > 0
            rest[x] = max(total[x] - table[missing, x], 0.0)  # rounding may take it below
        gain[column] = -_log_likelihood(rest, own) if lost else -whole
        for slot in range(first, missing):
            if slot != first + entries.usual[column]:
                gain[column] += _log_likelihood(table[slot], new)
                for x in range(rest.size):
                    rest[x] = max(rest[x] - table[slot, x], 0.0)
        gain[column] += _log_likelihood(rest, new)


@inner
def _log_likelihood(counts: Floats, pseudo: PseudoCounts) -> float:
    """The log-likelihood of counts under their smoothed distribution."""
    answer, total = 0.0, 0.0
    for x in range(counts.size):
        if counts[x] > 0:
            answer += counts[x] * np.log(counts[x] + pseudo.seen[x])
            total += counts[x]
    return answer - total * np.log(total + pseudo.mass) if total > 0 else 0.0
