"""The splits and merges that could be made next, and what each would gain."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.learners.selective.kernels import (
    HALF,
    SUM_EDGE,
    Codes,
    best_split,
    conditioning_gains,
    shape_log_likelihood,
)
from tractable.learners.selective.nodes import (
    PRODUCT_EDGE,
    Decision,
    Marginal,
    Node,
    Product,
    Sum,
    joined_size,
    marginal_size,
    shape_of,
    walk,
)
from tractable.learners.selective.tree import SelectiveTree, Swap


class Split(NamedTuple):
    """Arguments of `SelectiveTree.split`."""

    product: Product
    first: Sum
    second: Sum
    column: int
    state: int


class Merge(NamedTuple):
    """Arguments of `SelectiveTree.merge`."""

    decision: Decision
    kept: int
    dropped: int


class Candidate(NamedTuple):
    """A change of the tree and what its score would gain."""

    score: float
    move: Split | Merge


def cost_of(size: int) -> tuple[int, int]:
    """The inference cost of a size, and its number of edges."""
    sums = (size + HALF) >> 32
    products = size - (sums << 32)
    return 2 * sums + products, sums + products


@dataclass(eq=False, slots=True)
class Factors:
    """The factors of a product as arrays, for those of more than one state."""

    lines: Ints
    slots: Ints
    own: Ints  # (slots,) the line that each slot belongs to
    count: Floats  # (slots + 1,) the weight of the rows with each slot, and of all
    of_line: dict[int, Sum]
    best: Candidate | None = None


@dataclass(eq=False, slots=True)
class Unions:
    """What the log-likelihood gains when a child of a decision takes over the rows of another child."""

    gain: Floats  # (children, children) the child that is kept, the child that is dropped
    marginals: Ints  # (children,) the marginals of the decision's column below each
    rivals: int  # decisions of the same column below: no merge is allowed if there are any
    is_stale: bool = False
    best: Candidate | None = None


class Candidates:
    """The best split of each product and the best merge of each decision, kept up to date."""

    def __init__(self, tree: SelectiveTree, penalty: float, max_edges: int) -> None:
        self.tree, self.penalty, self.max_edges = tree, penalty, max_edges
        self.least = 1e-9 * max(1.0, float(tree.rows.weights.sum()))  # a smaller gain may be rounding error
        self._states = int(tree.states.max())
        self._factors: dict[Product, Factors] = {}
        self._unions: dict[Decision, Unions] = {}
        self._add(tree.root)
        self.rescore()

    def best(self) -> Candidate | None:
        """The change that gains most, if any gains at all."""
        found = [x.best for x in (*self._factors.values(), *self._unions.values()) if x.best is not None]
        return max(found, key=lambda candidate: candidate.score, default=None)

    def make(self, move: Split | Merge) -> Swap:
        """Change the tree, and score anew what this touches."""
        swap = self.tree.split(*move) if isinstance(move, Split) else self.tree.merge(*move)
        kept = {id(node) for node in walk([swap.new])}
        for node in walk(swap.old):
            if id(node) not in kept:
                self._forget(node)
        if isinstance(move, Split):
            self._forget(move.product)  # its factors are others, or it is gone
        self._add(swap.new, skip_top=isinstance(swap.parent, Product))
        self._follow(swap)
        return swap

    def rescore(self) -> None:
        """Score all changes anew, for another penalty."""
        for product in self._factors:
            self._score_splits(product)
        for decision in self._unions:
            self._score_merges(decision)

    def _forget(self, node: Node) -> None:
        if isinstance(node, Product):
            self._factors.pop(node, None)
        elif isinstance(node, Decision):
            self._unions.pop(node, None)

    def _add(self, top: Node, *, skip_top: bool = False) -> None:
        """Take in everything from a node down; a product that was joined to its parent is no node itself."""
        for node in walk([top]):
            if isinstance(node, Product) and not (skip_top and node is top) and node not in self._factors:
                self._factors[node] = self._make_factors(node)
                self._score_splits(node)
            elif isinstance(node, Decision) and node not in self._unions:
                self._unions[node] = self._make_unions(node)
                self._score_merges(node)

    def _follow(self, swap: Swap) -> None:
        """Score anew what is above a change."""
        node, part = swap.parent, swap.new
        if isinstance(node, Product):
            self._factors[node] = self._make_factors(node)
        change = _Change(self.tree, swap, self._states)
        below: Node = part
        while node is not None:
            if isinstance(node, Product):
                self._score_splits(node)
            else:
                self._update_unions(node, node.children.index(below), change)  # type: ignore[arg-type]
                self._score_merges(node)
            below, node = node, node.parent

    # ---- splits ------------------------------------------------------------------------------------

    def _make_factors(self, product: Product) -> Factors:
        tree = self.tree
        several = [child for child in product.children if child.line]
        lines = np.array([child.line for child in several], dtype=np.int64)
        slots = np.concatenate([child.slots for child in several] or [np.zeros(0, dtype=np.int64)])
        own = np.repeat(lines, [child.slots.size for child in several])
        table = np.zeros((tree.slots.column.size + 2, 1))
        column = np.zeros(self._states, dtype=np.int32)
        conditioning_gains(
            product.rows, tree.rows.codes[0], column, tree.entries, table, np.zeros(len(table))
        )
        count = np.append(table[slots, 0], table[-2, 0])
        return Factors(lines, slots, own, count, {child.line: child for child in several})

    def _score_splits(self, product: Product) -> None:
        """Find the best split of a product."""
        tree, factors = self.tree, self._factors[product]
        factors.best = None
        if factors.lines.size < 2:
            return
        lines, answer = tree.lines, np.array([self.least, -1.0, -1.0])
        best_split(
            lines.gain,
            lines.correction,
            lines.size,
            factors.lines,
            factors.slots,
            factors.own,
            factors.count,
            self._overhead(product, factors.slots),
            self.penalty,
            float(self.max_edges - cost_of(tree.root.size)[1]),
            answer,
        )
        if answer[1] >= 0:
            slot = int(answer[1])
            column, state = int(tree.slots.column[slot]), int(tree.slots.state[slot])
            own = int(factors.own[np.flatnonzero(factors.slots == slot)[0]])
            first, second = factors.of_line[own], factors.of_line[int(answer[2])]
            factors.best = Candidate(float(answer[0]), Split(product, first, second, column, state))

    def _overhead(self, product: Product, slots: Ints) -> Ints:
        """The size that a split adds beside its copies: a decision of two products of two factors."""
        alone = len(product.children) == 2
        size = 2 * SUM_EDGE + (4 - (2 if alone else 1)) * PRODUCT_EDGE
        answer = np.full(slots.size, size, dtype=np.int64)
        if alone and isinstance(product.parent, Decision):
            answer[self.tree.slots.column[slots] == product.parent.column] -= SUM_EDGE
        return answer

    # ---- merges ------------------------------------------------------------------------------------

    def _make_unions(self, decision: Decision) -> Unions:
        many = len(decision.children)
        below = list(walk(decision.children))
        rivals = sum(isinstance(n, Decision) and n.column == decision.column for n in below)
        marginals = [
            sum(isinstance(n, Marginal) and n.column == decision.column for n in walk([child]))
            for child in decision.children
        ]
        unions = Unions(np.zeros((many, many)), np.array(marginals), rivals, is_stale=bool(rivals))
        if not rivals:
            self._fill_unions(decision, unions)
        return unions

    def _fill_unions(self, decision: Decision, unions: Unions) -> None:
        """Compute what all merges gain from counts of all rows."""
        weights = self.tree.rows.weights
        counts = [float(weights[child.rows].sum()) for child in decision.children]
        for i, kept in enumerate(decision.children):
            shape = shape_of([kept], self._states)
            for j, dropped in enumerate(decision.children):
                if i != j:
                    rows = np.concatenate([kept.rows, dropped.rows])
                    joint = self._log_likelihood(shape, rows) - kept.log_likelihood - dropped.log_likelihood
                    unions.gain[i, j] = joint + _join_gain(counts[i], counts[j])
        unions.is_stale = False

    def _log_likelihood(self, shape, rows: Codes) -> float:  # type: ignore[no-untyped-def]
        tally = np.zeros(2 * self._states)
        return float(shape_log_likelihood(shape, self.tree.rows.codes, self.tree.rows.weights, rows, tally))

    def _update_unions(self, decision: Decision, place: int, change: "_Change") -> None:
        """Follow a change below one child of a decision."""
        unions = self._unions[decision]
        unions.marginals[place] += change.marginals(decision.column)
        unions.rivals += change.rivals(decision.column)
        if unions.rivals:
            unions.is_stale = True
        elif unions.is_stale:
            self._fill_unions(decision, unions)
        else:
            for j, sibling in enumerate(decision.children):
                if j != place:
                    unions.gain[j, place] -= change.gain
                    unions.gain[place, j] += change.extra_gain(sibling.rows)
        change.pass_decision(decision, place)

    def _score_merges(self, decision: Decision) -> None:
        """Find the best merge of a decision."""
        unions = self._unions[decision]
        unions.best = None
        if unions.rivals:
            return
        most, found = self.max_edges - cost_of(self.tree.root.size)[1], self.least
        for i in range(len(decision.children)):
            for j in range(len(decision.children)):
                if i != j:
                    cost, edges = cost_of(self._merge_size(decision, i, j))
                    score = float(unions.gain[i, j]) - self.penalty * cost
                    if score > found and edges <= most:
                        unions.best, found = Candidate(score, Merge(decision, i, j)), score

    def _merge_size(self, decision: Decision, kept: int, dropped: int) -> int:
        """By how much a merge changes the size; usually less than zero."""
        child, parts = decision.children[kept], decision.parts
        size = -decision.children[dropped].size - SUM_EDGE
        if len(decision.children) == 2:
            size -= SUM_EDGE + joined_size(decision.parent, child)
        many, more = len(parts[kept]), len(parts[dropped])
        grown = marginal_size(many + more) - marginal_size(many)
        return size + int(self._unions[decision].marginals[kept]) * grown


def _join_gain(one: float, other: float) -> float:
    """What the weights of a decision gain when two of its children become one."""
    both = one + other
    return sum(sign * x * float(np.log(x)) for sign, x in ((1, both), (-1, one), (-1, other)) if x > 0)


class _Change:
    """A change of the tree as the decisions above it see it, which are passed one after another."""

    def __init__(self, tree: SelectiveTree, swap: Swap, states: int) -> None:
        self._tree, self._swap = tree, swap
        self.gain = swap.new.log_likelihood - sum(node.log_likelihood for node in swap.old)
        self._shapes = shape_of(swap.old, states), shape_of([swap.new], states)
        self._tally = np.zeros(2 * states)
        self._passed: list[tuple[int, Codes]] = []  # columns and which of their states lead to the change
        self._counts: dict[tuple[int, bool], int] = {}
        for sign, nodes in ((-1, swap.old), (1, [swap.new])):
            for node in walk(nodes):
                if not isinstance(node, Product):
                    key = node.column, isinstance(node, Decision)
                    self._counts[key] = self._counts.get(key, 0) + sign

    def marginals(self, column: int) -> int:
        """How many more marginals of a column there are."""
        return self._counts.get((column, False), 0)

    def rivals(self, column: int) -> int:
        """How many more decisions of a column there are."""
        return self._counts.get((column, True), 0)

    def extra_gain(self, rows: Codes) -> float:
        """What the change would gain more if these rows came along too, as far as they would get there."""
        for column, leads in self._passed:
            rows = rows[leads[self._tree.rows.codes[column][rows]]]
        if not rows.size:
            return 0.0
        both = np.concatenate([self._swap.new.rows, rows])
        before, after = (self._log_likelihood(shape, both) for shape in self._shapes)
        return after - before - self.gain

    def pass_decision(self, decision: Decision, place: int) -> None:
        """Go up past a decision, whose child of that number the change is below."""
        leads = np.zeros(self._tree.states[decision.column], dtype=np.bool_)
        leads[list(decision.parts[place])] = True
        self._passed.append((decision.column, leads))

    def _log_likelihood(self, shape, rows: Codes) -> float:  # type: ignore[no-untyped-def]
        codes, weights = self._tree.rows.codes, self._tree.rows.weights
        return float(shape_log_likelihood(shape, codes, weights, rows.copy(), self._tally))
