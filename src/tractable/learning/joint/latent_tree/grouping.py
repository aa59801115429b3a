"""Recursive grouping: siblings are the nodes whose distances to all others differ by a constant."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.learning.joint.latent_tree.kernels import compare
from tractable.learning.joint.latent_tree.tree import Tree, tree_of

FAR = 1e6  # in place of an infinite spread
SLACK = 1.5  # pairs whose spread is within this factor of the least are families too, which saves rounds


def recursive_grouping(distance: Floats, reach: float, relaxation: float, watch: Watch) -> Tree:
    """A tree over the given nodes, in which each family of nodes gets a hidden parent, level by level.

    Distances of `reach` and more are ignored. Nodes belong to one family if the differences of their
    distances to others vary by at most `relaxation`; in any case the two with the least variation do, and
    those with little more. A column that is the parent of its family ends up at a link of length zero.
    """
    columns = nodes = len(distance)
    active = np.arange(columns)
    links: list[tuple[int, int]] = []
    lengths: list[float] = []
    while active.size > 2:
        family, up = _families(distance, reach, np.inf if watch.should_stop() else relaxation)
        size = np.bincount(family)
        new = np.flatnonzero(size > 1)
        parent = np.zeros(size.size, dtype=np.int64)
        parent[family] = active
        parent[new] = np.arange(nodes, nodes + new.size)
        grouped = np.flatnonzero(size[family] > 1)
        links += zip(active[grouped].tolist(), parent[family[grouped]].tolist(), strict=True)
        lengths += up[grouped].tolist()
        distance, active, nodes = _above(distance, reach, family, up), parent, nodes + new.size
    if active.size == 2:
        links.append((int(active[0]), int(active[1])))
        lengths.append(float(distance[0, 1]))
    return tree_of(columns, nodes, links, lengths)


def _families(distance: Floats, reach: float, relaxation: float) -> tuple[Ints, Floats]:
    """The family of each node, numbered from 0 up, and its distance from a parent of the family."""
    spread, offset = np.empty_like(distance), np.empty_like(distance)
    compare(distance, reach, spread, offset)
    apart = squareform(np.minimum(spread, FAR), checks=False)
    if apart.min() >= FAR:  # no two nodes have others in common: the nearest are a family
        apart = squareform(distance, checks=False)
    widest = max(SLACK * apart.min(), min(relaxation, FAR))
    family = fcluster(linkage(apart, "complete"), widest, "distance").astype(np.int64) - 1
    same = family[:, None] == family
    np.fill_diagonal(same, False)
    up = (same * 0.5 * (distance + offset)).sum(axis=1) / np.maximum(same.sum(axis=1), 1)
    return family, np.maximum(up, 0.0)


def _above(distance: Floats, reach: float, family: Ints, up: Floats) -> Floats:
    """The distances between the parents of families; a node that is alone is its own."""
    member = (np.arange(family.max() + 1)[:, None] == family).astype(np.float64)
    relied = (distance < reach).astype(np.float64)
    number = member @ relied @ member.T
    total = member @ (relied * (distance - up[:, None] - up)) @ member.T
    answer = np.where(number > 0, np.maximum(total, 0.0) / np.maximum(number, 1.0), min(reach, FAR))
    np.fill_diagonal(answer, 0.0)
    return answer
