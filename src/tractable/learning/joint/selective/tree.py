"""A regular selective sum-product tree that is changed by splits and merges."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tractable.learning.joint.selective.copying import Revision, add_states, copy_tree, keep_states
from tractable.learning.joint.selective.forming import Forming, total_size
from tractable.learning.joint.selective.nodes import (
    Decision,
    Inner,
    Marginal,
    Node,
    Product,
    Reach,
    States,
    Sum,
    is_folded,
    known_children,
    walk_known,
)
from tractable.learning.joint.selective.rows import CodedRows
from tractable.learning.joint.selective.shapes import count_sums, mark_states
from tractable.learning.joint.selective.smoothing import Smoothing
from tractable.learning.joint.selective.subtrees import subtree_of


class Swap(NamedTuple):
    """A change of the tree: nodes with the same parent that one new node has replaced."""

    parent: Inner | None  # None above the root
    old: Sequence[Node]
    new: Node


class SelectiveTree:
    """A tree over the columns of complete rows; it begins as the product of all marginals.

    No node has a single child, no product has a product as a child, and no decision a decision of the same
    column: after each change such nodes are joined (ReduceNetwork, algorithm 3 of Peharz, Gens and Domingos).
    """

    def __init__(self, rows: CodedRows, valid: CodedRows, smoothing: Smoothing) -> None:
        self.forming = Forming(rows, valid, smoothing)
        self._undo: list[Callable[[], None]] = []  # returns to the last commit, step by step backwards
        every = Reach(*(np.arange(part.weights.size, dtype=np.int32) for part in (rows, valid)))
        states = rows.schema.cardinalities
        start = [self.forming.marginal(c, tuple(range(k)), every) for c, k in enumerate(states.tolist())]
        self.root: Node = start[0] if len(start) == 1 else self.forming.product(start)

    def split(self, product: Product, first: Sum, second: Sum, column: int, state: int) -> Swap:
        """Join two factors of a product below a decision whether a column of the first has a state.

        Algorithm 4 of Peharz, Gens and Domingos.

        Raises:
            ValueError: if the first factor has no such state, or no other.
        """
        states = states_below(first, column, int(self.forming.states[column]))
        parts = [(state,), tuple(k for k in states if k != state)]
        if state not in states or not parts[1]:
            raise ValueError(f"state {state} of column {column} does not divide the factor")
        sides = []
        for part in parts:
            reach = self.forming.reach_with(product.reach, column, part)
            one = copy_tree(self.forming, first, reach, keep_states(self.forming, column, part))
            sides.append(self.forming.product([one, copy_tree(self.forming, second, reach, Revision())]))
        model = first.prior if first.column == column else None
        return self._swap(product, [first, second], self.forming.decision(column, sides, parts, model))

    def merge(self, decision: Decision, kept: int, dropped: int) -> Swap:
        """Give the rows and states of one child of a decision to another child.

        Algorithm 5 of Peharz, Gens and Domingos.

        Raises:
            ValueError: if a decision below decides the same column.
        """
        if decides_again(decision):
            raise ValueError("a decision below decides the same column")
        one, other = decision.children[kept], decision.children[dropped]
        reach = Reach(*(np.concatenate(pair) for pair in zip(one.reach, other.reach, strict=True)))
        revision = add_states(self.forming, decision.column, decision.parts[dropped])
        joint = copy_tree(self.forming, one, reach, revision)
        rest = [i for i in range(len(decision.children)) if i not in (kept, dropped)]
        if not rest:
            return self._swap(decision.parent, [decision], joint)
        children = [_inner(joint), *(decision.children[i] for i in rest)]
        joint_part = tuple(sorted(decision.parts[kept] + decision.parts[dropped]))
        parts = [joint_part, *(decision.parts[i] for i in rest)]
        new = self.forming.decision(decision.column, children, parts, decision.prior)
        return self._swap(decision.parent, [decision], new)

    def commit(self) -> None:
        """Forget how to undo changes."""
        self._undo.clear()

    def undo(self) -> None:
        """Return to the structure of the last commit. Afterwards the tree cannot be changed any more."""
        while self._undo:
            self._undo.pop()()
        for node in walk_known([self.root]):
            if not is_folded(node):
                node.subtree = None  # it may be of a tree that came later

    # ---- replacing nodes ---------------------------------------------------------------------------

    def _swap(self, parent: Inner | None, old: Sequence[Node], new: Node) -> Swap:
        """Put a node in the place of others with the same parent."""
        if parent is None:
            self._replace_root(new)
        elif isinstance(parent, Product):
            rest: list[Sum] = [child for child in parent.children if child not in old]
            if not rest and not isinstance(new, Product):
                return self._swap(parent.parent, [parent], new)
            self._set_children(parent, rest + (new.children if isinstance(new, Product) else [new]))
        else:
            place = [child is old[0] for child in parent.children].index(True)
            children = [*parent.children[:place], _inner(new), *parent.children[place + 1 :]]
            if isinstance(new, Decision) and new.column == parent.column:
                joint = self.forming.decision(parent.column, children, parent.parts, parent.prior)
                return self._swap(parent.parent, [parent], joint)
            self._set_children(parent, children)
        swap = Swap(parent, old, new)
        self._follow(swap)
        self._release(swap)
        return swap

    def _set_children(self, node: Inner, children: list) -> None:  # type: ignore[type-arg]
        before = node.children
        self._undo.append(lambda: setattr(node, "below", before))
        node.below = children
        for child in children:
            child.parent = node

    def _replace_root(self, new: Node) -> None:
        before = self.root
        self._undo.append(lambda: setattr(self, "root", before))
        self.root, new.parent = new, None

    def _follow(self, swap: Swap) -> None:
        """Bring up to date what is known of the nodes above a change."""
        forming, lines, new, old = self.forming, self.forming.lines, swap.new, swap.old
        if isinstance(new, Decision):
            forming.settle(new)
        gain = forming.total_gain([new]) - forming.total_gain(old)
        correction = forming.total_correction([new]) - forming.total_correction(old)
        log_likelihood = new.log_likelihood - sum(node.log_likelihood for node in old)
        held_out = new.held_out - sum(node.held_out for node in old)
        node = swap.parent
        while node is not None:
            node.subtree = None
            node.log_likelihood += log_likelihood
            node.held_out = node.held_out + held_out
            node.size = total_size(node)
            if isinstance(node, Decision):
                lines.gain[node.line] += gain
                node.correction += correction
                lines.size[node.line] = node.size
                correction[forming.slots.of(node.column)] += forming.settle(node)
            node = node.parent

    def _release(self, swap: Swap) -> None:
        """Give back the lines of nodes that are no longer in the tree."""
        for node in removed_nodes(swap):
            if is_folded(node):
                self.forming.lines.give_back(subtree_of(node)[0].lines(node.at))
            elif not isinstance(node, Product) and node.line:
                self.forming.lines.give_back(np.array([node.line]))


def states_below(node: Node, column: int, states: int) -> States:
    """The states of a column, which has so many, that some marginal below a node has."""
    subtree, at = subtree_of(node)
    found = np.zeros(states, dtype=np.bool_)
    mark_states(subtree.shape, at, column, found)
    return tuple(np.flatnonzero(found).tolist())


def decides_again(decision: Decision) -> bool:
    """Whether a decision has another one of the same column below it."""
    below = (subtree_of(child) for child in decision.children)
    return any(count_sums(subtree.shape, at, decision.column)[1] for subtree, at in below)


def removed_nodes(swap: Swap) -> list[Node]:
    """The nodes that a change has removed and that somebody has looked at, parents first.

    Some of the old nodes may have moved to the new one.
    """
    return list(walk_known(swap.old, leave_out={id(child) for child in known_children(swap.new)}))


def _inner(node: Node) -> Inner:
    assert not isinstance(node, Marginal)  # a child of a decision is over two columns or more
    return node
