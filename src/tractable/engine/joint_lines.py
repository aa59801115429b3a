"""Leaves over several columns among the dense lines of a program: values, moments and draws for rows."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.facts import remember
from tractable.circuit.graph import Graph
from tractable.circuit.joint_evidence import joint_leaves, region_box
from tractable.circuit.leaves.multivariate import GaussianLeaf
from tractable.data.regions import Region
from tractable.engine.program import CompiledGraph


class Valued(NamedTuple):
    """Log-values of rows, and the largest relative error of those that were integrated numerically."""

    log_value: Floats  # (rows,)
    error: float


class JointLine(NamedTuple):
    """One leaf over several columns, and where its values lie among the dense lines."""

    line: int
    columns: Ints
    leaf: GaussianLeaf

    def log_values(self, rows: Floats, regions: Mapping[int, Region], best: frozenset[int]) -> Valued:
        """The leaf's log-value for each row, missing cells summed out or at their best, and its error."""
        x, box = rows[:, self.columns], region_box(regions, self.columns)
        maximised = self._chosen(best)
        if maximised.any():
            x = self.leaf.complete(x, box, maximised)
        return Valued(*self.leaf.log_value(x, box))

    def moments(self, rows: Floats, regions: Mapping[int, Region]) -> tuple[Floats, Floats]:
        """Mean and variance of each of the leaf's columns given each row. Shapes (rows, columns)."""
        return self.leaf.moments(rows[:, self.columns], region_box(regions, self.columns))

    def fill(
        self, rows: Floats, regions: Mapping[int, Region], best: frozenset[int], uniform: Floats
    ) -> Floats:
        """The leaf's columns of the rows, missing cells at their best or drawn. Shape (rows, columns)."""
        x, box = rows[:, self.columns], region_box(regions, self.columns)
        if best:
            return self.leaf.complete(x, box, self._chosen(best))
        return self.leaf.draw(x, box, uniform)

    def _chosen(self, columns: frozenset[int]) -> Bools:
        return np.array([c in columns for c in self.columns.tolist()], dtype=np.bool_)


def joint_lines(graph: Graph, code: CompiledGraph) -> list[JointLine]:
    """The leaves over several columns; their lines come after those of all leaves over one."""
    if not graph.joints:
        return []
    first = code.dense_node.size - sum(block.node.size for block in graph.joints)
    leaves = remember(graph, "joint leaves", _joint_leaves)
    return [JointLine(first + i, columns, leaf) for i, (columns, leaf) in enumerate(leaves)]


def _joint_leaves(graph: Graph) -> list[tuple[Ints, GaussianLeaf]]:
    return [
        (columns, leaf)
        for block in graph.joints
        for columns, leaf in zip(block.columns, joint_leaves(graph, block), strict=True)
    ]
