"""Circuits as what they are: mixtures of products of leaves, one for each choice of children of its sums.

Leaves are asked for the probabilities of values and intervals, which other tests compare with scipy.
Everything about the circuit is done here again: slowly, in logarithms, without the engine.
"""

from dataclasses import dataclass
from itertools import product as combinations
from math import inf, isnan

import numpy as np
import oracle
from scipy import stats

from tractable.base.arrays import Floats
from tractable.circuit.blocks import ConstantBlock, JointBlock, LeafBlock
from tractable.circuit.graph import Graph
from tractable.circuit.leaves import Family
from tractable.data import Evidence

MOST_TREES = 4000


@dataclass(frozen=True)
class OneLeaf:
    """A leaf over one column."""

    column: int
    family: Family
    params: Floats  # (1, width)

    def log(self, given: Evidence) -> float:
        """The log-probability (or density) of what is known."""
        value, region = float(given.row[self.column]), given.regions.get(self.column)
        if not isnan(value):
            return float(self.family.log_prob(self.params, np.array([[value]]))[0, 0])
        return 0.0 if region is None else float(self.family.log_mass(self.params, region)[0])

    def mean(self, column: int, given: Evidence) -> float:
        """The expectation of the column."""
        return float(self.family.moments(self.params, given.regions.get(column))[0][0])


@dataclass(frozen=True)
class JointLeaf:
    """A normal distribution of several columns, of which values or nothing are known."""

    columns: list[int]
    centre: Floats
    covariance: Floats

    def log(self, given: Evidence) -> float:
        """The log-density of the values that are known."""
        known = ~np.isnan(given.row[self.columns])
        if not known.any():
            return 0.0
        part = stats.multivariate_normal(self.centre[known], self.covariance[np.ix_(known, known)])
        return float(part.logpdf(given.row[self.columns][known]))

    def mean(self, column: int, given: Evidence) -> float:
        """The expectation of a column given the values of others."""
        place = self.columns.index(column)
        known = ~np.isnan(given.row[self.columns])
        off = given.row[self.columns][known] - self.centre[known]
        inner = np.linalg.solve(self.covariance[np.ix_(known, known)], off) if known.any() else off
        return float(self.centre[place] + self.covariance[place, known] @ inner)


class BruteForce:
    """The induced trees of a circuit: for each its log weight, and its leaves by column."""

    def __init__(self, graph: Graph) -> None:
        self.schema = graph.schema
        leaves = _leaves(graph)
        self.joint_names = {
            graph.schema[int(c)].name for block in graph.blocks_of(JointBlock) for c in block.columns.ravel()
        }
        self.trees: list[tuple[float, dict[int, OneLeaf | JointLeaf]]] = []
        for tree in oracle.induced_trees(graph):
            log_weight = tree.log_weight
            below: dict[int, OneLeaf | JointLeaf] = {}
            for node in tree.leaves:
                leaf = leaves[node]
                if isinstance(leaf, float):
                    log_weight += leaf
                else:
                    over = leaf.columns if isinstance(leaf, JointLeaf) else [leaf.column]
                    below |= dict.fromkeys(over, leaf)
            self.trees.append((log_weight, below))

    def log_value(self, evidence: Evidence) -> float:
        """The logarithm of the circuit's value for evidence."""
        return oracle.log_sum(self._tree_logs(evidence))

    def log_prob(self, query: Evidence, given: Evidence) -> float:
        """log P(query | given); `query` contains what is given."""
        above, below = self.log_value(query), self.log_value(given)
        return -inf if above == -inf else above - below

    def mean(self, column: int, given: Evidence) -> float:
        """The expectation of a numeric column."""
        logs = self._tree_logs(given)
        top = max(logs)
        shares = [np.exp(log - top) for log in logs]
        if not isnan(given.row[column]):
            return float(given.row[column])
        means = [
            leaves[column].mean(column, given) if share > 0 else 0.0
            for share, (_, leaves) in zip(shares, self.trees, strict=True)
        ]
        return float(np.dot(shares, means) / np.sum(shares))

    def states(self, given: Evidence, columns: list[int]) -> dict[tuple[float, ...], float]:
        """The log-probability of each combination of the states of some columns that agrees with evidence."""
        below = self.log_value(given)
        ranges = [range(self.schema[c].cardinality) for c in columns]
        return {
            tuple(map(float, states)): self._log_joint(given, dict(zip(columns, states, strict=True))) - below
            for states in combinations(*ranges)
        }

    def _log_joint(self, given: Evidence, states: dict[int, int]) -> float:
        row, regions = given.row.copy(), dict(given.regions)
        for column, state in states.items():
            region = regions.pop(column, None)
            excluded = region is not None and not region.allowed[state]  # type: ignore[union-attr]
            if excluded or not (isnan(row[column]) or row[column] == state):
                return -inf
            row[column] = state
        return self.log_value(Evidence(row, regions))

    def _tree_logs(self, evidence: Evidence) -> list[float]:
        return [
            weight + sum(leaf.log(evidence) for leaf in {id(leaf): leaf for leaf in tree.values()}.values())
            for weight, tree in self.trees
        ]


def _leaves(graph: Graph) -> dict[int, float | OneLeaf | JointLeaf]:
    """The leaf, or the logarithm of the constant, under the number of each node."""
    found: dict[int, float | OneLeaf | JointLeaf] = {}
    for constants in graph.blocks_of(ConstantBlock):
        found |= dict(zip(constants.node.tolist(), constants.log_value.tolist(), strict=True))
    for block in graph.blocks_of(LeafBlock):
        for line, (node, column) in enumerate(zip(block.node.tolist(), block.column.tolist(), strict=True)):
            found[node] = OneLeaf(column, block.family, block.params[line : line + 1])
    for joint in graph.blocks_of(JointBlock):
        for line, node in enumerate(joint.node.tolist()):
            columns = joint.columns[line].tolist()
            mean, factor, _ = joint.family.parts(joint.params[line], len(columns))
            found[node] = JointLeaf(columns, mean, factor @ factor.T)
    return found
