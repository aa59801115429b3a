"""Exact most probable completions by branch and bound.

A search node is a row in which some cells are decided. Its upper bound is the value of the circuit with every
undecided leaf at its maximum. Nodes are expanded in batches, in the order of their bounds.
"""

import heapq
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tractable.base.arrays import Floats, Ints, UInt16s
from tractable.engine import log_values, posteriors
from tractable.engine.posterior import first_statistics
from tractable.queries.search import Space

TOGETHER = 512  # nodes that are opened at once
MOST_NODES = 500_000  # that wait at once, or some minutes' work
CLOSE = 1e-12  # a bound that is not higher than this, relatively, holds nothing better

Choices: TypeAlias = UInt16s  # the option that each cell takes, in the order of decision; zero past the depth


def branch_and_bound(space: Space, rows: Floats, guess: Floats) -> Floats:
    """The most probable completion of each row; `guess` is the initial lower bound.

    Raises:
        ValueError: if a cell to be completed is numeric, or the search becomes too large.
    """
    for c in np.flatnonzero(space.missing(rows).any(axis=0)):
        variable = space.graph.schema[int(c)]
        if not variable.is_categorical:
            raise ValueError(
                f"column '{variable.name}' is {variable.kind}: method 'exact' needs categorical columns"
            )
    best = [_Search(space, row, start).best_row() for row, start in zip(rows, guess, strict=True)]
    return np.array(best).reshape(rows.shape)


@dataclass
class _Search:
    """The search for the best completion of one row."""

    space: Space
    row: Floats  # (columns,)
    best: Floats  # (columns,) the best completion so far
    order: Ints = field(init=False)  # (cells,) the columns to decide
    waiting: list[tuple[float, int, int, Choices]] = field(default_factory=list)  # minus bound, number, depth
    opened: int = 0

    def __post_init__(self) -> None:
        self.order = self._decision_order()

    def best_row(self) -> Floats:
        """The best completion, with proof of optimality."""
        floor = float(self.space.log_values(self.best[None, :])[0])
        if self.order.size:
            self._push(np.inf, 0, np.zeros(self.order.size, dtype=np.uint16))
        while self.waiting and -self.waiting[0][0] > _beyond(floor):
            nodes = [heapq.heappop(self.waiting) for _ in range(min(TOGETHER, len(self.waiting)))]
            depth, choices = self._children(np.array([n[2] for n in nodes]), np.array([n[3] for n in nodes]))
            floor = self._judge(depth, choices, floor)
            if self.opened > MOST_NODES:
                raise ValueError(
                    f"method 'exact' gave up after {MOST_NODES:,} steps: too many cells are missing"
                )
        return self.best

    def _judge(self, depth: Ints, choices: Choices, floor: float) -> float:
        """Keep the nodes whose bounds exceed `floor`; returns the new floor."""
        rows = self._rows(depth, choices)
        bounds = self._bounds(rows)
        top = int(np.where(depth == self.order.size, bounds, -np.inf).argmax())
        if depth[top] == self.order.size and bounds[top] > floor:
            self.best, floor = rows[top], float(bounds[top])
        for i in np.flatnonzero((depth < self.order.size) & (bounds > _beyond(floor))):
            self._push(float(bounds[i]), int(depth[i]), choices[i].copy())
        return floor

    def _push(self, bound: float, depth: int, choices: Choices) -> None:
        self.opened += 1
        heapq.heappush(self.waiting, (-bound, self.opened, depth, choices))

    def _decision_order(self) -> Ints:
        """The cells in the order of decision, nearly certain cells first."""
        statistics = posteriors(self.space.graph, self.row[None, :], self.space.regions)[0]
        first = first_statistics(self.space.graph.schema)
        cells = np.flatnonzero(self.space.missing(self.row[None, :])[0])
        certainty = [statistics[first[c] : first[c + 1]].max() for c in cells]
        return cells[np.argsort(certainty)[::-1]]

    def _children(self, depth: Ints, choices: Choices) -> tuple[Ints, Choices]:
        """The depths and choices of the nodes with all values of their next cell."""
        count = self.space.counts[self.order[depth]]
        below, above = np.repeat(choices, count, axis=0), np.repeat(depth, count)
        number = np.arange(above.size)
        below[number, above] = number - np.repeat(np.cumsum(count) - count, count)
        return above + 1, below

    def _rows(self, depth: Ints, choices: Choices) -> Floats:
        """The rows of search nodes; undecided cells are missing."""
        rows = np.repeat(self.row[None, :], len(choices), axis=0)
        values = self.space.option_table[self.order, choices]
        rows[:, self.order] = np.where(np.arange(self.order.size) < depth[:, None], values, np.nan)
        return rows

    def _bounds(self, rows: Floats) -> Floats:
        """Upper bounds of all completions of the rows, which are their values if they are complete."""
        undecided = frozenset(np.flatnonzero(self.space.columns).tolist())
        return log_values(self.space.graph, rows, self.space.regions, best=undecided)


def _beyond(floor: float) -> float:
    """The smallest bound that promises more than `floor`, apart from rounding."""
    return floor + CLOSE * abs(floor) if floor > -np.inf else floor
