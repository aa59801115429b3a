"""Search for better completions of rows: by enumeration if they are few, otherwise by coordinate ascent."""

import heapq
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints, UInt16s
from tractable.circuit import Graph, JointBlock, LeafBlock
from tractable.circuit.blocks.joint import region_box
from tractable.data import States
from tractable.engine import Regions, completions, log_values, posteriors
from tractable.engine.posterior import first_statistics
from tractable.queries.marginals import expected_cells

FEW = 1024  # completions of one row that are simply all tried
STARTS = 4  # random completions that an uphill search starts from, beside the reasoned ones
ROUNDS = 100  # over all cells of a row
AT_ONCE = 4096  # changes that are tried together rather than cell after cell
CHUNK = 1 << 22  # cells of the candidates that are held at once
MODES = 16  # values that are tried for a numeric column


@dataclass(frozen=True)
class Space:
    """The search space of completions: values of chosen columns within their regions."""

    graph: Graph
    regions: Regions
    columns: Bools  # (columns,)

    def missing(self, rows: Floats) -> Bools:
        """Which cells are to be completed. Shape (rows, columns)."""
        return np.isnan(rows) & self.columns

    @cached_property
    def options(self) -> list[Floats]:
        """The candidate values of each column: states, or the modes of leaves over a numeric column."""
        return [self._values(c) if self.columns[c] else np.zeros(0) for c in range(self.columns.size)]

    @cached_property
    def counts(self) -> Ints:
        """The number of candidate values of each column. Shape (columns,)."""
        return np.array([options.size for options in self.options], dtype=np.int64)

    @cached_property
    def option_table(self) -> Floats:
        """The candidate values as an array padded with NaN. Shape (columns, values)."""
        table = np.full((self.counts.size, int(self.counts.max(initial=0))), np.nan)
        for line, options in zip(table, self.options, strict=True):
            line[: options.size] = options
        return table

    def is_small(self, rows: Floats) -> Bools:
        """Whether each row has few completions, all of them by states. Shape (rows,)."""
        counts = np.where(self.graph.schema.cardinalities > 0, self.counts, FEW + 1)
        size = np.where(self.missing(rows), np.log(np.maximum(counts, 1)), 0.0).sum(axis=1)
        small: Bools = size <= np.log(FEW) + 1e-9
        return small

    def log_values(self, rows: Floats) -> Floats:
        """The log-values of rows whose chosen cells are all filled. Shape (rows,)."""
        return log_values(self.graph, rows, self._regions_left)

    @cached_property
    def _regions_left(self) -> Regions:
        return {c: r for c, r in self.regions.items() if not self.columns[c]}

    @cached_property
    def _joint_modes(self) -> list[tuple[Ints, Floats]]:
        """The columns of each leaf over several columns and its mode within the regions."""
        modes = []
        for block in self.graph.blocks_of(JointBlock):
            for leaf, columns in zip(block.leaves(self.graph.schema), block.columns, strict=True):
                nothing, everything = np.full((1, columns.size), np.nan), np.full(columns.size, True)
                mode = leaf.complete(nothing, region_box(self.regions, columns), everything)[0]
                modes.append((columns, mode))
        return modes

    def _values(self, column: int) -> Floats:
        region = self.regions.get(column)
        if self.graph.schema[column].is_categorical:
            states = np.arange(self.graph.schema[column].cardinality, dtype=np.float64)
            return states[region.allowed] if isinstance(region, States) else states
        modes = [
            block.family.mode(block.params[block.column == column], region)
            for block in self.graph.blocks_of(LeafBlock)
            if (block.column == column).any()
        ]
        modes += [mode[columns == column] for columns, mode in self._joint_modes]
        distinct = np.unique(np.concatenate([np.zeros(0), *modes]))
        return distinct[np.linspace(0, distinct.size - 1, min(MODES, distinct.size)).astype(np.int64)]


