"""The changes that could be made next to a selective tree, with what each would gain."""

from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from tractable.learning.joint.selective.kernels import SUM_EDGE
from tractable.learning.joint.selective.merges import Change, Merge, Merges
from tractable.learning.joint.selective.nodes import Decision, Inner, Marginal, Node, Product
from tractable.learning.joint.selective.splits import Price, Split, Splits, Ties, cost_and_edges
from tractable.learning.joint.selective.tree import SelectiveTree, Swap, removed_nodes

ROUNDING = 1e-9  # nats a row below which a gain may be rounding error


class _Waiting(NamedTuple):
    """A node in the queue."""

    node: Inner
    change: Split | Merge | None  # its best one; None if none gains, or until it is scored


class Candidates:
    """The best split of each product and the best merge of each decision.

    No change gains more than the whole log-likelihood and cost of its node. Nodes wait in a queue with that
    bound, which is not below that of any node under them. Their changes are scored, and their children enter
    the queue, only when they come first: most nodes of a large tree have few rows and never do. Scores are
    kept, and a change makes those of the nodes above it out of date and no others. A node that has a better
    change, for which too few edges are left, waits again when enough are.
    """

    def __init__(self, tree: SelectiveTree, penalty: float, max_edges: int, ties: Ties | None = None) -> None:
        self.tree, self.penalty, self._max_edges = tree, penalty, max_edges
        self._ties = ties or Ties(np.zeros(tree.forming.slots.column.size), 1.0)
        self._least = ROUNDING * max(1.0, float(tree.forming.rows.weights.sum()))
        self._splits: dict[Product, Splits] = {}  # of the products that were scored
        self._merges: dict[Decision, Merges] = {}
        self._queue: list[tuple[float, int]] = []  # minus what could be gained, and the number of a place
        self._waiting: dict[int, _Waiting] = {}  # by the number of its place; others are out of date
        self._places: dict[Inner, int] = {}  # the newest place of each node that has entered the queue
        self._needed: dict[Inner, float] = {}  # the edges that the better change of a node needs
        self._room = 0.0  # the edges that were left at the last look
        self._numbers = count()
        self._enter(tree.root)

    def best(self) -> Split | Merge | None:
        """The change that gains most, if any gains at all."""
        room = self._price().edges
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
                self._score(first.node, place)
        return None

    def best_of(self, node: Inner) -> tuple[Split | Merge | None, float]:
        """The best change of one node, if any gains, and how many edges a better one would need."""
        price = self._price()
        if isinstance(node, Product):
            if node not in self._splits:
                self._splits[node] = Splits(node, self.tree)
            return self._splits[node].best(price)
        if node not in self._merges:
            self._merges[node] = Merges(node, self.tree.forming.cells)
        return self._merges[node].best(price)

    def make(self, change: Split | Merge) -> Swap:
        """Change the tree, and let the scores that this concerns be computed anew."""
        what = change[:-2]
        swap = self.tree.split(*what) if isinstance(change, Split) else self.tree.merge(*what)
        self._keep_gains(swap)
        for node in removed_nodes(swap):
            self._forget(node)
        if isinstance(swap.parent, Product) and isinstance(swap.new, Product):
            for factor in swap.new.children:  # which are those of its parent now
                self._enter(factor)
        else:
            self._enter(swap.new)
        self._follow(swap)
        return swap

    def lower_penalty(self, penalty: float) -> None:
        """Let all changes be scored anew with another penalty."""
        self.penalty = penalty
        self._queue.clear()
        self._waiting.clear()
        self._places.clear()
        self._needed.clear()
        self._enter(self.tree.root)

    def _price(self) -> Price:
        edges = cost_and_edges(self.tree.root.size)[1]
        return Price(self.penalty, self._least, float(self._max_edges - edges), self._ties)

    def _bound(self, node: Inner) -> float:
        """What no change of a node can gain more than: no log-likelihood is above zero, and no cost below.

        A change may also join the node to its parent, which saves the edge between them.
        """
        return self.penalty * cost_and_edges(node.size + SUM_EDGE)[0] - node.log_likelihood

    def _enter(self, node: Node) -> None:
        """Let a node wait to be scored, unless it does already."""
        if not isinstance(node, Marginal) and node not in self._places:
            self._enqueue(node)

    def _enqueue(self, node: Inner) -> None:
        """Let a node wait to be scored. Of equally good changes that which has waited longest is made."""
        self._leave(node)
        self._places[node] = place = next(self._numbers)
        self._waiting[place] = _Waiting(node, None)
        heappush(self._queue, (-self._bound(node), place))

    def _score(self, node: Inner, place: int) -> None:
        """Let a node wait with its best change in its place, and its children to be scored."""
        for child in node.children:
            self._enter(child)
        found, needed = self.best_of(node)
        self._waiting[place] = _Waiting(node, found)
        if found is not None:
            heappush(self._queue, (-found.score, place))
        self._needed.pop(node, None)
        if needed < np.inf:
            self._needed[node] = needed

    def _leave(self, node: Inner) -> None:
        """Let the place of a node be out of date; a node must not be kept in memory by its place."""
        self._waiting.pop(self._places.pop(node, -1), None)
        self._needed.pop(node, None)

    def _keep_gains(self, swap: Swap) -> None:
        """Score the merges of a decision in the place of another one, whose children it may have kept."""
        old, new = swap.old[0], swap.new
        if isinstance(old, Decision) and isinstance(new, Decision) and old.column == new.column:
            former = self._merges.get(old)
            if former is not None and len(swap.old) == 1:
                self._merges[new] = Merges(new, self.tree.forming.cells, former)

    def _forget(self, node: Node) -> None:
        if isinstance(node, Marginal):
            return
        self._leave(node)
        if isinstance(node, Product):
            self._splits.pop(node, None)
        else:
            self._merges.pop(node, None)

    def _follow(self, swap: Swap) -> None:
        """Let what is above a change be scored anew."""
        change = Change(swap, self.tree.forming.cells)
        node: Inner | None = swap.parent
        below: Node = swap.new
        if isinstance(node, Product):
            self._splits.pop(node, None)  # it has other factors now
        while node is not None:
            if isinstance(node, Decision):
                place = [child is below for child in node.children].index(True)
                if node in self._merges:
                    self._merges[node].follow(change, place)
                change.pass_decision(node, place)
            self._enqueue(node)
            below, node = node, node.parent
