"""The order in which columns are summed out, and what that will cost.

Neighbourhoods are whole numbers used as bit sets, which keeps sparse and dense networks quick alike.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import prod

import numpy as np

from tractable.base.arrays import Floats, Int32s
from tractable.base.progress import Watch
from tractable.networks.compiling.kernels import greedy_elimination

# ---- a bound on the work of compilation, which refuses networks that would be too large -----------------


class TooLargeError(ValueError):
    """The error that compiling a network exceeds its limit."""


class CompileLimit:
    """Counts the entries that diagrams take, and refuses to go past a limit or a time budget."""

    def __init__(self, limit: int | None, watch: Watch | None = None) -> None:
        self.limit = limit
        self.watch = watch or Watch()
        self.spent = 0

    def spend(self, entries: int) -> None:
        """Count some more entries.

        Raises:
            TooLargeError: when they are more than the limit allows, or time is over.
            Stopped: if the work should stop for another reason.
        """
        self.spent += entries
        if self.limit is not None and self.spent > self.limit:
            raise TooLargeError(
                f"compiling the network takes at least {self.spent:,} entries,"
                f" more than the limit of {self.limit:,}"
            )
        if self.watch.out_of_time():
            raise TooLargeError(
                f"compiling the network is not done within its time budget, after {self.spent:,} entries"
            )
        self.watch.break_off()


def follow_order(
    columns: int, scopes: Iterable[tuple[int, ...]], order: Iterable[int]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Columns in a given order of elimination, each with the columns that it is linked to by then."""
    near = _neighbours(columns, scopes)
    for column in order:
        around = tuple(_bits(near[column]))
        yield column, around
        _eliminate(near, column, around)


def peel_simplicial(columns: int, scopes: Iterable[tuple[int, ...]]) -> tuple[list[int], dict[int, int]]:
    """Columns that can be eliminated in turn without a new link, and the neighbours of each other column.

    Some best order begins with the former. Neighbours are bit sets.
    """
    near = _neighbours(columns, scopes)
    left, peeled, queue = set(range(columns)), [], list(range(columns))
    while queue:
        column = queue.pop()
        if column in left and _missing_links(near, column) == 0:
            left.remove(column)
            peeled.append(column)
            queue.extend(_eliminate(near, column, tuple(_bits(near[column]))))
    return peeled, {column: near[column] for column in left}


