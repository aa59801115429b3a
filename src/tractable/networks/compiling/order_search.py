"""A good order in which to sum columns out: greedy heuristics, random restarts, and local search.

Eliminating a column costs a table over it and the columns that it is linked to by then. The sum of the sizes
of these tables bounds the work of compilation. Columns whose neighbours are all linked already are eliminated
first, which is never wrong; the others go by a score, the lowest first. A score is a weighted sum of the
logarithms of four costs and an offset for each column. Several weightings are tried, with random offsets and
without, and then the offsets of the best run are changed little by little as long as that does not cost more.
The search depends on a fixed seed and on counts, not on time, so that a network always gets the same circuit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tractable.base.arrays import Floats, Int32s
from tractable.base.progress import Watch
from tractable.networks.compiling.kernels import greedy_elimination
from tractable.networks.compiling.order import follow_order, min_fill_order, peel_simplicial

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
