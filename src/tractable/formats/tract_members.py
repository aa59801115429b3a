"""Mixtures of a few large circuits in .tract files: each member is stored like a circuit of its own.

So a member whose components have one shape has its shape stored once. The tensors of member 0 have names that
begin with `member.0.`; the header has under `members` what it has for a circuit of its own.
"""

import numpy as np

from tractable.circuit.combine import sum_circuits
from tractable.circuit.facts import remember
from tractable.circuit.graph import Graph
from tractable.circuit.members import Members, mixture_members
from tractable.formats.tract_shapes import shape_tensors

WEIGHTS = "members.log_weight"


def stored_members(graph: Graph) -> Members | None:
    """The members as which a circuit is stored; None if it is stored as a whole.

    They are worth it if one of them has components of one shape, and if they can be put together again to the
    very same circuit.
    """
    return remember(graph, "stored members", _find)


def join_members(members: Members) -> Graph:
    """The circuit of its members."""
    return sum_circuits(members.graphs, members.log_weight)


def _find(graph: Graph) -> Members | None:
    members = mixture_members(graph)
    if members is None or all(shape_tensors(member) is None for member in members.graphs):
        return None
    return members if _is_same(join_members(members), graph) else None


def _is_same(one: Graph, other: Graph) -> bool:
    """Whether two circuits have the same arrays."""
    blocks = [(a.leaves, a.joints) for a in (one, other)]
    if any(len(mine) != len(theirs) for mine, theirs in zip(*blocks, strict=True)):
        return False
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("kind", "start", "child", "log_weight")]
    for mine, theirs in zip(one.leaves, other.leaves, strict=True):
        if mine.family != theirs.family:
            return False
        pairs += [(mine.node, theirs.node), (mine.column, theirs.column), (mine.params, theirs.params)]
    for joint, another in zip(one.joints, other.joints, strict=True):
        if joint.family != another.family:
            return False
        pairs += [(joint.node, another.node), (joint.columns, another.columns)]
        pairs += [(joint.params, another.params)]
    return all(np.array_equal(mine, theirs) for mine, theirs in pairs)