def enumerate_rows(space: Space, rows: Floats) -> Floats:
    """The best completion of each row by enumeration."""
    size = np.where(space.missing(rows), space.counts, 1)
    total = size.prod(axis=1)
    answer = rows.copy()
    first = 0
    while first < len(rows):
        room = np.cumsum(total[first:]) <= max(int(total[first]), CHUNK // max(1, rows.shape[1]))
        part = slice(first, first + int(room.sum()))
        answer[part] = _best_of_all(space, rows[part], size[part], total[part])
        first = part.stop
    return answer


def _best_of_all(space: Space, rows: Floats, size: Ints, total: Ints) -> Floats:
    """The best completions of a batch of rows by enumeration.

    The completions of a row are numbered; the digits of a number are the indices of the values of its missing
    cells.
    """
    start = np.cumsum(total) - total
    number = np.arange(total.sum()) - np.repeat(start, total)
    tried = np.repeat(rows, total, axis=0)
    weight = np.cumprod(size, axis=1) // size  # of a digit
    missing = space.missing(rows)
    for c in np.flatnonzero(missing.any(axis=0)):
        here = np.repeat(missing[:, c], total)
        digit = number[here] // np.repeat(weight[:, c], total)[here] % space.counts[c]
        tried[here, c] = space.options[c][digit]
    return tried[_highest(space.log_values(tried), start)]


def _highest(logs: Floats, start: Ints) -> Ints:
    """The index of the first maximum in each segment of an array; the segments begin at `start`."""
    length = np.diff(np.append(start, logs.size))
    at_top = np.flatnonzero(logs == np.repeat(np.maximum.reduceat(logs, start), length))
    first: Ints = at_top[np.searchsorted(at_top, start)]
    return first


def climb(space: Space, rows: Floats, guess: Floats, seed: int) -> Floats:
    """Completions that no change of a single cell improves, from the best of several starting points.

    Cells are set to their best values in turn (coordinate ascent). When few rows are left, all changes of all
    cells are evaluated in one sweep.
    """
    answer = rows.copy()
    for part in _chunks(np.arange(len(rows)), (STARTS + 2) * rows.shape[1]):
        answer[part] = _climb(space, rows[part], guess[part], seed)
    return answer


def _climb(space: Space, rows: Floats, guess: Floats, seed: int) -> Floats:
    """Coordinate ascent for a batch of rows."""
    missing = space.missing(rows)
    current, score = _best_start(space, rows, guess, seed)
    active = np.flatnonzero(missing.any(axis=1))
    for _ in range(ROUNDS):
        if not active.size:
            break
        moved = [
            _improve(space, missing, columns, current, score, some)
            for columns in _turns(space, missing[active])
            for some in _chunks(active, int(space.counts[columns].sum()) * rows.shape[1])
        ]
        active = np.unique(np.concatenate(moved))
    return current


def _turns(space: Space, missing: Bools) -> list[Ints]:
    """The groups of columns whose cells are changed in turn; a single group if there are few changes."""
    columns = np.flatnonzero(missing.any(axis=0))
    return [columns] if (missing * space.counts).sum() <= AT_ONCE else list(columns[:, None])


def _chunks(items: Ints, cells: int) -> list[Ints]:
    """The items in batches, for a given number of cells per item."""
    size = max(1, CHUNK // max(1, cells))
    return [items[first : first + size] for first in range(0, items.size, size)]


def _improve(space: Space, missing: Bools, columns: Ints, current: Floats, score: Floats, some: Ints) -> Ints:
    """Make the best change of a cell in each row that it improves; returns these rows."""
    cell, column = np.nonzero(missing[np.ix_(some, columns)])
    count = space.counts[columns[column]]
    row, column = np.repeat(some[cell], count), np.repeat(columns[column], count)
    option = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    value = space.option_table[column, option]
    other = value != current[row, column]
    row, column, value = row[other], column[other], value[other]
    if not row.size:
        return np.zeros(0, dtype=np.int64)
    tried = current[row]
    tried[np.arange(row.size), column] = value
    logs = space.log_values(tried)
    best = _highest(logs, np.flatnonzero(np.diff(row, prepend=-1)))
    better = best[logs[best] > score[row[best]] + 1e-12 * np.abs(logs[best])]
    current[row[better], column[better]] = value[better]
    score[row[better]] = logs[better]
    moved: Ints = row[better]
    return moved


def _best_start(space: Space, rows: Floats, guess: Floats, seed: int) -> tuple[Floats, Floats]:
    """The best of the guess, the separately best value of each cell, and a few samples."""
    missing = np.tile(space.missing(rows), (STARTS + 1, 1))
    shown = np.tile(rows, (STARTS + 1, 1))
    draws = completions(space.graph, shown[: STARTS * len(rows)], seed, space.regions)
    each = expected_cells(space.graph, rows, space.regions)
    starts = np.concatenate([guess, np.where(missing, np.concatenate([each, draws]), shown)])
    logs = space.log_values(starts).reshape(-1, len(rows))
    best, at = logs.argmax(axis=0), np.arange(len(rows))
    return starts[best * len(rows) + at], logs[best, at]


# ---- exact most probable completions by branch and bound ------------------------------------------------
#
# A search node is a row in which some cells are decided. Its upper bound is the value of the circuit with
# every undecided leaf at its maximum. Nodes are expanded in batches, in the order of their bounds.


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
