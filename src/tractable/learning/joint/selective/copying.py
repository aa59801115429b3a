"""Copies of parts of a selective tree for other rows: their structure.

In a copy, one column may have other states. A node with a single child is replaced by it, and products of
products and decisions of the same column are joined (ReduceNetwork, algorithm 3 of Peharz, Gens and
Domingos).
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Ints
from tractable.base.compiled import inner, kernel, njit
from tractable.learning.joint.selective.nodes import Arrays


class Plan(NamedTuple):
    """Nodes that a change makes, parents before their children."""

    node: Ints  # (nodes,) their numbers
    origin: Ints  # (nodes,) the node that each is a copy of; -1 if none


class Revision(NamedTuple):
    """What the states of one column become in a copy; children of decisions that lose all are dismissed."""

    column: int  # -1 if all states are kept
    kept: Bools  # (states of the column,)
    more: Bools  # (states of the column,) that all marginals of the column have, too


@njit(cache=True, nogil=True)
def copy_nodes(
    tree: Arrays, top: int, above: int, revision: Revision, plan: Plan, made: int, states: int
) -> tuple[int, int]:
    """Copy everything from one node down as a further child of `above`, or without a parent if that is -1.

    How many nodes of the plan are made already, and how many states are used, goes in and comes out.
    """
    column, kept = revision.column, revision.kept
    waiting = np.empty((tree.nodes[top].nodes + 1, 4), dtype=np.int64)  # node, new parent, decision, its edge
    waiting[0, 0], waiting[0, 1], waiting[0, 2], height = top, above, -1, 1
    while height > 0:
        height -= 1
        node, above, decision, edge = waiting[height]
        node = _only_child_left(tree, node, column, kept)
        old = tree.nodes[node]
        if old.nodes == 1 or above < 0 or tree.nodes[above].column != old.column:
            new = plan.node[made]
            states = start_node(tree, new, above, old.column, old.states, states)
            plan.origin[made] = node
            if decision >= 0:
                every = tree.nodes[above].column != column
                _copy_edge(tree, decision, edge, above, kept[:0] if every else kept)
            if old.nodes == 1:
                _copy_marginal(tree, node, new, kept if old.column == column else kept[:0], revision.more)
            made, above = made + 1, new
        for e in range((old.edges if old.nodes > 1 else 0) - 1, -1, -1):
            if old.column < 0 or old.column != column or _is_kept(tree, node, e, kept):
                waiting[height, 0], waiting[height, 1] = tree.child[old.first_edge + e], above
                waiting[height, 2], waiting[height, 3] = node if old.column >= 0 else -1, e
                height += 1
    return made, states


@kernel
def start_node(tree: Arrays, number: int, parent: int, column: int, states: int, used: int) -> int:
    """Begin a node, the next child of its parent, if it has one; how many states are used then."""
    node = tree.nodes[number]
    node.column, node.parent, node.nodes, node.edges = column, parent, 1, 0
    node.states, node.first_state, node.line, node.total = states, used, 0, 0
    if parent >= 0:
        node.edge = tree.nodes[parent].edges
        tree.nodes[parent].edges += 1
    for s in range(used, used + states):
        tree.branch[s] = -1
    return used + states


@inner
def _copy_edge(tree: Arrays, decision: int, edge: int, above: int, kept: Bools) -> None:
    """Let states of an edge of a decision lead to the last edge of a copy; all of them if `kept` is empty."""
    old, new = tree.nodes[decision], tree.nodes[above]
    for s in range(old.states):
        if tree.branch[old.first_state + s] == edge and (not kept.size or kept[s]):
            tree.branch[new.first_state + s] = new.edges - 1


@inner
def _only_child_left(tree: Arrays, node: int, column: int, kept: Bools) -> int:
    """The node itself or, while all children but one are dismissed, that child."""
    while tree.nodes[node].column == column and tree.nodes[node].nodes > 1:
        left, only = 0, node
        for edge in range(tree.nodes[node].edges):
            if _is_kept(tree, node, edge, kept):
                left, only = left + 1, tree.child[tree.nodes[node].first_edge + edge]
        if left != 1:
            break
        node = only
    return node


@inner
def _is_kept(tree: Arrays, decision: int, edge: int, kept: Bools) -> bool:
    """Whether a child of a decision keeps a state."""
    first, is_kept = tree.nodes[decision].first_state, False
    for s in range(kept.size):
        is_kept = is_kept or (tree.branch[first + s] == edge and kept[s])
    return is_kept


@inner
def _copy_marginal(tree: Arrays, origin: int, copy: int, kept: Bools, more: Bools) -> None:
    """Number the states that a marginal has in a copy; no revision concerns it if `kept` is empty."""
    old, new, edges = tree.nodes[origin], tree.nodes[copy], 0
    for s in range(old.states):
        has = tree.branch[old.first_state + s] >= 0
        if kept.size:
            has = (has and kept[s]) or more[s]
        if has:
            tree.branch[new.first_state + s] = edges
            edges += 1
    new.edges = edges if edges > 1 else 0


@kernel
def link_children(tree: Arrays, made: Ints, used: int) -> int:
    """Give each new node its range of edges, its children and their number; how many edges are used then."""
    for i in made:
        tree.nodes[i].first_edge = used
        used += tree.nodes[i].edges
    for i in made[:0:-1]:
        node = tree.nodes[i]
        above = tree.nodes[node.parent]
        tree.child[above.first_edge + node.edge] = i
        above.nodes += node.nodes
    return used