def min_fill_order(columns: int, scopes: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Columns in the order of elimination, each with the columns that it is linked to by then.

    Greedy: always the column whose elimination links the fewest pairs that were not linked before; of
    equals, the one with fewest neighbours, then the lowest.
    """
    near = _neighbours(columns, scopes)
    fill = [_missing_links(near, c) for c in range(columns)]
    queue = [(fill[c], near[c].bit_count(), c) for c in range(columns)]
    heapify(queue)
    gone = [False] * columns
    while queue:
        cost, size, column = heappop(queue)
        if gone[column] or cost != fill[column] or size != near[column].bit_count():
            continue
        gone[column] = True
        around = tuple(_bits(near[column]))
        yield column, around
        for other in _eliminate(near, column, around):
            fill[other] = _missing_links(near, other)
            heappush(queue, (fill[other], near[other].bit_count(), other))


def _neighbours(columns: int, scopes: Iterable[tuple[int, ...]]) -> list[int]:
    near = [0] * columns
    for scope in scopes:
        mask = sum(1 << c for c in set(scope))
        for column in scope:
            near[column] |= mask & ~(1 << column)
    return near


def _missing_links(near: list[int], column: int) -> int:
    """Twice the number of pairs of neighbours that are not linked to each other."""
    around = near[column]
    return sum((around & ~near[other]).bit_count() - 1 for other in _bits(around))


def _eliminate(near: list[int], column: int, around: tuple[int, ...]) -> list[int]:
    """Link the neighbours of `column` to each other; the columns whose cost may have changed come back."""
    mask, here = near[column], 1 << column
    touched = mask
    for other in around:
        new = mask & ~near[other] & ~(1 << other)
        if new:
            touched |= near[other]
        near[other] = (near[other] | mask) & ~here & ~(1 << other)
    return list(_bits(touched & ~here))


def _bits(mask: int) -> Iterator[int]:
    """The positions of the ones, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


# ---- a good order in which to sum columns out: greedy heuristics, random restarts, and local search -----
#
# Eliminating a column costs a table over it and the columns that it is linked to by then. The sum of the
# sizes of these tables bounds the work of compilation. Columns whose neighbours are all linked already
# are eliminated first, which is never wrong; the others go by a score, the lowest first. A score is a
# weighted sum of the logarithms of four costs and an offset for each column. Several weightings are
# tried, with random offsets and without, and then the offsets of the best run are changed little by
# little as long as that does not cost more. The search depends on a fixed seed and on counts, not on
# time, so that a network always gets the same circuit.


SCORES = (  # weights of: links added, links weighted by states, size of the separator, states of the column
    (1.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 1.0, 1.0, 0.0),
    (0.0, 0.0, 1.0, 1.0),
    (0.0, 1.0, 0.5, 0.5),
    (0.0, 0.0, 1.0, 0.0),
)
RESTARTS = 5  # of each score, with random offsets
FEW_ENTRIES = 100_000  # below this the first order is good enough
MOST_COLUMNS = 3_000  # of the part that is searched: memory grows with the square of their number
MOST_RUNS = 5_000
STEPS_PER_ENTRY = 3  # of the search, whose run takes about as many steps as there are pairs of columns


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """An order of elimination and the size of the table that each column costs, in entries."""

    order: list[int]
    entries: list[float]

    @property
    def total(self) -> float:
        """The size of all tables."""
        return sum(self.entries)


def plan_elimination(
    states: Sequence[int], scopes: Sequence[tuple[int, ...]], limit: float, watch: Watch
) -> Plan:
    """A good order of elimination; the search for it takes a small part of the work that it may save.

    `limit` is the most entries that anybody would spend on compilation.
    """
    order, around = zip(*min_fill_order(len(states), scopes), strict=True)
    plan = Plan(list(order), [_size(states, c, near) for c, near in zip(order, around, strict=True)])
    if plan.total <= FEW_ENTRIES:
        return plan
    peeled, rest = peel_simplicial(len(states), scopes)
    core = sorted(rest)
    runs = int(STEPS_PER_ENTRY * min(plan.total, limit) / max(len(core), 1) ** 2)
    if not core or len(core) > MOST_COLUMNS or runs < len(SCORES):
        return plan
    core_order = _Search(np.array([states[c] for c in core]), _links(core, rest)).best(
        min(runs, MOST_RUNS), watch
    )
    better = plan_of([*peeled, *(core[i] for i in core_order)], states, scopes)
    return better if better.total < plan.total else plan


def plan_of(order: Sequence[int], states: Sequence[int], scopes: Sequence[tuple[int, ...]]) -> Plan:
    """What a given order costs."""
    steps = list(follow_order(len(states), scopes, order))
    return Plan([c for c, _ in steps], [_size(states, c, near) for c, near in steps])


def _size(states: Sequence[int], column: int, around: tuple[int, ...]) -> float:
    return float(states[column] * prod(states[c] for c in around))


def _links(core: list[int], rest: dict[int, int]) -> Int32s:
    """The links among the columns of the core. Shape (columns, columns)."""
    return np.array([[rest[a] >> b & 1 for b in core] for a in core], dtype=np.int32)


class _Search:
    """Runs of greedy elimination of the same columns."""

    def __init__(self, states: Int32s, links: Int32s) -> None:
        n = states.size
        self.near = links.astype(np.uint8)
        self.degree = links.sum(axis=1, dtype=np.int32)
        self.beside = np.argsort(-links, axis=1, kind="stable").astype(np.int32)  # neighbours first
        self.sizes = np.stack([states.astype(np.float64), np.log(states)])
        self.order = np.zeros(n, dtype=np.int32)
        self.best_total = np.inf
        self.best_order = self.order.copy()
        self.best_score = np.zeros(4)
        self.best_offset = np.zeros(n)

    def best(self, runs: int, watch: Watch) -> list[int]:
        """The best order of several runs."""
        rng = np.random.default_rng(0)
        n = self.order.size
        for run in range(runs):
            if run > 0 and watch.should_stop():
                break
            if run < len(SCORES):
                self.run(np.array(SCORES[run]), np.zeros(n))
            elif run < len(SCORES) * (1 + RESTARTS):
                offset = rng.choice([0.1, 0.3, 0.6, 1.0]) * rng.exponential(size=n)
                self.run(np.array(SCORES[run % len(SCORES)]), offset)
            else:
                chosen = rng.random(n) < rng.choice([0.02, 0.05, 0.1, 0.3])
                change = rng.choice([0.3, 1.0, 2.0]) * rng.normal(size=n)
                self.run(self.best_score, self.best_offset + np.where(chosen, change, 0.0))
            if run % 16 == 0:
                watch.report("elimination order", run, runs)
        return [int(c) for c in self.best_order]

    def run(self, coefficients: Floats, offset: Floats) -> None:
        """Eliminate all columns once; what is as good as the best replaces it."""
        score = np.stack([offset, offset])
        graph = (self.near.copy(), self.beside.copy(), self.degree.copy())
        total = greedy_elimination(*graph, self.sizes, coefficients, score, self.order, self.best_total)
        if total <= self.best_total:
            self.best_total, self.best_order = total, self.order.copy()
            self.best_score, self.best_offset = coefficients, offset
