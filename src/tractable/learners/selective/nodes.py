"""The nodes of a selective tree while it is searched for: products, decisions and marginals.

A marginal is a sum over indicators of one column. A decision is a sum over two or more columns that is regular
selective with respect to one of them: each child has a part of that column's states. A child of a product is
never a product, and a child of a decision never decides the same column.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional, TypeAlias

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.learners.selective.kernels import SUM_EDGE, Codes, Shape

PRODUCT_EDGE = 1  # in a packed size; see the kernels


@dataclass(eq=False, slots=True, kw_only=True)
class Reached:
    """What all nodes have: the rows that reach them, and sums over everything below them."""

    rows: Codes  # training rows
    valid: Codes  # validation rows
    slots: Ints  # of the columns in the scope
    size: int = 0  # packed
    log_likelihood: float = 0.0  # of the training rows, at maximum likelihood
    held_out: Floats  # (amounts of smoothing,) the log-likelihood of the validation rows
    parent: Optional["Product | Decision"] = None


@dataclass(eq=False, slots=True, kw_only=True)
class Marginal(Reached):
    """The distribution of one column over some of its states."""

    column: int
    states: tuple[int, ...]
    line: int  # of its scores; zero if there is only one state


@dataclass(eq=False, slots=True, kw_only=True)
class Decision(Reached):
    """A sum whose children have different states of one column."""

    column: int
    children: list["Decision | Product"]
    parts: list[tuple[int, ...]]  # the states of each child
    line: int  # of its scores
    own: Ints  # (slots of the column,) its own part of its corrections


@dataclass(eq=False, slots=True, kw_only=True)
class Product(Reached):
    """Independent factors."""

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
    column, first, child, entry, branch = [-1], [0], list(range(1, len(nodes) + 1)), [0], []
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
            here = [0] * states
            for i, part in enumerate(node.parts):
                for state in part:
                    here[state] = i
            branch.extend(here)
    first.append(len(child))
    return Shape(*(np.array(x, dtype=np.int32) for x in (column, first, child, entry, branch)))
