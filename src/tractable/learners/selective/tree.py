"""A regular selective sum-product tree that is changed by splits and merges, and what is counted in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.learners.selective.kernels import SUM_EDGE, Codes, conditioning_gains
from tractable.learners.selective.nodes import (
    PRODUCT_EDGE,
    Decision,
    Inner,
    Marginal,
    Node,
    Product,
    Sum,
    lines_of,
    marginal_size,
    walk,
)
from tractable.learners.selective.rows import CodedRows, make_slots
from tractable.learners.selective.scores import Lines, decision_correction, marginal_correction

States = tuple[int, ...]


class Swap(NamedTuple):
    """A change of the tree: nodes with the same parent that one new node has replaced."""

    parent: Inner | None  # of the nodes that were replaced; None above the root
    old: Sequence[Node]
    new: Node


@dataclass(frozen=True, slots=True)
class Revision:
    """What the states of one column become in a copy of a subtree."""

    column: int
    revise: Callable[[States], States]

    def states(self, column: int, states: States) -> States:
        """The states that a marginal or a child of a decision has in the copy."""
        return self.revise(states) if column == self.column else states


NOTHING = Revision(-1, lambda states: states)


@dataclass(eq=False, slots=True)
class _Copied:
    """A node that is being copied for some rows."""

    node: Node
    rows: Codes
    valid: Codes
    children: list[int] = field(default_factory=list)  # numbers of other copies
    parts: list[States] = field(default_factory=list)
    made: Node | None = None


class SelectiveTree:
    """A tree over the columns of complete rows; it begins as the product of all marginals.

    `smoothing` are the amounts of pseudo-counts on each edge for which validation rows are scored.
    """

    def __init__(self, rows: CodedRows, valid: CodedRows, smoothing: Floats) -> None:
        self.rows, self.valid, self.smoothing = rows, valid, smoothing
        self.slots, self.entries = make_slots(rows)
        self.lines = Lines(self.slots.column.size)
        self.states = rows.schema.cardinalities
        self.replaced: list[Callable[[], None]] = []  # undoes each change since the last call of `commit`
        every = (np.arange(part.weights.size, dtype=np.int32) for part in (rows, valid))
        self._all_rows = tuple(every)
        columns = range(len(rows.schema))
        start = [self.marginal(c, tuple(range(self.states[c])), *self._all_rows) for c in columns]
        self.root: Node = start[0] if len(start) == 1 else self.product(start)

    # ---- making nodes ------------------------------------------------------------------------------

    def marginal(self, column: int, states: States, rows: Codes, valid: Codes) -> Marginal:
        """A new marginal."""
        slots = self.slots.of(column)
        held_out = np.zeros(self.smoothing.size)
        node = Marginal(
            rows=rows, valid=valid, slots=slots, held_out=held_out, column=column, states=states, line=0
        )
        if len(states) == 1:
            return node
        node.line = self.lines.take()
        node.size = marginal_size(len(states))
        kept = list(states)
        counts, held = self.rows.counts(rows, column)[kept], self.valid.counts(valid, column)[kept]
        node.log_likelihood, node.held_out = self._terms(counts, held)
        self._fill_line(node, np.argmax(np.arange(self.states[column])[:, None] == np.array(states), axis=1))
        self.lines.correction[node.line, slots] = marginal_correction(states, self.slots.state[slots])
        return node

    def product(self, children: Sequence[Node]) -> Product:
        """A product of sums; products among the children are joined to it."""
        factors: list[Sum] = []
        for child in children:
            factors += child.children if isinstance(child, Product) else [child]
        first = factors[0]
        node = Product(
            rows=first.rows,
            valid=first.valid,
            slots=np.concatenate([child.slots for child in factors]),
            size=sum(child.size for child in factors) + PRODUCT_EDGE * len(factors),
            log_likelihood=sum(child.log_likelihood for child in factors),
            held_out=sum((child.held_out for child in factors), np.zeros(self.smoothing.size)),
            children=factors,
        )
        self._adopt(node)
        return node

    def decision(self, column: int, children: Sequence[Inner], parts: Sequence[States]) -> Decision:
        """A sum that decides a column; decisions of the same column among the children are joined to it."""
        below: list[Inner] = []
        states: list[States] = []
        for child, part in zip(children, parts, strict=True):
            if isinstance(child, Decision) and child.column == column:
                below += child.children
                states += child.parts
                self.lines.give_back(child.line)
            else:
                below.append(child)
                states.append(part)
        counts, held = self._child_counts(below)
        own, own_held = self._terms(counts, held)
        node = Decision(
            rows=np.concatenate([child.rows for child in below]),
            valid=np.concatenate([child.valid for child in below]),
            slots=below[0].slots,
            size=sum(child.size for child in below) + SUM_EDGE * len(below),
            log_likelihood=own + sum(child.log_likelihood for child in below),
            held_out=sum((child.held_out for child in below), own_held),
            column=column,
            children=below,
            parts=states,
            line=self.lines.take(),
            own=np.zeros(self.slots.of(column).size, dtype=np.int64),
        )
        self._adopt(node)
        branch = np.zeros(self.states[column], dtype=np.int64)
        for i, part in enumerate(states):
            branch[list(part)] = i
        self._fill_line(node, branch)
        beneath = [line for child in below for line in lines_of(child)]
        self.lines.gain[node.line] += self.lines.gain[beneath].sum(axis=0)
        self.lines.correction[node.line] += self.lines.correction[beneath].sum(axis=0)
        return node

    def copy(self, node: Node, rows: Codes, valid: Codes, revision: Revision = NOTHING) -> Node:
        """A copy of a subtree for other rows, in which the states of one column are revised."""
        plan = [_Copied(node, rows, valid)]
        for each in plan:  # grows while it is read: deep trees must not exhaust the stack
            self._plan_children(each, plan, revision)
        for each in reversed(plan):
            each.made = self._make_copy(each, plan, revision)
        assert plan[0].made is not None
        return plan[0].made

    def _plan_children(self, each: "_Copied", plan: "list[_Copied]", revision: Revision) -> None:
        """Append the children that a copy has, with their rows."""
        node, column = each.node, -1
        if isinstance(node, Marginal):
            return
        parts: list[States | None] = [None] * len(node.children)
        if isinstance(node, Decision):
            column = node.column
            parts = [revision.states(column, part) for part in node.parts]
        several = sum(part is None or len(part) > 0 for part in parts) > 1
        for child, part in zip(node.children, parts, strict=True):
            if part is not None and not part:
                continue
            rows = each.rows, each.valid
            if part is not None and several:
                rows = self.rows_with(*rows, column, part)
                each.parts.append(part)
            each.children.append(len(plan))
            plan.append(_Copied(child, *rows))

    def _make_copy(self, each: "_Copied", plan: "list[_Copied]", revision: Revision) -> Node:
        node, children = each.node, [plan[i].made for i in each.children]
        if isinstance(node, Marginal):
            states = revision.states(node.column, node.states)
            return self.marginal(node.column, states, each.rows, each.valid)
        below = [child for child in children if child is not None]
        if len(below) == 1:
            return below[0]
        if isinstance(node, Product):
            return self.product(below)
        return self.decision(node.column, [c for c in below if not isinstance(c, Marginal)], each.parts)

    def rows_with(self, rows: Codes, valid: Codes, column: int, states: States) -> tuple[Codes, Codes]:
        """The training and validation rows that have one of some states."""
        wanted = np.zeros(self.states[column], dtype=np.bool_)
        wanted[list(states)] = True
        return rows[wanted[self.rows.codes[column][rows]]], valid[wanted[self.valid.codes[column][valid]]]

    def _child_counts(self, children: Sequence[Inner]) -> tuple[Floats, Floats]:
        counts = [self.rows.weights[child.rows].sum() for child in children]
        held = [self.valid.weights[child.valid].sum() for child in children]
        return np.array(counts), np.array(held)

    def _terms(self, counts: Floats, held: Floats) -> tuple[float, Floats]:
        """The log-likelihood of a sum's weights: at their maximum, and of validation rows when smoothed."""
        total = counts.sum()
        seen = counts[counts > 0]
        best = float(seen @ np.log(seen / total)) if seen.size else 0.0
        if not held.any():
            return best, np.zeros(self.smoothing.size)
        smoothed = counts + self.smoothing[:, None]
        return best, np.log(smoothed / smoothed.sum(axis=1, keepdims=True)) @ held

    def _fill_line(self, node: Sum, branch: Ints) -> None:
        """Count what dividing the rows of one sum by each slot would gain."""
        self.lines.size[node.line] = node.size
        if node.rows.size:
            table = np.zeros((self.slots.column.size + 2, int(branch.max()) + 1))
            code, gain = self.rows.codes[node.column], self.lines.gain[node.line]
            conditioning_gains(node.rows, code, branch.astype(np.int32), self.entries, table, gain)

    def _adopt(self, node: Inner) -> None:
        """Become the parent of the children, which changes the corrections of decisions among them."""
        for child in node.children:
            child.parent = node
            if isinstance(child, Decision):
                self.settle(child)

    def settle(self, node: Decision) -> Ints:
        """Bring a decision's own part of its corrections up to date; by how much it has changed."""
        slots = self.slots.of(node.column)
        own = decision_correction(node, self.slots.state[slots])
        change: Ints = own - node.own
        node.own = own
        self.lines.correction[node.line, slots] += change
        return change

    # ---- changing the tree -------------------------------------------------------------------------

    def split(self, product: Product, first: Sum, second: Sum, column: int, state: int) -> Swap:
        """Join two factors of a product below a decision of whether a column of the first has a state.

        Algorithm 4 of Peharz, Gens and Domingos.
        """
        here, others = (state,), tuple(k for k in self.states_below(first, column) if k != state)
        if not others or state not in self.states_below(first, column):
            raise ValueError(f"state {state} of column {column} does not divide the factor")
        sides = []
        for part in (here, others):
            rows = self.rows_with(product.rows, product.valid, column, part)
            kept = Revision(column, lambda states, part=part: tuple(k for k in states if k in part))  # type: ignore[misc]
            sides.append(self.product([self.copy(first, *rows, kept), self.copy(second, *rows)]))
        return self._swap(product, [first, second], self.decision(column, sides, [here, others]))

    def merge(self, decision: Decision, kept: int, dropped: int) -> Swap:
        """Give the rows and states of one child of a decision to another one.

        Algorithm 5 of Peharz, Gens and Domingos.
        """
        if self.decides_below(decision):
            raise ValueError("a decision below decides the same column")
        one, other = decision.children[kept], decision.children[dropped]
        more = decision.parts[dropped]
        added = Revision(decision.column, lambda states: tuple(sorted((*states, *more))))
        rows, valid = (np.concatenate(pair) for pair in ((one.rows, other.rows), (one.valid, other.valid)))
        joint = self.copy(one, rows, valid, added)
        rest = [i for i in range(len(decision.children)) if i not in (kept, dropped)]
        if not rest:
            return self._swap(decision.parent, [decision], joint)
        assert not isinstance(joint, Marginal)  # a decision is over two columns or more
        children = [joint, *(decision.children[i] for i in rest)]
        parts = [added.revise(decision.parts[kept]), *(decision.parts[i] for i in rest)]
        return self._swap(decision.parent, [decision], self.decision(decision.column, children, parts))

    def states_below(self, node: Node, column: int) -> States:
        """The states of a column that some marginal below a node has."""
        found = (n.states for n in walk([node]) if isinstance(n, Marginal) and n.column == column)
        return tuple(sorted(set().union(*found)))

    def decides_below(self, decision: Decision) -> bool:
        """Whether a decision has another one of the same column below it."""
        below = walk(decision.children)
        return any(isinstance(n, Decision) and n.column == decision.column for n in below)

    def _swap(self, parent: Inner | None, old: Sequence[Node], new: Node) -> Swap:
        """Put a node in the place of others, and reduce: no node has a single child or a child of its kind."""
        if parent is None:
            self._replace_root(new)
            return self._absorb(Swap(None, old, new))
        if isinstance(parent, Product):
            rest: list[Sum] = [child for child in parent.children if child not in old]
            if not rest and not isinstance(new, Product):
                return self._swap(parent.parent, [parent], new)
            self._set_children(parent, rest + (new.children if isinstance(new, Product) else [new]))
            return self._absorb(Swap(parent, old, new))
        place = parent.children.index(old[0])
        assert not isinstance(new, Marginal)  # a decision is over two columns or more
        children = [*parent.children[:place], new, *parent.children[place + 1 :]]
        if isinstance(new, Decision) and new.column == parent.column:
            return self._swap(parent.parent, [parent], self.decision(parent.column, children, parent.parts))
        self._set_children(parent, children)
        return self._absorb(Swap(parent, old, new))

    def _set_children(self, node: Inner, children: list) -> None:  # type: ignore[type-arg]
        before = node.children
        self.replaced.append(lambda: setattr(node, "children", before))
        node.children = children
        for child in children:
            child.parent = node

    def _replace_root(self, new: Node) -> None:
        before = self.root
        self.replaced.append(lambda: setattr(self, "root", before))
        self.root, new.parent = new, None

    def _absorb(self, swap: Swap) -> Swap:
        """Follow a change in everything that is known of the nodes above it."""
        new, old = swap.new, swap.old
        if isinstance(new, Decision):
            self.settle(new)
        gain = self._total(self.lines.gain, [new]) - self._total(self.lines.gain, old)
        correction = self._total(self.lines.correction, [new]) - self._total(self.lines.correction, old)
        log_likelihood = new.log_likelihood - sum(node.log_likelihood for node in old)
        held_out = new.held_out - sum(node.held_out for node in old)
        node = swap.parent
        while node is not None:
            node.log_likelihood += log_likelihood
            node.held_out = node.held_out + held_out
            edge = PRODUCT_EDGE if isinstance(node, Product) else SUM_EDGE
            node.size = sum(child.size for child in node.children) + edge * len(node.children)
            if isinstance(node, Decision):
                self.lines.gain[node.line] += gain
                self.lines.correction[node.line] += correction
                self.lines.size[node.line] = node.size
                correction[self.slots.of(node.column)] += self.settle(node)
            node = node.parent
        self._release(swap)
        return swap

    def _total(self, scores: Any, nodes: Sequence[Node]) -> Any:
        return scores[[line for node in nodes for line in lines_of(node)]].sum(axis=0)

    def _release(self, swap: Swap) -> None:
        """Return the lines of nodes that are no longer in the tree."""
        kept = {id(node) for node in walk([swap.new])}
        for node in walk(swap.old):
            if not isinstance(node, Product) and node.line and id(node) not in kept:
                self.lines.give_back(node.line)

    def commit(self) -> None:
        """Forget how to undo changes."""
        self.replaced.clear()

    def undo(self) -> None:
        """Return to the structure of the last `commit`; what was counted stays as it was."""
        while self.replaced:
            self.replaced.pop()()
