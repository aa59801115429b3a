"""The best merge of each decision of a selective tree."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, Ints
from tractable.learners.selective.kernels import SUM_EDGE, Codes, Shape, shape_log_likelihood
from tractable.learners.selective.nodes import (
    Decision,
    Node,
    Product,
    joined_size,
    marginal_size,
    shape_of,
    walk,
)
from tractable.learners.selective.rows import CodedRows
from tractable.learners.selective.smoothing import log_likelihood
from tractable.learners.selective.splits import Price, cost_and_edges
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

    def __init__(self, decision: Decision, rows: CodedRows) -> None:
        many = len(decision.children)
        self._decision, self._rows = decision, rows
        self._gain: Floats = np.zeros((many, many))  # the child that is kept, the child that is dropped
        self._marginals: Ints = np.zeros(many, dtype=np.int64)  # of the decision's column below each child
        self._rivals = 0  # decisions of the same column below
        for i, child in enumerate(decision.children):
            tally = count_sums([child])
            self._marginals[i] = tally.get((decision.column, False), 0)
            self._rivals += tally.get((decision.column, True), 0)
        self._is_known = not self._rivals
        if self._is_known:
            self._fill()

    def follow(self, change: "Change", place: int) -> None:
        """Take note of a change below the child of that number."""
        column = self._decision.column
        self._marginals[place] += change.counts.get((column, False), 0)
        self._rivals += change.counts.get((column, True), 0)
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
        states = int(self._rows.schema.cardinalities.max())
        for i, kept in enumerate(children):
            shape = shape_of([kept], states)
            for j, dropped in enumerate(children):
                if i != j:
                    both = np.concatenate([kept.rows, dropped.rows])
                    joint = shape_likelihood(shape, self._rows, both)
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

    def __init__(self, swap: Swap, rows: CodedRows) -> None:
        self._swap, self._rows = swap, rows
        self.gain = swap.new.log_likelihood - sum(node.log_likelihood for node in swap.old)
        self._passed: list[tuple[int, Bools]] = []  # columns, and which of their states lead to the change

    @cached_property
    def counts(self) -> dict[tuple[int, bool], int]:
        """How many sums more there are, by column and by whether they are decisions."""
        new, old = count_sums([self._swap.new]), count_sums(self._swap.old)
        return {key: new.get(key, 0) - old.get(key, 0) for key in {*new, *old}}

    @cached_property
    def _shapes(self) -> tuple[Shape, Shape]:
        """The structure that was replaced, and the new one."""
        states = int(self._rows.schema.cardinalities.max())
        return shape_of(self._swap.old, states), shape_of([self._swap.new], states)

    def extra_gain(self, rows: Codes) -> float:
        """What the change would gain in addition if other rows took part, as far as they would reach it."""
        for column, leads in reversed(self._passed):
            rows = rows[leads[self._rows.codes[column][rows]]]
        if not rows.size:
            return 0.0
        both = np.concatenate([self._swap.new.rows, rows])
        before, after = (shape_likelihood(shape, self._rows, both) for shape in self._shapes)
        return after - before - self.gain

    def pass_decision(self, decision: Decision, place: int) -> None:
        """Go up past a decision, whose child of that number the change is below."""
        leads = np.zeros(self._rows.schema[decision.column].cardinality, dtype=np.bool_)
        leads[list(decision.parts[place])] = True
        self._passed.append((decision.column, leads))


def shape_likelihood(shape: Shape, rows: CodedRows, chosen: Codes) -> float:
    """The log-likelihood of chosen rows under a tree of that shape, at maximum likelihood."""
    tally = np.zeros(2 * int(rows.schema.cardinalities.max()))
    return float(shape_log_likelihood(shape, rows.codes, rows.weights, chosen.copy(), tally))


def count_sums(nodes: Sequence[Node]) -> dict[tuple[int, bool], int]:
    """How many sums there are below some nodes, by column and by whether they are decisions."""
    answer: dict[tuple[int, bool], int] = {}
    for node in walk(nodes):
        if not isinstance(node, Product):
            key = node.column, isinstance(node, Decision)
            answer[key] = answer.get(key, 0) + 1
    return answer
