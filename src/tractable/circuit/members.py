"""A mixture of a few circuits, taken apart into these, as `mixture` has put them together."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.facts import remember
from tractable.circuit.graph import SUM, Graph, JointBlock, LeafBlock

MOST_MEMBERS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The circuits below the root of a mixture."""

    graphs: tuple[Graph, ...]
    log_weight: Floats  # (members,)


def mixture_members(graph: Graph) -> Members | None:
    """The members of a mixture that has numbered the nodes of one after those of the other; else None."""
    return remember(graph, "members", _find_members)


def _find_members(graph: Graph) -> Members | None:
    top = slice(int(graph.start[graph.root]), int(graph.start[graph.root + 1]))
    roots = graph.child[top]
    if graph.kind[graph.root] != SUM or graph.features is not None or graph.gates:
        return None
    if not 2 <= roots.size <= MOST_MEMBERS or roots[-1] != graph.root - 1 or (np.diff(roots) <= 0).any():
        return None
    first = np.concatenate([[0], roots[:-1] + 1])
    lowest = np.repeat(first, np.diff(graph.start[np.append(first, graph.root)]))
    if (graph.child[: top.start] < lowest).any():
        return None  # a node belongs to two members
    parts = (_take(graph, a, b + 1) for a, b in zip(first.tolist(), roots.tolist(), strict=True))
    return Members(tuple(parts), graph.log_weight[top])


def _take(graph: Graph, begin: int, end: int) -> Graph:
    """The circuit of the nodes from `begin` to before `end`, whose root is the last."""
    edges = slice(int(graph.start[begin]), int(graph.start[end]))
    leaves, joints = [], []
    for block in graph.leaves:
        some = _inside(block.node, begin, end)
        if some.start < some.stop:
            node = block.node[some] - begin
            leaves.append(LeafBlock(block.family, node, block.column[some], block.params[some]))
    for joint in graph.joints:
        some = _inside(joint.node, begin, end)
        if some.start < some.stop:
            node = joint.node[some] - begin
            joints.append(JointBlock(joint.family, node, joint.columns[some], joint.params[some]))
    return Graph(
        graph.schema,
        graph.kind[begin:end],
        graph.start[begin : end + 1] - edges.start,
        graph.child[edges] - begin,
        graph.log_weight[edges],
        tuple(leaves),
        joints=tuple(joints),
    )


def _inside(node: Ints, begin: int, end: int) -> slice:
    """Where nodes, which ascend, are between two numbers."""
    first, last = np.searchsorted(node, [begin, end]).tolist()
    return slice(first, last)
