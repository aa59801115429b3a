"""Learning of the structure of a latent tree from distances by any of the methods.

Recursive grouping finds siblings as the nodes whose distances to all others differ by a constant. Neighbour
joining (Saitou and Nei, 1987) joins two nodes at a time that are near each other and far from the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csgraph
from scipy.spatial.distance import squareform

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import njit
from tractable.base.progress import Watch
from tractable.learning.joint.latent_tree.tree import Tree, join_trees, merge_close_nodes, paths, tree_of
from tractable.learning.statistics.forests import maximum_spanning_links

# ---- latent trees along a Chow-Liu tree: hidden nodes are added in the neighbourhood of each column -----


def refine_chow_liu_tree(
    distance: Floats, reach: float, solve: Callable[[Floats], Tree], watch: Watch
) -> Tree:
    """The Chow-Liu tree in which each inner column and its neighbours are replaced by `solve`.

    Columns at distances of `reach` or more are not connected. When `watch` says to stop, the rest remains a
    Chow-Liu tree.
    """
    growing = _RefinedTree(distance, reach)
    inner = [column for column, near in enumerate(growing.near) if len(near) > 1]
    for done, column in enumerate(inner):
        watch.report("hidden nodes", done, len(inner))
        if watch.should_stop():
            break
        members = np.array(sorted({column} | growing.near[column]))
        if members.size > 2:
            growing.replace(column, members, solve(growing.distance[np.ix_(members, members)]))
    return growing.tree()


class _RefinedTree:
    """A tree to which hidden nodes are added, and the distances of all its nodes."""

    def __init__(self, distance: Floats, reach: float) -> None:
        self.columns = self.nodes = len(distance)
        self.reach = reach
        self.distance = np.zeros(
            (2 * self.columns, 2 * self.columns)
        )  # a tree has fewer hidden nodes than leaves
        self.distance[: self.columns, : self.columns] = distance
        self.near: list[set[int]] = [set() for _ in distance]
        known = distance < reach
        top = distance.max(where=known, initial=0.0) + 1.0
        for one, other in maximum_spanning_links(np.where(known, top - distance, 0.0)).tolist():
            self._link(one, other)

    def _link(self, one: int, other: int) -> None:
        self.near[one].add(other)
        self.near[other].add(one)

    def replace(self, centre: int, members: Ints, tree: Tree) -> None:
        """Replace the edges of a centre by a tree over the members."""
        for other in self.near[centre]:
            self.near[other].discard(centre)
        self.near[centre] = set()
        behind = self._behind(members)
        name = np.concatenate([members, np.arange(self.nodes, self.nodes + tree.hidden)])
        self._place(members, tree, name, behind)
        self.near += [set() for _ in range(tree.hidden)]
        self.nodes += tree.hidden
        for one, other in name[tree.links].tolist():
            self._link(one, other)

    def _behind(self, members: Ints) -> Ints:
        """The position in `members` of the member nearest to each node, -1 for nodes of other trees."""
        answer = np.full(self.nodes, -1, dtype=np.int64)
        for position, member in enumerate(members.tolist()):
            stack = [member]
            while stack:
                node = stack.pop()
                answer[node] = position
                stack += [other for other in self.near[node] if answer[other] < 0]
        return answer

    def _place(self, members: Ints, tree: Tree, name: Ints, behind: Ints) -> None:
        """Fill in the distances of the new hidden nodes.

        Distances to nodes of the tree are those along it. The distance of hidden node h from a node k behind
        a member is the weighted mean of the distances of k from members on other branches of h minus their
        distance from h.
        """
        along, before = paths(tree)
        old = np.arange(self.nodes)
        outside = old[(behind >= 0) & ~np.isin(old, members)]
        known = self.distance[np.ix_(members, outside)]
        relied = known < self.reach
        self.distance[self.nodes : self.nodes + tree.hidden, : self.nodes] = self.reach
        for hidden in range(tree.columns, tree.nodes):
            to_member, branch = along[hidden, : tree.columns], before[: tree.columns, hidden]
            weight = relied * (branch[:, None] != branch[behind[outside]])
            weight = weight * np.exp(-2.0 * (to_member - to_member.min()))[:, None]
            total = weight.sum(axis=0)
            mean = (weight * (known - to_member[:, None])).sum(axis=0) / np.where(total > 0, total, 1.0)
            at = name[hidden]
            self.distance[at, outside] = np.where(total > 0, np.maximum(mean, 0.0), self.reach)
            self.distance[at, name] = along[hidden]
        new = name[tree.columns :]
        self.distance[:, new] = self.distance[new].T

    def tree(self) -> Tree:
        """The tree as it is."""
        links = [(one, other) for one, near in enumerate(self.near) for other in sorted(near) if one < other]
        return tree_of(self.columns, self.nodes, links, [float(self.distance[link]) for link in links])


Method: TypeAlias = Literal["clrg", "clnj", "rg", "nj"]


@dataclass(frozen=True, kw_only=True)
class StructureSearch:
    """The settings of structure learning."""

    method: Method = "clnj"  # recursive grouping or neighbour joining, globally or along a Chow-Liu tree
    relaxation: float = 0.05  # how much differences of distances may vary within a family
    merge_distance: float = 0.01  # a hidden node nearer than this to another node is merged with it


def latent_tree(distance: Floats, settings: StructureSearch, watch: Watch | None = None) -> Tree:
    """The tree, or a forest with a tree for each connected group of columns."""
    watch = watch or Watch()
    known = np.isfinite(distance)
    reach = float(distance.max(where=known, initial=0.0)) * (1 + 1e-9) + 1e-9
    capped = np.where(known, distance, reach)

    def solve(part: Floats) -> Tree:
        return merge_close_nodes(_solve_part(part, reach, settings, watch), settings.merge_distance)

    if settings.method in ("clrg", "clnj"):
        return refine_chow_liu_tree(capped, reach, solve, watch)
    count, label = csgraph.connected_components(known, directed=False)
    groups = [np.flatnonzero(label == group) for group in range(count)]
    return join_trees(len(distance), [(group, solve(capped[np.ix_(group, group)])) for group in groups])


def _solve_part(distance: Floats, reach: float, settings: StructureSearch, watch: Watch) -> Tree:
    if settings.method.endswith("rg"):
        return recursive_grouping(distance, reach, settings.relaxation, watch)
    return neighbour_joining(distance, watch)


@njit(cache=True, nogil=True)
def compare(distance: Floats, reach: float, spread: Floats, offset: Floats) -> None:
    """Fill in the differences of the distances of all pairs of nodes: `spread` and `offset`, (nodes, nodes).

    `offset[i, j]` is the weighted mean of distance[i, k] - distance[j, k] over the nodes k within reach of
    both, and `spread[i, j]` the standard deviation, which is infinite if i and j are out of reach of each
    other or fewer than two nodes are within reach of both (unless there are only three nodes). Weights
    reflect that an estimated distance d has a variance in proportion to exp(2 d).
    """
    n = distance.shape[0]
    variance = np.exp(2.0 * distance)
    for i in range(n):
        spread[i, i], offset[i, i] = 0.0, 0.0
        for j in range(i):
            mean, rest, weight, seen = 0.0, 0.0, 0.0, 0
            for k in range(n):
                if k not in (i, j) and distance[i, k] < reach and distance[j, k] < reach:
                    differ = distance[i, k] - distance[j, k]
                    share = 1.0 / (variance[i, k] + variance[j, k])
                    weight, seen, old = weight + share, seen + 1, mean
                    mean += share / weight * (differ - old)
                    rest += share * (differ - old) * (differ - mean)
            known = seen >= min(2, n - 2) and distance[i, j] < reach
            spread[i, j] = spread[j, i] = np.sqrt(rest / weight) if known else np.inf
            offset[i, j], offset[j, i] = mean, -mean


FAR = 1e6  # in place of an infinite spread
SLACK = 1.5  # pairs whose spread is within this factor of the least are families too, which saves rounds


def recursive_grouping(distance: Floats, reach: float, relaxation: float, watch: Watch) -> Tree:
    """A tree over the given nodes in which each family of nodes gets a hidden parent, level by level.

    Distances of `reach` and more are ignored. Nodes form a family if the differences of their distances to
    others vary by at most `relaxation`; the two nodes with the least variation always do. A column that is
    the parent of its family is connected by an edge of length zero.
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
    """The family of each node, numbered from 0, and its distance from the family's parent."""
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
    """The distances between the parents of families; a single node is its own parent."""
    member = (np.arange(family.max() + 1)[:, None] == family).astype(np.float64)
    relied = (distance < reach).astype(np.float64)
    number = member @ relied @ member.T
    total = member @ (relied * (distance - up[:, None] - up)) @ member.T
    answer = np.where(number > 0, np.maximum(total, 0.0) / np.maximum(number, 1.0), min(reach, FAR))
    np.fill_diagonal(answer, 0.0)
    return answer


