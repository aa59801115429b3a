"""Conversion of tables and trees to conjunctive features."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from tractable.networks.network import FeatureFactor, Network, TableFactor, TreeFactor

Path: TypeAlias = tuple[tuple[int, int, bool], ...]  # column, state, whether the column has the state


def feature_factors(network: Network) -> list[FeatureFactor]:
    """Features whose product equals the factors of the network."""
    features: list[FeatureFactor] = []
    for factor in network.factors:
        if isinstance(factor, FeatureFactor):
            features.append(factor)
        else:
            features += table_features(factor) if isinstance(factor, TableFactor) else tree_features(factor)
    return features


def table_features(table: TableFactor) -> Iterator[FeatureFactor]:
    """A feature for each entry of a table other than one."""
    for states, value in np.ndenumerate(table.log_values):
        if value != 0:
            yield FeatureFactor(table.columns, states, (True,) * len(states), float(value))


def tree_features(tree: TreeFactor) -> Iterator[FeatureFactor]:
    """A feature for each path to a leaf and each state of the child."""
    paths: dict[int, list[Path]] = {0: [()]}
    for node in range(tree.column.size):  # branches lead to later nodes
        column, state = int(tree.column[node]), int(tree.state[node])
        for path in paths.pop(node, []):
            if column < 0:
                yield from _leaf_features(tree, node, path)
                continue
            for branch, holds in ((tree.then[node], True), (tree.otherwise[node], False)):
                paths.setdefault(int(branch), []).append((*path, (column, state, holds)))


def _leaf_features(tree: TreeFactor, leaf: int, path: Path) -> Iterator[FeatureFactor]:
    for child_state, value in enumerate(tree.log_prob[leaf].tolist()):
        columns, states, equals = zip(*path, (tree.child, child_state, True), strict=True)
        yield FeatureFactor(columns, states, equals, value)
