"""Looking for a better completion of a row: all of them where they are few, uphill steps where they are many."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tractable.arrays import Bools, Floats, Ints
from tractable.circuit import Graph
from tractable.data import States
from tractable.engine import Regions, completions, log_values
from tractable.queries.marginals import expected_cells

FEW = 1024  # completions of one row that are simply all tried
STARTS = 4  # random completions that an uphill search starts from, beside the reasoned ones
STEPS = 200
CHUNK = 1 << 22  # cells of the candidates that are held at once
MODES = 16  # values that are tried for a number's column


@dataclass(frozen=True)
class Space:
    """The completions that are looked through: of the chosen columns, within their regions."""

    graph: Graph
    regions: Regions
    columns: Bools  # (columns,)

    def missing(self, rows: Floats) -> Bools:
        """The cells to be completed. Shape (rows, columns)."""
        return np.isnan(rows) & self.columns

    @cached_property
    def options(self) -> list[Floats]:
        """The values that are tried for each column: its states, or a number's modes among the leaves."""
        return [self._values(c) if self.columns[c] else np.zeros(0) for c in range(self.columns.size)]

    @cached_property
    def changes(self) -> tuple[Ints, Floats]:
        """Every column with every value that is tried for it, as two arrays."""
        counts = [o.size for o in self.options]
        return np.repeat(np.arange(self.columns.size), counts), np.concatenate([np.zeros(0), *self.options])

    def is_small(self, rows: Floats) -> Bools:
        """Whether each row has few completions, all of states. Shape (rows,)."""
        counts = np.array([o.size if v.is_categorical else FEW + 1 for o, v in zip(self.options, self.graph.schema, strict=True)])
        size = np.where(self.missing(rows), np.log(np.maximum(counts, 1)), 0.0).sum(axis=1)
        return size <= np.log(FEW) + 1e-9

    def log_values(self, rows: Floats) -> Floats:
        """The logarithm of the circuit's value for each row. Shape (rows,)."""
        return log_values(self.graph, rows, self.regions)

    def _values(self, column: int) -> Floats:
        region = self.regions.get(column)
        if self.graph.schema[column].is_categorical:
            states = np.arange(self.graph.schema[column].cardinality, dtype=np.float64)
            return states[region.allowed] if isinstance(region, States) else states
        modes = [
            block.family.mode(block.params[block.column == column], region)
            for block in self.graph.leaves
            if (block.column == column).any()
        ]
        distinct = np.unique(np.concatenate([np.zeros(0), *modes]))
        return distinct[np.linspace(0, distinct.size - 1, min(MODES, distinct.size)).astype(np.int64)]


def enumerate_rows(space: Space, rows: Floats) -> Floats:
    """The best of all completions of each row."""
    answer = rows.copy()
    for i, missing in enumerate(space.missing(rows)):
        cells = np.flatnonzero(missing)
        options = [space.options[c] for c in cells]
        grid = np.indices([o.size for o in options]).reshape(len(options), -1)
        tried = np.repeat(rows[i : i + 1], grid.shape[1], axis=0)
        for c, option, place in zip(cells, options, grid, strict=True):
            tried[:, c] = option[place]
        answer[i] = tried[np.argmax(space.log_values(tried))]
    return answer


def climb(space: Space, rows: Floats, guess: Floats, seed: int) -> Floats:
    """Completions that no change of a single cell improves, from the best of several starts."""
    if not len(rows):
        return rows.copy()
    current, score = _best_start(space, rows, guess, seed)
    column, _ = space.changes
    active = np.arange(len(rows))
    chunk = max(1, CHUNK // max(1, column.size * rows.shape[1]))
    for _ in range(STEPS):
        moved = []
        for first in range(0, active.size, chunk):
            some = active[first : first + chunk]
            better = _step(space, rows, current, score, some)
            moved.append(some[better])
        active = np.concatenate([np.zeros(0, np.int64), *moved])
        if not active.size:
            break
    return current


def _step(space: Space, rows: Floats, current: Floats, score: Floats, some: Ints) -> Bools:
    """Make the best single change to each of some rows where it improves; answers with where it did."""
    column, value = space.changes
    tried = np.repeat(current[some], column.size, axis=0)
    at = np.arange(len(tried))
    change = np.tile(np.arange(column.size), some.size)
    open_ = space.missing(rows[some])[np.repeat(np.arange(some.size), column.size), column[change]]
    tried[at[open_], column[change[open_]]] = value[change[open_]]
    logs = np.full(len(tried), -np.inf)
    logs[open_] = space.log_values(tried[open_])
    logs = logs.reshape(some.size, column.size)
    best = logs.argmax(axis=1)
    reached = logs[np.arange(some.size), best]
    better = reached > score[some] + 1e-12 * np.abs(reached)
    moved = some[better]
    current[moved, column[best[better]]] = value[best[better]]
    score[moved] = reached[better]
    return better


def _best_start(space: Space, rows: Floats, guess: Floats, seed: int) -> tuple[Floats, Floats]:
    """The best of: the guess, each cell's own best value, and a few draws."""
    missing = space.missing(rows)
    starts = [guess, np.where(missing, expected_cells(space.graph, rows, space.regions), rows)]
    starts += [np.where(missing, completions(space.graph, rows, seed + i, space.regions), rows) for i in range(STARTS)]
    logs = np.stack([space.log_values(start) for start in starts])
    best = logs.argmax(axis=0)
    at = np.arange(len(rows))
    return np.stack(starts)[best, at], logs[best, at]