def neighbour_joining(distance: Floats, watch: Watch) -> Tree:
    """A tree with the given nodes as leaves, in which every hidden node has three neighbours.

    Nodes that remain when `watch` says to stop are connected to one hidden node.
    """
    columns = nodes = left = len(distance)
    distance, name = distance.copy(), np.arange(columns)
    links: list[tuple[int, int]] = []
    lengths: list[float] = []
    while left > 3 and not watch.should_stop():
        far = distance.sum(axis=1)
        one, other = _closest(distance, far)
        between = distance[one, other]
        up = 0.5 * (between + (far[one] - far[other]) / (left - 2))
        links += [(int(name[one]), nodes), (int(name[other]), nodes)]
        lengths += [up, between - up]
        distance[one] = distance[:, one] = 0.5 * (distance[one] + distance[other] - between)
        distance[one, one], name[one] = 0.0, nodes
        left, nodes = left - 1, nodes + 1
        distance[other], name[other] = distance[left], name[left]
        distance[:, other] = distance[:, left]
        distance[other, other] = 0.0
        distance, name = distance[:left, :left], name[:left]
    if left > 2:
        links += [(int(node), nodes) for node in name]
        return tree_of(columns, nodes + 1, links, [*lengths, *_to_hub(distance).tolist()])
    if left == 2:
        links, lengths = [(0, 1)], [float(distance[0, 1])]
    return tree_of(columns, nodes, links, lengths)


def _closest(distance: Floats, far: Floats) -> tuple[int, int]:
    """The two nodes to join, the lower index first."""
    score = (len(distance) - 2) * distance - far[:, None] - far
    np.fill_diagonal(score, np.inf)
    one, other = divmod(int(score.argmin()), len(distance))
    return min(one, other), max(one, other)


def _to_hub(distance: Floats) -> Floats:
    """The distances of nodes from a common hidden neighbour, by least squares."""
    left = len(distance)
    far: Floats = distance.sum(axis=1)
    hung: Floats = (far - far.sum() / (2 * (left - 1))) / (left - 2)
    return hung
