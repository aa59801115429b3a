"""Neighbour joining (Saitou and Nei, 1987): two nodes at a time, near each other and far from the rest."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.learning.joint.latent_tree.tree import Tree, tree_of


def neighbour_joining(distance: Floats, watch: Watch) -> Tree:
    """A tree in which all nodes that the distances are of are leaves and every hidden node has three links.

    What is left when `watch` says to stop hangs on one hidden node.
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
    """The two nodes to join, the lower one first."""
    score = (len(distance) - 2) * distance - far[:, None] - far
    np.fill_diagonal(score, np.inf)
    one, other = divmod(int(score.argmin()), len(distance))
    return min(one, other), max(one, other)


def _to_hub(distance: Floats) -> Floats:
    """How far nodes are from a hub that all hang on: exact for three, the least squares of more."""
    left = len(distance)
    far: Floats = distance.sum(axis=1)
    hung: Floats = (far - far.sum() / (2 * (left - 1))) / (left - 2)
    return hung
