"""The pseudo-likelihood as a function of the weights, which needs no partition function.

Besag, «Statistical Analysis of Non-Lattice Data», 1975.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Int32s, Ints
from tractable.base.compiled import njit
from tractable.data import Table, collapse
from tractable.engine.sweep import map_threads, threads_or_default
from tractable.networks import FeatureFactor
from tractable.networks.features import Literals, literals_of
from tractable.networks.flat import flat_features

# ---- compiled loops over pseudo-likelihoods -------------------------------------------------------------


class Cells(NamedTuple):
    """The cells of rows and the deciding literals of each: cell c of row r is r * columns + c."""

    codes: Int32s  # (rows, columns); -1 where missing
    weights: Floats  # (rows,)
    states: Ints  # (columns,)
    start: Ints  # (cells + 1,) a cell's literals are found[start[i]:start[i + 1]]
    found: Int32s


@njit(cache=True, nogil=True)
def deciding_literals(literals: Literals, codes: Int32s) -> tuple[Ints, Int32s]:
    """For each cell, the literals on its column whose features hold if they do.

    Cell c of row r has number r * columns + c; the result is the start of its literals, and the literals. A
    missing cell, coded -1, satisfies no literal.
    """
    rows, columns = codes.shape
    start = np.zeros(rows * columns + 1, dtype=np.int64)
    for r in range(rows):
        _visit(literals, codes[r], start[r * columns + 1 : (r + 1) * columns + 1], np.empty(0, np.int32))
    start = np.cumsum(start)
    fill, found = start[:-1].copy(), np.empty(start[-1], dtype=np.int32)
    for r in range(rows):
        _visit(literals, codes[r], fill[r * columns : (r + 1) * columns], found)
    return start, found


@njit(cache=True, nogil=True)
def _visit(literals: Literals, row: Int32s, at: Ints, found: Int32s) -> None:
    """Advance the position `at` of each column by its deciding literals, and store them in `found`."""
    for f in range(literals.log_weight.size):
        first, last = literals.start[f], literals.start[f + 1]
        unmet, which = 0, -1
        for i in range(first, last):
            state = row[literals.column[i]]
            if state < 0 or not literals.allowed[literals.offset[i] + state]:
                unmet, which = unmet + 1, i
                if unmet > 1:
                    break
        if unmet > 1:
            continue
        for i in range(first if unmet == 0 else which, last if unmet == 0 else which + 1):
            column = literals.column[i]
            if found.size:
                found[at[column]] = i
            at[column] += 1


@njit(cache=True, nogil=True)
def pseudo_likelihood(
    cells: Cells, literals: Literals, sign: Floats, log_weight: Floats, first: int, last: int, slope: Floats
) -> float:
    """The weighted log pseudo-likelihood of the rows first:last; its gradient is added to `slope`.

    `sign` is the difference of a literal's values at the second and first of two states: 1, 0 or -1.
    """
    start, found, states = cells.start, cells.found, cells.states
    columns, total = cells.codes.shape[1], 0.0
    signed, pulls, p = sign * log_weight, np.zeros(slope.size), np.empty(states.max())
    for r in range(first, last):
        weight = cells.weights[r]
        for c in range(columns):
            seen, cell = cells.codes[r, c], r * columns + c
            if seen < 0:
                continue
            here = found[start[cell] : start[cell + 1]]
            if states[c] != 2:
                _gather(literals, here, log_weight, p[: states[c]])
                total += weight * _normalise(p[: states[c]], seen)
                _scatter(literals, here, weight, p[: states[c]], seen, slope)
                continue
            odds = 0.0
            for e in range(here.size):
                odds += signed[here[e]]
            against = odds if seen == 0 else -odds  # the row's loss is log(1 + e^against)
            lost = np.exp(-abs(against))
            total -= weight * (max(against, 0.0) + np.log1p(lost))
            missed = (1.0 if against > 0 else lost) / (1.0 + lost)
            pull = -weight * missed if seen == 0 else weight * missed
            for e in range(here.size):
                pulls[here[e]] += pull
    slope += sign * pulls
    return total


@njit(cache=True, nogil=True)
def add_curvatures(
    cells: Cells, literals: Literals, log_weight: Floats, first: int, last: int, curve: Floats
) -> None:
    """Add the negative second derivatives of the rows first:last along each literal to `curve`."""
    columns = cells.codes.shape[1]
    p = np.empty(cells.states.max())
    for r in range(first, last):
        for c in range(columns):
            if cells.codes[r, c] >= 0:
                cell, states = r * columns + c, cells.states[c]
                here = cells.found[cells.start[cell] : cells.start[cell + 1]]
                _gather(literals, here, log_weight, p[:states])
                _normalise(p[:states], 0)
                for e in range(here.size):
                    q = _allowed_mass(literals, here[e], p[:states])
                    curve[here[e]] += cells.weights[r] * q * (1.0 - q)


@njit(cache=True, nogil=True)
def _gather(literals: Literals, here: Int32s, log_weight: Floats, score: Floats) -> None:
    """The score of each state of a cell."""
    score[:] = 0.0
    for e in range(here.size):
        for k in range(score.size):
            if literals.allowed[literals.offset[here[e]] + k]:
                score[k] += log_weight[here[e]]


@njit(cache=True, nogil=True)
def _scatter(literals: Literals, here: Int32s, weight: float, p: Floats, seen: int, slope: Floats) -> None:
    """Add the gradient of a cell along each of its literals."""
    for e in range(here.size):
        hit = literals.allowed[literals.offset[here[e]] + seen]
        slope[here[e]] += weight * ((1.0 if hit else 0.0) - _allowed_mass(literals, here[e], p))


@njit(cache=True, nogil=True)
def _normalise(score: Floats, seen: int) -> float:
    """Convert scores to probabilities; returns the log-probability of the observed state."""
    top, mass = score.max(), 0.0
    log_seen = score[seen] - top
    for k in range(score.size):
        score[k] = np.exp(score[k] - top)
        mass += score[k]
    score /= mass
    return log_seen - np.log(mass)


@njit(cache=True, nogil=True)
def _allowed_mass(literals: Literals, literal: int, p: Floats) -> float:
    mass = 0.0
    for k in range(p.size):
        if literals.allowed[literals.offset[literal] + k]:
            mass += p[k]
    return mass


PARTS = 8  # of the rows, summed apart: the same sums whatever the number of threads


class PseudoLikelihood:
    """The log pseudo-likelihood of a table as a function of the features' log weights.

    Missing cells have no term, and features that refer to them do not hold.
    """

    def __init__(self, features: Sequence[FeatureFactor], table: Table) -> None:
        weighs = table.row_weights > 0
        distinct, _ = collapse(table if weighs.all() else table.take(weighs))
        codes: Int32s = np.where(distinct.missing, -1, distinct.values).astype(np.int32)
        states: Ints = table.schema.cardinalities
        self.rows = distinct.total_weight
        self.features = len(features)
        self._literals = literals_of(flat_features(features), states)
        self._sign = _signs(self._literals, states)
        entries = deciding_literals(self._literals, codes)
        self._cells = Cells(codes, distinct.row_weights, states, *entries)
        self._parts = list(pairwise(np.linspace(0, len(codes), PARTS + 1).astype(np.int64).tolist()))

    def __call__(self, log_weight: Floats) -> tuple[float, Floats]:
        """The value over all rows and its gradient."""
        own = log_weight[self._literals.feature]

        def run(part: tuple[int, int]) -> tuple[float, Floats]:
            slope = np.zeros(own.size)
            total = pseudo_likelihood(self._cells, self._literals, self._sign, own, *part, slope)
            return float(total), slope

        parts = map_threads(run, self._parts, threads_or_default(None))
        return sum(total for total, _ in parts), self._by_feature([slope for _, slope in parts])

    def curvatures(self, log_weight: Floats) -> Floats:
        """The negative second derivative along each feature, summed over its literals. Shape (features,)."""
        own = log_weight[self._literals.feature]

        def run(part: tuple[int, int]) -> Floats:
            curve = np.zeros(own.size)
            add_curvatures(self._cells, self._literals, own, *part, curve)
            return curve

        return self._by_feature(map_threads(run, self._parts, threads_or_default(None)))

    def mean(self, log_weight: Floats) -> float:
        """The mean over rows."""
        return self(log_weight)[0] / (self.rows or 1.0)

    def by_row(self, log_weight: Floats) -> Floats:
        """The value of each distinct row of the table times its weight. Shape (distinct rows,)."""
        own = log_weight[self._literals.feature]

        def run(part: tuple[int, int]) -> list[float]:
            slope = np.zeros(own.size)  # which nobody asks for here
            return [
                pseudo_likelihood(self._cells, self._literals, self._sign, own, row, row + 1, slope)
                for row in range(*part)
            ]

        parts = map_threads(run, self._parts, threads_or_default(None))
        return np.array([value for part in parts for value in part])

    def _by_feature(self, parts: list[Floats]) -> Floats:
        return np.bincount(self._literals.feature, np.sum(parts, axis=0), self.features).astype(np.float64)


def _signs(literals: Literals, states: Ints) -> Floats:
    """The difference of each literal's values at the second and first of two states; 0 for other columns."""
    two = states[literals.column] == 2
    answer = np.zeros(two.size)
    answer[two] = literals.allowed[literals.offset[two] + 1].astype(np.float64)
    answer[two] -= literals.allowed[literals.offset[two]]
    return answer
