"""The changes that could be made next to a selective tree, with what each would gain."""

from tractable.learners.selective.merges import Change, Merge, Unions
from tractable.learners.selective.nodes import Decision, Node, Product, walk
from tractable.learners.selective.splits import Factors, Price, Split, cost_and_edges, factors_of
from tractable.learners.selective.tree import SelectiveTree, Swap, removed_nodes

ROUNDING = 1e-9  # nats a row below which a gain may be rounding error


class Candidates:
    """The best split of each product and the best merge of each decision.

    They are cached: a change concerns the nodes that it makes and those above it, and no other is scored
    anew.
    """

    def __init__(self, tree: SelectiveTree, penalty: float, max_edges: int) -> None:
        self.tree, self.penalty, self._max_edges = tree, penalty, max_edges
        self._least = ROUNDING * max(1.0, float(tree.forming.rows.weights.sum()))
        self._factors: dict[Product, Factors] = {}
        self._unions: dict[Decision, Unions] = {}
        self._best: dict[Product | Decision, Split | Merge] = {}
        self._add(tree.root)

    def best(self) -> Split | Merge | None:
        """The change that gains most, if any gains at all."""
        room = self._price().edges
        while (found := max(self._best.values(), key=lambda found: found.score, default=None)) is not None:
            if found.edges <= room:
                return found
            self._score(found[0])  # it was found when more edges were allowed
        return None

    def make(self, change: Split | Merge) -> Swap:
        """Change the tree, and score anew what this concerns."""
        if isinstance(change, Split):
            swap = self.tree.split(*change[:-2])
        else:
            swap = self.tree.merge(*change[:-2])
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
        for node in (*self._factors, *self._unions):
            self._score(node)

    def _price(self) -> Price:
        edges = cost_and_edges(self.tree.root.size)[1]
        return Price(self.penalty, self._least, float(self._max_edges - edges))

    def _score(self, node: Product | Decision) -> None:
        price = self._price()
        if isinstance(node, Product):
            found: Split | Merge | None = self._factors[node].best(self.tree, price)
        else:
            found = self._unions[node].best(price)
        self._best.pop(node, None)
        if found is not None:
            self._best[node] = found

    def _forget(self, node: Node) -> None:
        if isinstance(node, Product):
            self._factors.pop(node, None)
            self._best.pop(node, None)
        elif isinstance(node, Decision):
            self._unions.pop(node, None)
            self._best.pop(node, None)

    def _add(self, top: Node) -> None:
        """Take in all nodes from one down that are not known yet."""
        for node in walk([top]):
            if isinstance(node, Product) and node not in self._factors:
                self._factors[node] = factors_of(node, self.tree)
                self._score(node)
            elif isinstance(node, Decision) and node not in self._unions:
                self._unions[node] = Unions(node, self.tree.forming.rows)
                self._score(node)

    def _follow(self, swap: Swap) -> None:
        """Score anew what is above a change."""
        change = Change(swap, self.tree.forming.rows)
        node, below = swap.parent, swap.new
        if isinstance(node, Product):
            self._factors[node] = factors_of(node, self.tree)
        while node is not None:
            if isinstance(node, Decision):
                place = [child is below for child in node.children].index(True)
                self._unions[node].follow(change, place)
                change.pass_decision(node, place)
            self._score(node)
            node, below = node.parent, node
