"""The best completion of a row, proved by branch and bound.

A node of the search is a row with some cells decided. Its bound is the circuit's value with every undecided
leaf at its largest: sums still add, so no completion below can exceed it. Nodes are opened best bound first,
many at a time.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tractable.arrays import Floats, Ints
from tractable.engine import log_values, posteriors
from tractable.engine.posterior import first_statistics
from tractable.queries.search import Space

TOGETHER = 32  # nodes that are opened at once
MOST_NODES = 500_000  # that wait at once, or some minutes' work
CLOSE = 1e-12  # a bound that is not higher than this, relatively, holds nothing better

Decided = npt.NDArray[np.uint16]  # which option each cell takes, in the order of decision


def branch_and_bound(space: Space, rows: Floats, guess: Floats) -> Floats:
    """The most probable completion of each row; `guess` is what must be beaten.

    Raises:
        ValueError: if a cell to be completed holds a number, or the search grows beyond all bounds.
    """
    for c in np.flatnonzero(space.missing(rows).any(axis=0)):
        variable = space.graph.schema[int(c)]
        if not variable.is_categorical:
            raise ValueError(
                f"column '{variable.name}' is {variable.kind}: method 'exact' needs categorical ones"
            )
    best = [_Search(space, row, start).best_row() for row, start in zip(rows, guess, strict=True)]
    return np.array(best).reshape(rows.shape)


@dataclass
class _Search:
    """The search for one row's best completion."""

    space: Space
    row: Floats  # (columns,)
    best: Floats  # (columns,) the best completion so far
    waiting: list[tuple[float, int, Decided]] = field(
        default_factory=list
    )  # a heap: minus bound, number, node
    opened: int = 0

    def best_row(self) -> Floats:
        order = self._decision_order()
        if order.size:
            self._run(order)
        return self.best

    def _run(self, order: Ints) -> None:
        floor = float(self.space.log_values(self.best[None, :])[0])
        self._push(np.inf, np.zeros(0, dtype=np.uint16))
        while self.waiting and -self.waiting[0][0] > _beyond(floor):
            nodes = [heapq.heappop(self.waiting)[2] for _ in range(min(TOGETHER, len(self.waiting)))]
            for depth in sorted({node.size for node in nodes}):
                children = self._children(order[depth], [node for node in nodes if node.size == depth])
                floor = self._judge(order, children, floor)
            if self.opened > MOST_NODES:
                raise ValueError(
                    f"method 'exact' gave up after {MOST_NODES:,} steps: too many cells are missing"
                )

    def _judge(self, order: Ints, nodes: npt.NDArray[np.uint16], floor: float) -> float:
        """Keep what may still beat `floor`; answers with the new one. `nodes` is (nodes, decided cells)."""
        rows = self._rows(order, nodes)
        if nodes.shape[1] < order.size:
            bounds = self._bounds(rows)
            for i in np.flatnonzero(bounds > _beyond(floor)):
                self._push(float(bounds[i]), nodes[i].copy())
            return floor
        values = self.space.log_values(rows)
        top = int(values.argmax())
        if values[top] <= floor:
            return floor
        self.best = rows[top]
        return float(values[top])

    def _push(self, bound: float, node: Decided) -> None:
        self.opened += 1
        heapq.heappush(self.waiting, (-bound, self.opened, node))

    def _decision_order(self) -> Ints:
        """The cells to decide, the nearly certain ones first: a wrong value there is cut off at once."""
        statistics = posteriors(self.space.graph, self.row[None, :], self.space.regions)[0]
        first = first_statistics(self.space.graph.schema)
        cells = np.flatnonzero(self.space.missing(self.row[None, :])[0])
        certainty = [statistics[first[c] : first[c + 1]].max() for c in cells]
        return cells[np.argsort(certainty)[::-1]]

    def _children(self, column: int, parents: list[Decided]) -> npt.NDArray[np.uint16]:
        options = np.arange(self.space.counts[column], dtype=np.uint16)
        above = np.repeat(np.array(parents, dtype=np.uint16), options.size, axis=0)
        return np.concatenate([above, np.tile(options, len(parents))[:, None]], axis=1)

    def _rows(self, order: Ints, nodes: npt.NDArray[np.uint16]) -> Floats:
        rows = np.repeat(self.row[None, :], len(nodes), axis=0)
        for c, choice in zip(order, nodes.T, strict=False):  # the undecided cells stay missing
            rows[:, c] = self.space.options[c][choice]
        return rows

    def _bounds(self, rows: Floats) -> Floats:
        undecided = frozenset(np.flatnonzero(self.space.columns).tolist())
        return log_values(self.space.graph, rows, self.space.regions, best=undecided)


def _beyond(floor: float) -> float:
    """What a bound must exceed to promise more than `floor`, rounding apart."""
    return floor + CLOSE * abs(floor) if floor > -np.inf else floor
