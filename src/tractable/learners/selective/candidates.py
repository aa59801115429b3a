"""The changes that could be made next to a selective tree, with what each would gain."""

import numpy as np

from tractable.learners.selective.merges import Change, Merge, Merges
from tractable.learners.selective.nodes import Decision, Inner, Node, Product, walk
from tractable.learners.selective.splits import Price, Split, Splits, Ties, cost_and_edges
from tractable.learners.selective.tree import SelectiveTree, Swap, removed_nodes

ROUNDING = 1e-9  # nats a row below which a gain may be rounding error


class Candidates:
    """The best split of each product and the best merge of each decision.

    They are cached: a change concerns the nodes that it makes and those above it, and no other is scored
    anew.
    """

    def __init__(self, tree: SelectiveTree, penalty: float, max_edges: int, ties: Ties | None = None) -> None:
        self.tree, self.penalty, self._max_edges = tree, penalty, max_edges
        self._ties = ties or Ties(np.zeros(tree.forming.slots.column.size), 1.0)
        self._least = ROUNDING * max(1.0, float(tree.forming.rows.weights.sum()))
        self._splits: dict[Product, Splits] = {}
        self._merges: dict[Decision, Merges] = {}
        self._best: dict[Inner, Split | Merge] = {}
        self._add(tree.root)

    def best(self) -> Split | Merge | None:
        """The change that gains most, if any gains at all."""
        room = self._price().edges
        while self._best:
            node: Inner = max(self._best, key=lambda node: self._best[node].score)
            found = self._best[node]
            if found.edges <= room:
                return found
            self._score(node)  # it was found when more edges were allowed
        return None

    def make(self, change: Split | Merge) -> Swap:
        """Change the tree, and score anew what this concerns."""
        what = change[:-2]
        swap = self.tree.split(*what) if isinstance(change, Split) else self.tree.merge(*what)
        for node in removed_nodes(swap):
            self._forget(node)
        self._add(swap.new)
        if isinstance(swap.parent, Product) and isinstance(swap.new, Product):
            self._forget(swap.new)  # its factors are those of its parent now
        self._follow(swap)
        return swap

    def lower_penalty(self, penalty: float) -> None:
        """Score all changes anew with another penalty."""
        self.penalty = penalty
        for product in self._splits:
            self._score(product)
        for decision in self._merges:
            self._score(decision)

    def _price(self) -> Price:
        edges = cost_and_edges(self.tree.root.size)[1]
        return Price(self.penalty, self._least, float(self._max_edges - edges), self._ties)

    def _score(self, node: Inner) -> None:
        price = self._price()
        if isinstance(node, Product):
            found: Split | Merge | None = self._splits[node].best(price)
        else:
            found = self._merges[node].best(price)
        self._best.pop(node, None)
        if found is not None:
            self._best[node] = found

    def _forget(self, node: Node) -> None:
        if isinstance(node, Product):
            self._splits.pop(node, None)
            self._best.pop(node, None)
        elif isinstance(node, Decision):
            self._merges.pop(node, None)
            self._best.pop(node, None)

    def _add(self, top: Node) -> None:
        """Take in all nodes from one down that are not known yet."""
        for node in walk([top]):
            if isinstance(node, Product) and node not in self._splits:
                self._splits[node] = Splits(node, self.tree)
                self._score(node)
            elif isinstance(node, Decision) and node not in self._merges:
                self._merges[node] = Merges(node, self.tree.forming.rows)
                self._score(node)

    def _follow(self, swap: Swap) -> None:
        """Score anew what is above a change."""
        change = Change(swap, self.tree.forming.rows)
        node: Inner | None = swap.parent
        below: Node = swap.new
        if isinstance(node, Product):
            self._splits[node] = Splits(node, self.tree)
        while node is not None:
            if isinstance(node, Decision):
                place = [child is below for child in node.children].index(True)
                self._merges[node].follow(change, place)
                change.pass_decision(node, place)
            self._score(node)
            below, node = node, node.parent
