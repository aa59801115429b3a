"""Copies of parts of a selective tree for other rows."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tractable.arrays import Floats
from tractable.learners.selective.forming import Forming
from tractable.learners.selective.nodes import Decision, Marginal, Node, Product, Reach, States, Sum


@dataclass(frozen=True, slots=True)
class Revision:
    """What the states of one column become in a copy; children of decisions that lose all are dismissed."""

    column: int = -1
    revise: Callable[[States], States] = lambda states: states
    has_more_rows: bool = False  # than the original

    def states(self, column: int, states: States) -> States:
        """The states that a marginal or a child of a decision has in the copy."""
        return self.revise(states) if column == self.column else states

    def model(self, forming: Forming, node: Sum) -> Floats:
        """What the copy of a sum is shrunk towards: the original, unless that has fewer rows."""
        return node.prior if self.has_more_rows else forming.state_weights(node)


def keep_states(column: int, kept: States) -> Revision:
    """Dismiss all other states of a column."""
    return Revision(column, lambda states: tuple(k for k in states if k in kept))


def add_states(column: int, more: States) -> Revision:
    """Let all marginals of a column have more states; no decision may be on that column."""
    return Revision(column, lambda states: tuple(sorted((*states, *more))), has_more_rows=True)


@dataclass(eq=False, slots=True)
class _Copied:
    """A node that is being copied for some rows."""

    node: Node
    reach: Reach
    children: list["_Copied"] = field(default_factory=list)
    parts: list[States] = field(default_factory=list)
    made: Node | None = None


def copy_tree(forming: Forming, node: Node, reach: Reach, revision: Revision) -> Node:
    """A copy of a subtree for other rows; nodes with a single child are replaced by it."""
    plan = [_Copied(node, reach)]
    for each in plan:  # grows while it is read, since a recursion would exhaust the stack in deep trees
        each.children = _children(forming, each, revision)
        plan.extend(each.children)
    for each in reversed(plan):
        each.made = _make(forming, each, revision)
    assert plan[0].made is not None
    return plan[0].made


def _children(forming: Forming, each: _Copied, revision: Revision) -> list[_Copied]:
    """The children that a copy has, with their rows."""
    node = each.node
    if isinstance(node, Marginal):
        return []
    if isinstance(node, Product):
        return [_Copied(child, each.reach) for child in node.children]
    parts = [revision.states(node.column, part) for part in node.parts]
    left = [(child, part) for child, part in zip(node.children, parts, strict=True) if part]
    if len(left) == 1:
        return [_Copied(left[0][0], each.reach)]
    each.parts = [part for _, part in left]
    return [_Copied(child, forming.reach_with(each.reach, node.column, part)) for child, part in left]


def _make(forming: Forming, each: _Copied, revision: Revision) -> Node:
    node = each.node
    if isinstance(node, Marginal):
        states = revision.states(node.column, node.states)
        return forming.marginal(node.column, states, each.reach, revision.model(forming, node))
    below = [child.made for child in each.children if child.made is not None]
    if len(below) == 1:
        return below[0]
    if isinstance(node, Product):
        return forming.product(below)
    inner = [child for child in below if isinstance(child, Decision | Product)]
    return forming.decision(node.column, inner, each.parts, revision.model(forming, node))
