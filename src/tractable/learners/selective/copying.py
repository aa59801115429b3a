"""Copies of parts of a selective tree for other rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.learners.selective.filling import fill
from tractable.learners.selective.forming import Forming
from tractable.learners.selective.kernels import Codes
from tractable.learners.selective.nodes import Decision, Inner, Marginal, Node, Product, Reach, States, Sum

NO_ROWS: Codes = np.zeros(0, dtype=np.int32)  # of nodes that are not filled yet
NO_SCORES: Floats = np.zeros(0)
NO_SLOTS: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Revision:
    """What the states of one column become in a copy; children of decisions that lose all are dismissed."""

    column: int = -1
    revise: Callable[[States], States] = lambda states: states
    has_more_rows: bool = False  # than the original

    def states(self, column: int, states: States) -> States:
        """The states that a marginal or a child of a decision has in the copy."""
        return self.revise(states) if column == self.column else states


def keep_states(column: int, kept: States) -> Revision:
    """Dismiss all other states of a column."""
    return Revision(column, lambda states: tuple(k for k in states if k in kept))


def add_states(column: int, more: States) -> Revision:
    """Let all marginals of a column have more states; no decision may be on that column."""
    return Revision(column, lambda states: tuple(sorted((*states, *more))), has_more_rows=True)


def copy_tree(forming: Forming, node: Node, reach: Reach, revision: Revision) -> Node:
    """A copy of a subtree for other rows; nodes with a single child are replaced by it.

    The structure is copied node by node, and everything that is known of the nodes is then counted for all of
    them at once. A sum is shrunk towards the original or, if that has fewer rows, to what that is shrunk to.
    """
    copy, originals = _copy_structure(node, revision)
    fill(forming, copy, originals, reach, inherits_counts=not revision.has_more_rows)
    return copy


def _copy_structure(node: Node, revision: Revision) -> tuple[Node, dict[Node, Sum]]:
    """The nodes of a copy without anything that is counted, and the original of each sum."""
    plan: list[tuple[Node, Sequence[Node], list[States]]] = []
    found = [node]
    for each in found:  # grows while it is read, since a recursion would exhaust the stack in deep trees
        children, parts = _kept_children(each, revision)
        found.extend(children)
        plan.append((each, children, parts))
    made: dict[Node, Node] = {}
    originals: dict[Node, Sum] = {}
    for each, children, parts in reversed(plan):
        below = [made.pop(child) for child in children]
        made[each] = copy = below[0] if len(below) == 1 else _copy_node(each, below, parts, revision)
        if not isinstance(each, Product) and len(below) != 1:
            originals[copy] = each
    return made[node], originals


def _kept_children(node: Node, revision: Revision) -> tuple[Sequence[Node], list[States]]:
    """The children that are not dismissed, and the states of each child of a decision."""
    if isinstance(node, Marginal):
        return (), []
    if isinstance(node, Product):
        return node.children, []
    if node.column != revision.column:
        return node.children, node.parts
    parts = [revision.revise(part) for part in node.parts]
    left = [(child, part) for child, part in zip(node.children, parts, strict=True) if part]
    return [child for child, _ in left], [part for _, part in left]


def _copy_node(node: Node, below: list[Node], parts: list[States], revision: Revision) -> Node:
    """A node like another one with other children; what should be joined to it is."""
    if isinstance(node, Marginal):
        states = revision.states(node.column, node.states)
        return Marginal(
            NO_ROWS, NO_ROWS, slots=node.slots, held_out=NO_SCORES,
            column=node.column, states=states, prior=node.prior,
        )  # fmt: skip
    if isinstance(node, Product):
        factors: list[Sum] = []
        for child in below:
            factors += child.children if isinstance(child, Product) else [child]
        return Product(NO_ROWS, NO_ROWS, slots=node.slots, held_out=NO_SCORES, children=factors)
    children: list[Inner] = []
    states_below: list[States] = []
    for inner, part in zip(below, parts, strict=True):
        assert not isinstance(inner, Marginal)  # a child of a decision is over two columns or more
        if isinstance(inner, Decision) and inner.column == node.column:
            children += inner.children
            states_below += inner.parts
        else:
            children.append(inner)
            states_below.append(part)
    return Decision(
        NO_ROWS, NO_ROWS, slots=node.slots, held_out=NO_SCORES,
        column=node.column, children=children, parts=states_below, prior=node.prior, line=0, own=NO_SLOTS,
    )  # fmt: skip
