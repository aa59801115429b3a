"""Greedy hill climbing over selective trees, and two ways to choose the penalty.

Peharz, Gens and Domingos, «Learning Selective Sum-Product Networks», 2014, sections 3.3 and 4.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import exp, log
from typing import NamedTuple

import numpy as np

from tractable.base.progress import Watch
from tractable.learning.joint.selective.merges import Merge, Merges, Passed
from tractable.learning.joint.selective.nodes import SUM_EDGE, cost_and_edges
from tractable.learning.joint.selective.splits import Factors, Price, Split, TieRule, best_split, find_factors
from tractable.learning.joint.selective.tree import Change, SelectiveTree

# ---- the changes that could be made next to a selective tree, with what each would gain -----------------


ROUNDING = 1e-9  # nats a row below which a gain may be rounding error


class _Waiting(NamedTuple):
    """A node in the queue."""

    node: int
    change: Split | Merge | None  # its best one; None if none gains, or until it is scored


class Candidates:
    """The best split of each product and the best merge of each decision.

    No change gains more than the whole log-likelihood and cost of its node. Nodes wait in a queue with that
    bound, which is not below that of any node under them. Their changes are scored, and their children enter
    the queue, only when they come first: most nodes of a large tree have few rows and never do. Scores are
    kept, and a change makes those of the nodes above it out of date and no others. A node that has a better
    change, for which too few edges are left, waits again when enough are.
    """

    def __init__(
        self, tree: SelectiveTree, penalty: float, max_edges: int, ties: TieRule | None = None
    ) -> None:
        self.tree, self.penalty, self._max_edges = tree, penalty, max_edges
        self._ties = ties or TieRule(np.zeros(tree.conditions.column.size), 1.0)
        self._least = ROUNDING * max(1.0, float(tree.training_weight))
        self._factors: dict[int, Factors] = {}  # of the products that were scored
        self._merges: dict[int, Merges] = {}  # of the decisions that were scored
        self._queue: list[tuple[float, int]] = []  # minus what could be gained, and the number of a place
        self._waiting: dict[int, _Waiting] = {}  # by the number of its place; others are out of date
        self._places: dict[int, int] = {}  # the newest place of each node that has entered the queue
        self._needed: dict[int, float] = {}  # the edges that the better change of a node needs
        self._room = 0.0  # the edges that were left at the last look
        self._numbers = count()
        self._start()

    def best(self) -> Split | Merge | None:
        """The change with the highest positive gain, or None."""
        price = self.price()
        room = price.edges
        if room > self._room:
            again = [node for node, needed in self._needed.items() if needed <= room]
            for node in sorted(again, key=self._places.__getitem__):
                self._enqueue(node)
        self._room = room
        while self._queue:
            place = self._queue[0][1]
            first = self._waiting.get(place)
            if first is not None and first.change is not None and first.change.edges <= room:
                return first.change
            heappop(self._queue)
            if first is not None:  # not scored yet, or when more edges were allowed
                self._score(first.node, place, price)
        return None

    def price(self) -> Price:
        """The current price of size."""
        tree = self.tree
        edges = cost_and_edges(int(tree.nodes["size"][tree.root]))[1]
        return Price(self.penalty, self._least, float(self._max_edges - edges), self._ties)

    def best_of(self, node: int, price: Price) -> tuple[Split | Merge | None, float]:
        """The best change of one node, if any gains, and how many edges a better one would need."""
        if self.tree.nodes["column"][node] < 0:
            if node not in self._factors:
                self._factors[node] = find_factors(self.tree, node)
            return best_split(self.tree, node, self._factors[node], price)
        if node not in self._merges:
            self._merges[node] = Merges(self.tree, node)
        return self._merges[node].best(price)

    def make(self, made: Split | Merge) -> Change:
        """Apply a change, and invalidate the scores that it affects."""
        tree, what = self.tree, made[:-2]
        change = tree.split(*what) if isinstance(made, Split) else tree.merge(*what)
        self._keep_gains(change)
        for node in change.removed.tolist():
            self._forget(node)
        if change.new in change.removed:  # a product, whose factors are those of its parent now
            for factor in tree.inner_children(change.new):
                self._enter(factor)
        elif tree.nodes["nodes"][change.new] > 1:
            self._enter(change.new)
        self._follow(change)
        return change

    def lower_penalty(self, penalty: float) -> None:
        """Invalidate all scores after a change of the penalty."""
        self.penalty = penalty
        self._queue.clear()
        self._waiting.clear()
        self._places.clear()
        self._needed.clear()
        self._start()

    def _bound(self, node: int) -> float:
        """An upper bound of the gain of any change of a node.

        A change may also join the node to its parent, which saves the edge between them.
        """
        size, log_likelihood = self.tree.nodes[["size", "log_likelihood"]][node].item()
        return self.penalty * cost_and_edges(size + SUM_EDGE)[0] - log_likelihood

    def _start(self) -> None:
        if self.tree.nodes["nodes"][self.tree.root] > 1:
            self._enter(self.tree.root)

    def _enter(self, node: int) -> None:
        """Let a node wait to be scored, unless it does already."""
        if node not in self._places:
            self._enqueue(node)

    def _enqueue(self, node: int) -> None:
        """Let a node wait to be scored. Of equally good changes that which has waited longest is made."""
        self._leave(node)
        self._places[node] = place = next(self._numbers)
        self._waiting[place] = _Waiting(node, None)
        heappush(self._queue, (-self._bound(node), place))

    def _score(self, node: int, place: int, price: Price) -> None:
        """Let a node wait with its best change in its place, and its children to be scored."""
        for child in self.tree.inner_children(node):
            self._enter(child)
        best, needed = self.best_of(node, price)
        self._waiting[place] = _Waiting(node, best)
        if best is not None:
            heappush(self._queue, (-best.score, place))
        self._needed.pop(node, None)
        if needed < np.inf:
            self._needed[node] = needed

    def _leave(self, node: int) -> None:
        """Let the place of a node be out of date."""
        self._waiting.pop(self._places.pop(node, -1), None)
        self._needed.pop(node, None)

    def _forget(self, node: int) -> None:
        """Remove all entries of a removed node, whose number may be reused."""
        if node in self._places:
            self._leave(node)
        self._factors.pop(node, None)
        self._merges.pop(node, None)

    def _keep_gains(self, change: Change) -> None:
        """Score the merges of a decision in the place of another one, whose children it may have kept."""
        old, new, column = change.old[0], change.new, self.tree.nodes["column"]
        if len(change.old) == 1 and column[old] == column[new] and old in self._merges:
            self._merges[new] = Merges(self.tree, new, self._merges[old])

    def _follow(self, change: Change) -> None:
        """Let what is above a change be scored anew."""
        nodes, passed = self.tree.nodes, Passed(self.tree, change)
        node, below = change.parent, change.new
        self._factors.pop(node, None)  # it has other factors now
        while node >= 0:
            if nodes["column"][node] >= 0:
                place = int(nodes["edge"][below])
                if node in self._merges:
                    self._merges[node].follow(passed, place)
                passed.pass_decision(node, place)
            self._enqueue(node)
            below, node = node, int(nodes["parent"][node])


LEAST_PENALTY = 1e-4  # nats; a split that gains less for each edge never helps rows that were not seen
LEAST_PENALTY_ALONE = 1.0  # where no validation rows tell when to stop
DROP = 0.05  # how much worse than the best a tree may be, relative to the log-likelihood ...
HALF_LIFE = 100  # ... which halves after so many more changes


@dataclass(frozen=True, slots=True)
class Limits:
    """The stopping criteria of a climb."""

    max_edges: int
    patience: int  # changes without a better tree before it may end


@dataclass(eq=False, slots=True)
class Found:
    """The score of the best tree so far on the validation rows."""

    score: float  # their log-likelihood
    way: int  # to smooth it


class Climb:
    """A tree that is improved until the validation rows indicate overfitting."""

    def __init__(
        self, tree: SelectiveTree, penalty: float, limits: Limits, watch: Watch, ties: TieRule | None = None
    ) -> None:
        self._tree, self._limits, self._watch = tree, limits, watch
        self._candidates = Candidates(tree, penalty, limits.max_edges, ties)
        self._weight = tree.held_out_weight
        self._since = 0  # changes since the best tree
        self._has_gained = False  # whether the best tree was found with this penalty
        self.changes = 0
        self.best = self._current()
        self._report()

    @property
    def is_validated(self) -> bool:
        """Whether there are validation rows."""
        return self._weight > 0

    def run(self) -> bool:
        """Make the best change until none gains; false if the search should end."""
        while (best := self._candidates.best()) is not None:
            if self._watch.should_stop():
                return False
            self._candidates.make(best)
            self.changes += 1
            self._record()
            if self.is_validated and self._should_give_up():
                return self._has_gained
        self._report()
        return not self._watch.should_stop()

    def lower_penalty(self) -> bool:
        """Halve the penalty; false if it is so small that no change can matter."""
        penalty = self._candidates.penalty / 2
        if penalty < (LEAST_PENALTY if self.is_validated else LEAST_PENALTY_ALONE):
            return False
        self._candidates.lower_penalty(penalty)
        self._since, self._has_gained = 0, False
        return True

    def result(self) -> Found:
        """Return to the best tree; the climb cannot go on afterwards."""
        self._tree.undo()
        return self.best

    def _record(self) -> None:
        """Keep the tree if no tree was better on the validation rows."""
        now = self._current()
        self._since += 1
        if now.score > self.best.score or not self.is_validated:
            self.best, self._since, self._has_gained = now, 0, True
            self._tree.commit()
        if self.changes % 20 == 0:
            self._report()

    def _current(self) -> Found:
        held_out = self._tree.held_out
        way = int(held_out.argmax())
        return Found(float(held_out[way]), way)

    def _should_give_up(self) -> bool:
        """Whether the tree has become too much worse than the best one.

        The paper prints the inequality the other way round, which would end every search as soon as its
        patience is used up.
        """
        more = self._since - self._limits.patience
        if more <= 0:
            return False
        drop = (self.best.score - float(self._tree.held_out.max())) / abs(self.best.score or 1.0)
        return drop > DROP * exp(more * log(0.5) / HALF_LIFE)

    def _report(self) -> None:
        penalty = self._candidates.penalty
        score = self.best.score / self._weight if self.is_validated else None
        self._watch.report(f"changes, penalty {penalty:.3g}", self.changes, score=score)


def finish_climb(climb: Climb, *, falls: bool) -> Found:
    """Climb, and return to the best tree; if the penalty falls, it is halved whenever no change gains."""
    while climb.run() and falls and climb.lower_penalty():
        pass
    return climb.result()


def tie_rules(conditions: int, starts: int, rng: np.random.Generator) -> list[TieRule]:
    """Which of several equally good splits each climb makes.

    The first takes the column that tells most about all others, the second one the first column, and further
    ones take any.
    """
    rules = [TieRule(np.zeros(conditions), 1.0), TieRule(-np.arange(conditions, dtype=np.float64), 0.0)]
    rules += [TieRule(rng.random(conditions), 0.0) for _ in range(starts - 2)]
    return rules[:starts]
