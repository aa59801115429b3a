"""Trees whose nodes are columns or hidden nodes."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from tractable.base.arrays import Floats, Ints

LEAST_LENGTH = 1e-12  # of a link, because scipy takes a length of zero for no link


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A tree or a forest: nodes numbered below `columns` are columns, the others are hidden."""

    columns: int
    nodes: int
    links: Ints  # (links, 2)
    lengths: Floats  # (links,)

    @property
    def hidden(self) -> int:
        """The number of hidden nodes."""
        return self.nodes - self.columns


def tree_of(columns: int, nodes: int, links: list[tuple[int, int]], lengths: list[float]) -> Tree:
    """A tree from lists of edges and lengths, which are raised to the minimum length."""
    length = np.maximum(np.array(lengths, dtype=np.float64), LEAST_LENGTH)
    return Tree(columns, nodes, np.array(links, dtype=np.int64).reshape(-1, 2), length)


def paths(tree: Tree) -> tuple[Floats, Ints]:
    """The path length of each pair of nodes, and the last node but one of the path; (nodes, nodes) both.

    For separate trees the length is infinite and the node negative.
    """
    shape = (tree.nodes, tree.nodes)
    graph = sparse.csr_array((tree.lengths, (tree.links[:, 0], tree.links[:, 1])), shape=shape)
    length, before = csgraph.dijkstra(graph, directed=False, return_predecessors=True)
    return length, before.astype(np.int64)


def root_at_centre(tree: Tree, leaves: Ints | tuple[int, ...] = ()) -> tuple[Ints, Ints]:
    """The parent of each node (-1 for a root), and all nodes with parents first.

    Each root is the centre of its tree. None of `leaves`, which have at most one neighbour, becomes the root
    of a tree of two nodes.
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


def merge_close_nodes(tree: Tree, merge_distance: float) -> Tree:
    """The tree without edges shorter than `merge_distance`, except those between columns.

    A hidden node at one end of such an edge is merged with the node at the other end.
    """
    name = np.arange(tree.nodes)
    for link in np.argsort(tree.lengths, kind="stable").tolist():
        one, other = sorted(name[tree.links[link]].tolist())
        if tree.lengths[link] >= merge_distance:
            break
        if other >= tree.columns:
            name[name == other] = one
    return _merge_nodes(tree, name)


def _merge_nodes(tree: Tree, name: Ints) -> Tree:
    """The tree in which nodes of equal name are merged; hidden nodes are renumbered."""
    kept = np.union1d(np.arange(tree.columns), name)
    links = np.searchsorted(kept, name)[tree.links]
    apart = links[:, 0] != links[:, 1]
    return Tree(tree.columns, kept.size, links[apart], tree.lengths[apart])


def join_trees(columns: int, parts: list[tuple[Ints, Tree]]) -> Tree:
    """Several trees as one; column j of a part is `names[j]` of the whole."""
    links, lengths, nodes = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)], columns
    for names, tree in parts:
        name = np.concatenate([names, np.arange(nodes, nodes + tree.hidden)])
        links.append(name[tree.links])
        lengths.append(tree.lengths)
        nodes += tree.hidden
    return Tree(columns, nodes, np.concatenate(links), np.concatenate(lengths))
