"""Trees whose nodes are columns, or hidden."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from tractable.arrays import Floats, Ints

LEAST_LENGTH = 1e-12  # of a link: zero would be no link at all


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A tree, or several: nodes below `columns` are columns, the others are hidden."""

    columns: int
    nodes: int
    links: Ints  # (links, 2)
    lengths: Floats  # (links,)

    @property
    def hidden(self) -> int:
        """How many nodes are hidden."""
        return self.nodes - self.columns


def tree_of(columns: int, nodes: int, links: list[tuple[int, int]], lengths: list[float]) -> Tree:
    """A tree from lists; no length is below the least."""
    length = np.maximum(np.array(lengths, dtype=np.float64), LEAST_LENGTH)
    return Tree(columns, nodes, np.array(links, dtype=np.int64).reshape(-1, 2), length)


def paths(tree: Tree) -> tuple[Floats, Ints]:
    """The length of the way from each node to each, and the last node before its end; (nodes, nodes) both.

    Between separate trees the length is infinite, and the node negative.
    """
    shape = (tree.nodes, tree.nodes)
    graph = sparse.csr_array((tree.lengths, (tree.links[:, 0], tree.links[:, 1])), shape=shape)
    length, before = csgraph.dijkstra(graph, directed=False, return_predecessors=True)
    return length, before.astype(np.int64)


def from_the_middle(tree: Tree, leaves: Ints | tuple[int, ...] = ()) -> tuple[Ints, Ints]:
    """The parent of each node, -1 for a root, and all nodes, parents first; roots are in the middle.

    Of `leaves`, which have one neighbour at most, none becomes the root of a tree of two.
    """
    hops, before = paths(replace(tree, lengths=np.ones(len(tree.links))))
    known = np.isfinite(hops)
    label = known.argmax(axis=1)  # the lowest node of the same tree
    most = hops.max(axis=1, where=known, initial=0.0)
    most[list(leaves)] += 0.5
    parent, depth = np.full(tree.nodes, -1, dtype=np.int64), np.zeros(tree.nodes)
    for lowest in np.unique(label).tolist():
        nodes = np.flatnonzero(label == lowest)
        root = nodes[most[nodes].argmin()]
        parent[nodes], depth[nodes] = np.maximum(before[root, nodes], -1), hops[root, nodes]
    return parent, np.argsort(depth, kind="stable")


def contracted(tree: Tree, merge_distance: float) -> Tree:
    """The tree without links shorter than `merge_distance`, but for those between columns.

    A hidden node at the end of such a link becomes one with the node at the other end.
    """
    name = np.arange(tree.nodes)
    for link in np.argsort(tree.lengths, kind="stable").tolist():
        one, other = sorted(name[tree.links[link]].tolist())
        if tree.lengths[link] >= merge_distance:
            break
        if other >= tree.columns:
            name[name == other] = one
    return _renumbered(tree, name)


def _renumbered(tree: Tree, name: Ints) -> Tree:
    """The tree in which nodes of the same name are one; hidden nodes are numbered without gaps."""
    kept = np.union1d(np.arange(tree.columns), name)
    links = np.searchsorted(kept, name)[tree.links]
    apart = links[:, 0] != links[:, 1]
    return Tree(tree.columns, kept.size, links[apart], tree.lengths[apart])


def joined(columns: int, parts: list[tuple[Ints, Tree]]) -> Tree:
    """Several trees as one; column j of a part is `names[j]` of the whole."""
    links, lengths, nodes = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)], columns
    for names, tree in parts:
        name = np.concatenate([names, np.arange(nodes, nodes + tree.hidden)])
        links.append(name[tree.links])
        lengths.append(tree.lengths)
        nodes += tree.hidden
    return Tree(columns, nodes, np.concatenate(links), np.concatenate(lengths))
