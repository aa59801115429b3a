"""The nodes of a selective tree while it is searched for: products, decisions and marginals.

A marginal is a sum over indicators of one column. A decision is a sum over two or more columns that is
regular selective with respect to one of them: each child has a part of that column's states. A child of a
product is never a product, and a child of a decision never decides the same column.
"""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple, Optional, TypeAlias

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.learners.selective.kernels import SUM_EDGE, Codes, Shape
from tractable.learners.selective.smoothing import branches

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
    line: int = 0  # of its scores; zero if there is only one state
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
    children: list["Decision | Product"]
    parts: list[States]  # the states of each child
    prior: Floats  # (ways to smooth, states of the column)
    line: int  # of its scores
    own: Ints  # (slots of the column,) its own part of its corrections
    counts: Floats = field(default_factory=lambda: np.zeros(0))  # (edges,)


@dataclass(eq=False, slots=True)
class Product(Reached):
    """Independent factors."""

    _: KW_ONLY
    children: list["Decision | Marginal"]


Sum: TypeAlias = Decision | Marginal
Inner: TypeAlias = Decision | Product
Node: TypeAlias = Decision | Product | Marginal


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """The nodes and everything below them, parents first."""
    waiting: list[Node] = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Marginal):
            waiting.extend(reversed(node.children))


def lines_of(node: Node) -> list[int]:
    """The lines whose scores add up to those of a node."""
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


def shape_of(nodes: Sequence[Node], states: int) -> Shape:
    """The structure below some nodes as arrays, as the product of them. A column has at most `states`."""
    column, first, child, entry = [-1], [0], list(range(1, len(nodes) + 1)), [0]
    branch: list[int] = []
    found = list(nodes)
    for node in found:  # grows while it is read: breadth first, so that children are side by side
        first.append(len(child))
        if isinstance(node, Marginal):
            column.append(node.column)
            entry.append(0)
            continue
        column.append(node.column if isinstance(node, Decision) else -1)
        entry.append(len(branch))
        child.extend(range(len(found) + 1, len(found) + 1 + len(node.children)))
        found.extend(node.children)
        if isinstance(node, Decision):
            branch.extend(branches(node.parts, states))
    first.append(len(child))
    return Shape(*(np.array(x, dtype=np.int32) for x in (column, first, child, entry, branch)))
