"""Copies of parts of a selective tree for other rows."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools
from tractable.learning.joint.selective.filling import fill
from tractable.learning.joint.selective.forming import Forming
from tractable.learning.joint.selective.nodes import Node, Reach, States
from tractable.learning.joint.selective.shapes import copy_shape
from tractable.learning.joint.selective.subtrees import subtree_of

NO_STATES: Bools = np.zeros(0, dtype=np.bool_)


class Revision(NamedTuple):
    """What the states of one column become in a copy; children of decisions that lose all are dismissed."""

    column: int = -1
    kept: Bools = NO_STATES  # (states of the column,)
    more: Bools = NO_STATES  # (states of the column,) that all marginals of the column have, too


def keep_states(forming: Forming, column: int, kept: States) -> Revision:
    """Dismiss all other states of a column."""
    return Revision(column, forming.marked(column, kept), forming.marked(column, ()))


def add_states(forming: Forming, column: int, more: States) -> Revision:
    """Let all marginals of a column have more states; no decision may be on that column."""
    return Revision(column, ~forming.marked(column, ()), forming.marked(column, more))


def copy_tree(forming: Forming, node: Node, reach: Reach, revision: Revision) -> Node:
    """A copy of a subtree for other rows; nodes with a single child are replaced by it.

    A sum is shrunk towards the original or, if that has fewer rows, to what that is shrunk to.
    """
    original, at = subtree_of(node)
    copied = copy_shape(original.shape, at, revision.column, revision.kept, revision.more)
    inherits_counts = not revision.more.any()
    return fill(forming, copied, original, reach, inherits_counts=inherits_counts).node(0, None)
