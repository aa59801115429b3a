"""Latent trees along a Chow-Liu tree: hidden nodes are added in the neighbourhood of each column."""

from collections.abc import Callable

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.learning.joint.latent_tree.tree import Tree, paths, tree_of
from tractable.learning.statistics.forests import maximum_spanning_links


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
