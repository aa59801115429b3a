"""The best merge of each decision of a selective tree."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.learning.joint.selective import shapes
from tractable.learning.joint.selective.kernels import SUM_EDGE, Codes
from tractable.learning.joint.selective.likelihood import Cells, Counted, added_likelihood
from tractable.learning.joint.selective.nodes import Decision, Node, joined_size
from tractable.learning.joint.selective.smoothing import log_likelihood
from tractable.learning.joint.selective.splits import Price, cost_and_edges
from tractable.learning.joint.selective.subtrees import subtree_of
from tractable.learning.joint.selective.tree import Swap


class Merge(NamedTuple):
    """A merge: the arguments of `SelectiveTree.merge`, what the score would gain, and the edges to add."""

    decision: Decision
    kept: int
    dropped: int
    score: float
    edges: int  # less than zero, usually


class Merges:
    """The merges of one decision: what the log-likelihood gains when one child takes over another one's rows.

    Above a decision of the same column no merge is allowed, and gains are computed only when that is gone.
    `former` are the merges of a decision that this one has replaced, and that had some of its children.
    """

    def __init__(self, decision: Decision, cells: Cells, former: "Merges | None" = None) -> None:
        many = len(decision.children)
        self._decision, self._cells = decision, cells
        self._gain: Floats = np.zeros((many, many))  # the child that is kept, the child that is dropped
        np.fill_diagonal(self._gain, -np.inf)
        self._marginals: Ints = np.zeros(many, dtype=np.int64)  # of the decision's column below each child
        self._rivals = 0  # decisions of the same column below
        for i, child in enumerate(decision.children):
            self._marginals[i], rivals = count_sums([child], decision.column)
            self._rivals += rivals
        self._is_known = not self._rivals
        if self._is_known:
            self._fill(former)

    def follow(self, change: "Change", place: int) -> None:
        """Take note of a change below the child of that number."""
        marginals, rivals = change.more_sums(self._decision.column)
        self._marginals[place] += marginals
        self._rivals += rivals
        was_known, self._is_known = self._is_known, not self._rivals
        if self._is_known and not was_known:
            self._fill()
        elif self._is_known:
            self._gain[:, place] -= change.gain
            for j, sibling in enumerate(self._decision.children):
                if j != place:
                    self._gain[place, j] += change.extra_gain(sibling.rows)

    def best(self, price: Price) -> tuple[Merge | None, float]:
        """The merge that gains most, if one gains at all, and the fewest edges of a better one.

        A merge may add many edges: the kept child gets the other one's states wherever it has the column.
        """
        if not self._is_known:
            return None, np.inf
        cost, edges = cost_and_edges(self._sizes())
        score = self._gain - price.penalty * cost
        allowed = np.where(edges <= price.edges, score, -np.inf)
        kept, dropped = (int(i) for i in np.unravel_index(allowed.argmax(), allowed.shape))
        most = float(allowed[kept, dropped])
        better = edges[(edges > price.edges) & (score > price.least) & (score >= most)]
        needed = float(better.min()) if better.size else np.inf
        if most <= price.least:
            return None, needed
        return Merge(self._decision, kept, dropped, most, int(edges[kept, dropped])), needed

    def _fill(self, former: "Merges | None" = None) -> None:
        """Compute all gains from counts of rows, but those of children that `former` had already."""
        children = self._decision.children
        before = np.full(len(children), -1)
        if former is not None and former._is_known:
            places = {id(child): place for place, child in enumerate(former._decision.children)}
            before[:] = [places.get(id(child), -1) for child in children]
            had = np.flatnonzero(before >= 0)
            self._gain[np.ix_(had, had)] = former._gain[np.ix_(before[had], before[had])]
        for i in np.flatnonzero(before < 0).tolist():
            for j in range(len(children)):
                if before[j] >= 0 or j < i:  # each pair once
                    self._gain[i, j], self._gain[j, i] = self._gain_of(i, j), self._gain_of(j, i)

    def _gain_of(self, kept: int, dropped: int) -> float:
        """What one merge gains, from counts of rows."""
        children = self._decision.children
        counts, rows = self._decision.counts, children[dropped].rows
        added = likelihood_added_to([children[kept]], float(counts[kept]), self._cells, rows)
        return added - log_likelihood(counts[[kept, dropped]]) - children[dropped].log_likelihood

    def _sizes(self) -> Ints:
        """By how much merges change the packed size, usually less than zero. Shape as that of the gains."""
        decision = self._decision
        many = np.array([len(part) for part in decision.parts])
        alone, joint = (np.where(k > 1, k * SUM_EDGE, 0) for k in (many, many[:, None] + many))
        sizes = np.array([child.size for child in decision.children])
        more: Ints = self._marginals[:, None] * (joint - alone[:, None]) - sizes - SUM_EDGE
        if many.size == 2:
            joined = [joined_size(decision.parent, child) for child in decision.children]
            more -= SUM_EDGE + np.array(joined)[:, None]
        return more


class Change:
    """A change of the tree as the decisions above it see it, which are passed one after another."""

    def __init__(self, swap: Swap, cells: Cells) -> None:
        self._swap, self._cells = swap, cells
        self._reaching = float(cells.entries.weight[swap.new.rows].sum())
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
        new = likelihood_added_to([self._swap.new], self._reaching, self._cells, rows)
        return new - likelihood_added_to(self._swap.old, self._reaching, self._cells, rows)

    def pass_decision(self, decision: Decision, place: int) -> None:
        """Go up past a decision, whose child of that number the change is below."""
        leads = np.zeros(self._cells.most_states, dtype=np.bool_)
        leads[list(decision.parts[place])] = True
        self._passed.append((decision.column, leads))


def likelihood_added_to(nodes: Sequence[Node], reaching: float, cells: Cells, rows: Codes) -> float:
    """What rows add to the log-likelihood of nodes, each of which other rows of weight `reaching` reach."""
    answer = 0.0
    for node in nodes:
        whole, at = subtree_of(node)
        part = Counted(whole.shape, whole.weights.edge_start, whole.weights.counts)
        answer += added_likelihood(part, at, reaching, cells, rows.copy())
    return answer


def count_sums(nodes: Sequence[Node], column: int) -> tuple[int, int]:
    """How many marginals and decisions about a column there are from some nodes down."""
    counts = [shapes.count_sums(subtree.shape, at, column) for subtree, at in map(subtree_of, nodes)]
    return sum(marginals for marginals, _ in counts), sum(decisions for _, decisions in counts)
