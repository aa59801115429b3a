"""The best merge of each decision of a selective tree."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, Ints
from tractable.learners.selective import shapes
from tractable.learners.selective.kernels import SUM_EDGE, Codes
from tractable.learners.selective.likelihood import Cells, log_likelihood_below
from tractable.learners.selective.nodes import Decision, Node, joined_size, marginal_size
from tractable.learners.selective.smoothing import log_likelihood
from tractable.learners.selective.splits import Price, cost_and_edges
from tractable.learners.selective.subtrees import subtree_of
from tractable.learners.selective.tree import Swap


class Merge(NamedTuple):
    """A merge: the arguments of `SelectiveTree.merge`, what the score would gain, and the edges to add."""

    decision: Decision
    kept: int
    dropped: int
    score: float
    edges: int  # less than zero, usually


class Merges:
    """The merges of one decision: what the log-likelihood gains when one child takes over another one's rows.

    Below a decision of the same column no merge is allowed, and gains are computed only when that is gone.
    """

    def __init__(self, decision: Decision, cells: Cells) -> None:
        many = len(decision.children)
        self._decision, self._cells = decision, cells
        self._gain: Floats = np.zeros((many, many))  # the child that is kept, the child that is dropped
        self._marginals: Ints = np.zeros(many, dtype=np.int64)  # of the decision's column below each child
        self._rivals = 0  # decisions of the same column below
        for i, child in enumerate(decision.children):
            self._marginals[i], rivals = count_sums([child], decision.column)
            self._rivals += rivals
        self._is_known = not self._rivals
        if self._is_known:
            self._fill()

    def follow(self, change: "Change", place: int) -> None:
        """Take note of a change below the child of that number."""
        marginals, rivals = change.more_sums(self._decision.column)
        self._marginals[place] += marginals
        self._rivals += rivals
        was_known, self._is_known = self._is_known, not self._rivals
        if self._is_known and not was_known:
            self._fill()
        elif self._is_known:
            for j, sibling in enumerate(self._decision.children):
                if j != place:
                    self._gain[j, place] -= change.gain
                    self._gain[place, j] += change.extra_gain(sibling.rows)

    def best(self, price: Price) -> Merge | None:
        """The merge that gains most, if one gains at all."""
        answer, most = None, price.least
        many = range(len(self._decision.children)) if self._is_known else range(0)
        for i, j in ((i, j) for i in many for j in many if i != j):
            cost, edges = cost_and_edges(self._size(i, j))
            score = float(self._gain[i, j]) - price.penalty * cost
            if score > most and edges <= price.edges:
                answer, most = Merge(self._decision, i, j, score, edges), score
        return answer

    def _fill(self) -> None:
        """Compute all gains from counts of all rows."""
        children = self._decision.children
        for i, kept in enumerate(children):
            for j, dropped in enumerate(children):
                if i != j:
                    both = np.concatenate([kept.rows, dropped.rows])
                    joint = likelihood_of([kept], self._cells, both)
                    own = -log_likelihood(self._decision.counts[[i, j]])
                    self._gain[i, j] = joint + own - kept.log_likelihood - dropped.log_likelihood

    def _size(self, kept: int, dropped: int) -> int:
        """By how much a merge changes the packed size; usually less than zero."""
        decision, parts = self._decision, self._decision.parts
        size = -decision.children[dropped].size - SUM_EDGE
        if len(decision.children) == 2:
            size -= SUM_EDGE + joined_size(decision.parent, decision.children[kept])
        many, more = len(parts[kept]), len(parts[dropped])
        return size + int(self._marginals[kept]) * (marginal_size(many + more) - marginal_size(many))


class Change:
    """A change of the tree as the decisions above it see it, which are passed one after another."""

    def __init__(self, swap: Swap, cells: Cells) -> None:
        self._swap, self._cells = swap, cells
        self.gain = swap.new.log_likelihood - sum(node.log_likelihood for node in swap.old)
        self._passed: list[tuple[int, Bools]] = []  # columns, and which of their states lead to the change

    def more_sums(self, column: int) -> tuple[int, int]:
        """How many marginals and decisions about a column there are more."""
        new, old = count_sums([self._swap.new], column), count_sums(self._swap.old, column)
        return new[0] - old[0], new[1] - old[1]

    def extra_gain(self, rows: Codes) -> float:
        """What the change would gain in addition if other rows took part, as far as they would reach it."""
        for column, leads in reversed(self._passed):
            rows = rows[leads[self._cells.codes[column][rows]]]
        if not rows.size:
            return 0.0
        both = np.concatenate([self._swap.new.rows, rows])
        after = likelihood_of([self._swap.new], self._cells, both)
        return after - likelihood_of(self._swap.old, self._cells, both) - self.gain

    def pass_decision(self, decision: Decision, place: int) -> None:
        """Go up past a decision, whose child of that number the change is below."""
        leads = np.zeros(self._cells.most_states, dtype=np.bool_)
        leads[list(decision.parts[place])] = True
        self._passed.append((decision.column, leads))


def likelihood_of(nodes: Sequence[Node], cells: Cells, chosen: Codes) -> float:
    """The log-likelihood of chosen rows under the product of some nodes, at maximum likelihood."""
    parts = map(subtree_of, nodes)
    return sum(log_likelihood_below(part.shape, at, cells, chosen.copy()) for part, at in parts)


def count_sums(nodes: Sequence[Node], column: int) -> tuple[int, int]:
    """How many marginals and decisions about a column there are from some nodes down."""
    counts = [shapes.count_sums(subtree.shape, at, column) for subtree, at in map(subtree_of, nodes)]
    return sum(marginals for marginals, _ in counts), sum(decisions for _, decisions in counts)
