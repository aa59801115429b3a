"""By how much the two copies of a sum, whose rows are divided by a slot, differ from twice its size.

A copy is smaller than the sum where states that it cannot have are dismissed from it. Only slots of columns
in the scope have a correction. Each sum keeps its own part, which concerns the slots of its column, and
decisions keep the total of everything below them, too. The first two functions find the part of one node,
the compiled ones those of all sums of a copy.
"""

import numpy as np

from tractable.base.arrays import Ints
from tractable.base.compiled import njit
from tractable.learning.joint.selective.kernels import SUM_EDGE, Slots
from tractable.learning.joint.selective.nodes import Decision, States, joined_size, marginal_size
from tractable.learning.joint.selective.shapes import Copied, Shape
from tractable.learning.joint.selective.smoothing import branches


def marginal_correction(states: States, slot_states: Ints) -> Ints:
    """What a marginal over some states adds to its corrections, for each slot of its column."""
    many = len(states)
    change = marginal_size(many - 1) - 2 * marginal_size(many) if many > 1 else 0
    kept = set(states)
    return np.array([change if state in kept else 0 for state in slot_states.tolist()], dtype=np.int64)


def decision_correction(decision: Decision, slot_states: Ints) -> Ints:
    """What a decision itself adds to its corrections, for each slot of its column.

    The copy that keeps the slot's state has a single child left and is replaced by it. The other copy loses
    that child if it has no other state.
    """
    sizes = np.array([child.size for child in decision.children])
    joined = np.array([joined_size(decision.parent, child) for child in decision.children])
    whole = sizes.sum() + sizes.size * SUM_EDGE
    dropped = np.where([len(part) == 1 for part in decision.parts], sizes + SUM_EDGE, 0)
    if sizes.size == 2:
        dropped[dropped > 0] += SUM_EDGE + joined[::-1][dropped > 0]
    change = sizes - joined - dropped - whole  # of the two copies together, for a state of each child
    edge = branches(decision.parts, decision.prior.shape[1])[slot_states]
    return np.where(edge >= 0, change[edge], 0)


@njit(cache=True, nogil=True)
def own_corrections(copied: Copied, size: Ints, slots: Slots) -> Ints:
    """What each sum itself adds to corrections: of the slots of its column, from its `state_start` on."""
    shape = copied.shape
    own = np.zeros(shape.branch.size, dtype=np.int64)
    for i in range(size.size):
        edges, base = copied.edge_start[i + 1] - copied.edge_start[i], shape.state_start[i]
        if edges == 0:
            continue
        first, last = slots.first[shape.column[i]], slots.first[shape.column[i] + 1]
        change = ((edges - 1 if edges > 2 else 0) - 2 * edges) * SUM_EDGE  # of a marginal
        for s in range(first, last):
            if shape.many[i] > 1:
                change = _own_correction(copied, size, i, slots.state[s])
            if shape.branch[base + slots.state[s]] >= 0:
                own[base + s - first] = change
    return own


@njit(cache=True, nogil=True)
def add_up_corrections(shape: Shape, own: Ints, first: Ints, top: int, answer: Ints) -> None:
    """Add the corrections of all sums from one node down."""
    for i in range(top, top + shape.many[top]):
        column = shape.column[i]
        if column >= 0:
            for s in range(first[column], first[column + 1]):
                answer[s] += own[shape.state_start[i] + s - first[column]]


@njit(cache=True, nogil=True)
def _own_correction(copied: Copied, size: Ints, i: int, state: int) -> int:
    """What `decision_correction` finds for one state."""
    shape = copied.shape
    base, e = shape.state_start[i], shape.branch[shape.state_start[i] + state]
    if e < 0:
        return 0
    states = 0
    for s in range(base, shape.state_start[i + 1]):
        states += shape.branch[s] == e
    child = _child(shape, i, e)
    keeping = size[child] - _joined_size(copied, i, child)
    dropping = size[i]
    if states == 1:
        dropping -= size[child] + SUM_EDGE
        if copied.edge_start[i + 1] - copied.edge_start[i] == 2:
            dropping -= SUM_EDGE + _joined_size(copied, i, _child(shape, i, 1 - e))
    return keeping + dropping - 2 * size[i]


@njit(cache=True, nogil=True)
def _child(shape: Shape, i: int, edge: int) -> int:
    """The child below an edge of a decision."""
    child = i + 1
    for _ in range(edge):
        child += shape.many[child]
    return child


@njit(cache=True, nogil=True)
def _joined_size(copied: Copied, i: int, child: int) -> int:
    """What is saved when a child takes the place of node i below its parent; see `nodes.joined_size`."""
    parent, shape = copied.parent[i], copied.shape
    if parent < 0 or shape.column[parent] != shape.column[child]:
        return 0
    if shape.column[child] < 0:
        return 1
    return SUM_EDGE if shape.many[child] > 1 else 0
