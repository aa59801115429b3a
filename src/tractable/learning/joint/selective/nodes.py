"""The nodes of a selective tree while it is searched for: products, decisions and marginals.

A marginal is a sum over indicators of one column. A decision is a sum over two or more columns that is
regular selective with respect to one of them: each child has a part of that column's states. A child of a
product is never a product, and a child of a decision never decides the same column.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Optional, TypeAlias

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.learning.joint.selective.kernels import SUM_EDGE, Codes

if TYPE_CHECKING:
    from tractable.learning.joint.selective.subtrees import Subtree

PRODUCT_EDGE = 1  # in a packed size; see the kernels


States: TypeAlias = tuple[int, ...]


class Reach(NamedTuple):
    """Rows that reach a node."""

    rows: Codes  # training rows
    valid: Codes  # validation rows


@dataclass(eq=False, slots=True)
class Reached:
    """What all nodes have: the rows that reach them, and sums over everything below them."""

    rows: Codes
    valid: Codes
    _: KW_ONLY
    slots: Ints  # of the columns in the scope
    held_out: Floats  # (ways to smooth,) the log-likelihood of the validation rows
    log_likelihood: float = 0.0  # of the training rows, at maximum likelihood
    size: int = 0  # packed
    parent: Optional["Product | Decision"] = None
    subtree: Optional["Subtree"] = None  # everything from this node down as arrays; None after a change ...
    at: int = 0  # ... and where the node is in them

    @property
    def reach(self) -> Reach:
        """The rows that reach the node."""
        return Reach(self.rows, self.valid)


@dataclass(eq=False, slots=True)
class Marginal(Reached):
    """The distribution of one column over some of its states."""

    _: KW_ONLY
    column: int
    states: States
    prior: Floats  # (ways to smooth, states of the column) what the weights are shrunk towards
    line: int = 0  # of its gains; zero if there is only one state
    own: Ints  # (slots of the column,) its corrections
    counts: Floats = field(default_factory=lambda: np.zeros(0))  # (edges,) of the training rows

    @property
    def parts(self) -> list[States]:
        """The states of each edge."""
        return [(state,) for state in self.states]


@dataclass(eq=False, slots=True)
class Decision(Reached):
    """A sum whose children have different states of one column."""

    _: KW_ONLY
    column: int
    below: list["Decision | Product"] | None  # the children; None until somebody looks at them
    parts: list[States]  # the states of each child
    prior: Floats  # (ways to smooth, states of the column)
    line: int  # of its gains
    own: Ints  # (slots of the column,) its own part of its corrections
    correction: Ints  # (slots,) its corrections, zero for columns that are not in its scope
    counts: Floats = field(default_factory=lambda: np.zeros(0))  # (edges,)

    @property
    def children(self) -> list["Decision | Product"]:
        """The nodes that it decides between."""
        if self.below is None:
            self.below = _unfold(self)
        return self.below


@dataclass(eq=False, slots=True)
class Product(Reached):
    """Independent factors."""

    _: KW_ONLY
    below: list["Decision | Marginal"] | None  # the children; None until somebody looks at them

    @property
    def children(self) -> list["Decision | Marginal"]:
        """The factors."""
        if self.below is None:
            self.below = _unfold(self)
        return self.below


Sum: TypeAlias = Decision | Marginal
Inner: TypeAlias = Decision | Product
Node: TypeAlias = Decision | Product | Marginal


def _unfold(node: Inner) -> list:  # type: ignore[type-arg]  # of the kinds of node that may be below it
    assert node.subtree is not None  # a change is below children that were looked at
    return node.subtree.children(node)


def walk_known(nodes: Sequence[Node], leave_out: Collection[int] = ()) -> Iterator[Node]:
    """Those of the nodes and of everything below them that somebody has looked at, parents first.

    `leave_out` are nodes, by their `id`, that are passed over with everything below them.
    """
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if id(node) not in leave_out:
            yield node
            waiting.extend(reversed(known_children(node)))


def is_folded(node: Node) -> bool:
    """Whether a node has children that nobody has looked at yet."""
    return not isinstance(node, Marginal) and node.below is None


def known_children(node: Node) -> Sequence[Node]:
    """The children of a node that somebody has looked at."""
    return () if isinstance(node, Marginal) else node.below or ()


def lines_of(node: Node) -> list[int]:
    """The lines whose gains add up to those of a node."""
    if isinstance(node, Product):
        return [child.line for child in node.children if child.line]
    return [node.line] if node.line else []


def joined_size(parent: Node | None, child: Node) -> int:
    """What is saved when a child is joined to its new parent: products of products, equal decisions."""
    if isinstance(parent, Product) and isinstance(child, Product):
        return PRODUCT_EDGE
    if isinstance(parent, Decision) and isinstance(child, Decision) and parent.column == child.column:
        return SUM_EDGE
    return 0


def marginal_size(states: int) -> int:
    """The size of a marginal over so many states; a single one is an indicator without a sum."""
    return states * SUM_EDGE if states > 1 else 0
