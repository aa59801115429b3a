"""Circuits as what they are: mixtures of products of leaves, one for each choice of children of its sums.

Leaves are asked for the probabilities of values and intervals, which other tests compare with scipy.
Everything about the circuit is done here again: slowly, in logarithms, without the engine.
"""

from itertools import product as combinations
from math import inf, isnan

import numpy as np

import oracle
from tractable.circuit.graph import Graph, LeafBlock
from tractable.data import Evidence, Region

MOST_TREES = 4000


class BruteForce:
    """The induced trees of a circuit: for each its log weight, its constants and its leaves by column."""

    def __init__(self, graph: Graph) -> None:
        self.schema = graph.schema
        blocks: dict[int, tuple[LeafBlock, int]] = {}
        for block in graph.leaves:
            blocks |= {int(node): (block, line) for line, node in enumerate(block.node)}
        self.trees: list[tuple[float, dict[int, tuple[LeafBlock, int]]]] = []
        for tree in oracle.induced_trees(graph):
            log_weight, leaves = tree.log_weight, {}
            for node in tree.leaves:
                block, line = blocks[node]
                if block.family.is_constant:
                    log_weight += float(block.params[line, 0])
                else:
                    leaves[int(block.column[line])] = (block, line)
            self.trees.append((log_weight, leaves))

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
        region = given.regions.get(column)
        means = [
            block.family.moments(block.params[line : line + 1], region)[0][0] if share > 0 else 0.0
            for share, (block, line) in zip(shares, (t[1][column] for t in self.trees), strict=True)
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
            weight
            + sum(
                _leaf_log(leaf, float(evidence.row[c]), evidence.regions.get(c)) for c, leaf in tree.items()
            )
            for weight, tree in self.trees
        ]


def _leaf_log(leaf: tuple[LeafBlock, int], value: float, region: Region | None) -> float:
    block, line = leaf
    params = block.params[line : line + 1]
    if not isnan(value):
        return float(block.family.log_prob(params, np.array([[value]]))[0, 0])
    return 0.0 if region is None else float(block.family.log_mass(params, region)[0])
