"""From distances between columns to a latent tree, by any of the methods."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.sparse import csgraph

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.learning.joint.latent_tree.grouping import recursive_grouping
from tractable.learning.joint.latent_tree.joining import neighbour_joining
from tractable.learning.joint.latent_tree.neighbourhoods import refine_chow_liu_tree
from tractable.learning.joint.latent_tree.tree import Tree, join_trees, merge_close_nodes

Method: TypeAlias = Literal["clrg", "clnj", "rg", "nj"]


@dataclass(frozen=True, kw_only=True)
class StructureSearch:
    """How the structure of a tree is found."""

    method: Method = "clnj"  # recursive grouping or neighbour joining, globally or along a Chow-Liu tree
    relaxation: float = 0.05  # how much differences of distances may vary within a family
    merge_distance: float = 0.01  # a hidden node nearer than this to another node is merged with it


def latent_tree(distance: Floats, how: StructureSearch, watch: Watch | None = None) -> Tree:
    """The tree, or a forest with a tree for each group of columns that finite distances connect."""
    watch = watch or Watch()
    known = np.isfinite(distance)
    reach = float(distance.max(where=known, initial=0.0)) * (1 + 1e-9) + 1e-9
    capped = np.where(known, distance, reach)

    def solve(part: Floats) -> Tree:
        return merge_close_nodes(_solve_part(part, reach, how, watch), how.merge_distance)

    if how.method in ("clrg", "clnj"):
        return refine_chow_liu_tree(capped, reach, solve, watch)
    count, label = csgraph.connected_components(known, directed=False)
    groups = [np.flatnonzero(label == group) for group in range(count)]
    return join_trees(len(distance), [(group, solve(capped[np.ix_(group, group)])) for group in groups])


def _solve_part(distance: Floats, reach: float, how: StructureSearch, watch: Watch) -> Tree:
    if how.method.endswith("rg"):
        return recursive_grouping(distance, reach, how.relaxation, watch)
    return neighbour_joining(distance, watch)
