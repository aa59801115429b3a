"""Compiled loops over the structure of parts of a selective tree: copies, and counts of nodes."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Ints
from tractable.base.compiled import njit
from tractable.learning.joint.selective.kernels import Codes


class Shape(NamedTuple):
    """The structure of a tree, parents before their children.

    What is below node i are the nodes i + 1 to i + many[i] - 1: its first child, everything below that, its
    second child, and so on. Any node with everything below it is therefore a slice of all arrays.
    """

    column: Codes  # (nodes,) that a sum is about; -1 for a product
    many: Codes  # (nodes,) how many nodes there are from this one down; one for a marginal
    state_start: Ints  # (nodes + 1,) all states of the column of a sum count
    branch: Codes  # (states,) the edge of the sum that a state belongs to; -1 if none


class Copied(NamedTuple):
    """The structure of a copy, and where it comes from."""

    shape: Shape
    parent: Codes  # (nodes,) -1 for the top
    origin: Codes  # (nodes,) the node that each is a copy of
    edge_start: Ints  # (nodes + 1,) products have no edges here, and nor have marginals over a single state


@njit(cache=True, nogil=True)
def copy_shape(shape: Shape, top: int, column: int, kept: Bools, more: Bools) -> Copied:
    """A copy of everything from one node down, in which one column has other states.

    States of the column that are not `kept` are dismissed, and all marginals of the column have `more`.
    A node with a single child is replaced by it, products of products and decisions of the same column are
    joined (ReduceNetwork, algorithm 3 of Peharz, Gens and Domingos).
    """
    nodes = shape.many[top]
    every_state = shape.state_start[top + nodes] - shape.state_start[top]
    new_column, parent = np.empty(nodes, dtype=np.int32), np.empty(nodes, dtype=np.int32)
    origin, edges = np.empty(nodes, dtype=np.int32), np.zeros(nodes + 1, dtype=np.int64)
    start, branch = np.zeros(nodes + 1, dtype=np.int64), np.full(every_state, -1, dtype=np.int32)
    waiting = np.empty((nodes + 1, 4), dtype=np.int64)  # node, its new parent, old decision above it, edge
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = top, -1, -1
    made, height = 0, 1
    while height > 0:
        height -= 1
        node, above, decision, edge = waiting[height]
        node = _only_child_left(shape, node, column, kept)
        about, is_marginal = shape.column[node], shape.many[node] == 1
        if above < 0 or is_marginal or new_column[above] != about:
            new_column[made], parent[made], origin[made] = about, above, node
            if decision >= 0:
                states = kept if new_column[above] == column else kept[:0]
                _copy_edge(shape, decision, edge, states, branch[start[above] :], edges[above + 1])
                edges[above + 1] += 1
            low, size = start[made], shape.state_start[node + 1] - shape.state_start[node]
            start[made + 1] = low + size
            if is_marginal:
                edges[made + 1] = _copy_marginal(shape, node, column, kept, more, branch[low : low + size])
            above = made
            made += 1
        height = _put_children(shape, node, above, (column, kept), waiting, height)
    many = np.ones(made, dtype=np.int32)
    for i in range(made - 1, 0, -1):
        many[parent[i]] += many[i]
    for i in range(made):
        edges[i + 1] += edges[i]
    copied = Shape(new_column[:made].copy(), many, start[: made + 1].copy(), branch[: start[made]].copy())
    return Copied(copied, parent[:made].copy(), origin[:made].copy(), edges[: made + 1].copy())


@njit(cache=True, nogil=True)
def _put_children(
    shape: Shape, node: int, above: int, revised: tuple[int, Bools], waiting: Ints, height: int
) -> int:
    """Put the children that are not dismissed on a stack, the first one on top; the height of the stack."""
    about, first = shape.column[node], height
    child, number = node + 1, 0
    while child < node + shape.many[node]:
        if about < 0 or about != revised[0] or _is_kept(shape, node, number, revised[1]):
            waiting[height, 0], waiting[height, 1] = child, above
            waiting[height, 2], waiting[height, 3] = node if about >= 0 else -1, number
            height += 1
        child, number = child + shape.many[child], number + 1
    for i in range((height - first) // 2):
        for j in range(4):
            low, high = waiting[first + i, j], waiting[height - 1 - i, j]
            waiting[first + i, j], waiting[height - 1 - i, j] = high, low
    return height


@njit(cache=True, nogil=True)
def _copy_edge(shape: Shape, decision: int, edge: int, kept: Bools, branch: Codes, new: int) -> None:
    """Let the states of an edge of a decision lead to an edge of a copy; all of them if `kept` is empty."""
    old = shape.state_start[decision]
    for s in range(shape.state_start[decision + 1] - old):
        if shape.branch[old + s] == edge and (not kept.size or kept[s]):
            branch[s] = new


@njit(cache=True, nogil=True)
def _only_child_left(shape: Shape, node: int, column: int, kept: Bools) -> int:
    """The node itself or, while all children but one are dismissed, that child."""
    while shape.column[node] == column and shape.many[node] > 1:
        left, only = 0, node
        child, number = node + 1, 0
        while child < node + shape.many[node]:
            if _is_kept(shape, node, number, kept):
                left, only = left + 1, child
            child, number = child + shape.many[child], number + 1
        if left != 1:
            break
        node = only
    return node


@njit(cache=True, nogil=True)
def _is_kept(shape: Shape, decision: int, edge: int, kept: Bools) -> bool:
    """Whether a child of a decision keeps a state."""
    low, is_kept = shape.state_start[decision], False
    for s in range(kept.size):
        is_kept = is_kept or (shape.branch[low + s] == edge and kept[s])
    return is_kept


@njit(cache=True, nogil=True)
def _copy_marginal(shape: Shape, node: int, column: int, kept: Bools, more: Bools, branch: Codes) -> int:
    """Number the states that a marginal has in a copy; the number of its edges."""
    low, edges = shape.state_start[node], 0
    for s in range(branch.size):
        has = shape.branch[low + s] >= 0
        if shape.column[node] == column:
            has = (has and kept[s]) or more[s]
        if has:
            branch[s] = edges
            edges += 1
    return edges if edges > 1 else 0


@njit(cache=True, nogil=True)
def count_sums(shape: Shape, top: int, column: int) -> tuple[int, int]:
    """The number of marginals and of decisions about a column, from one node down."""
    marginals = decisions = 0
    for i in range(top, top + shape.many[top]):
        if shape.column[i] == column:
            if shape.many[i] == 1:
                marginals += 1
            else:
                decisions += 1
    return marginals, decisions


@njit(cache=True, nogil=True)
def mark_states(shape: Shape, top: int, column: int, states: Bools) -> None:
    """Mark the states of a column that some marginal has, from one node down."""
    for i in range(top, top + shape.many[top]):
        if shape.column[i] == column and shape.many[i] == 1:
            for s in range(states.size):
                states[s] = states[s] or shape.branch[shape.state_start[i] + s] >= 0


@njit(cache=True, nogil=True)
def mark_columns(shape: Shape, top: int, columns: Bools) -> None:
    """Mark the columns that a node is about."""
    for i in range(top, top + shape.many[top]):
        if shape.column[i] >= 0:
            columns[shape.column[i]] = True
