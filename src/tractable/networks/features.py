"""Tables and trees as conjunctive features, and features as boxes of states, without their tables."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.data.schema import Schema
from tractable.networks.flat import Features
from tractable.networks.network import FeatureFactor, Network, TableFactor, TreeFactor

# ---- features as lists of allowed states, for loops that track which conditions of a feature hold -------


IMPOSSIBLE = -1e4  # stands for the logarithm of zero, which cannot be taken back once added


class Literals(NamedTuple):
    """The conditions of features: the allowed states of each column of each feature."""

    start: Ints  # (features + 1,) feature f's literals are start[f]:start[f + 1]
    column: Ints  # (literals,)
    offset: Ints  # (literals,) state k is allowed if `allowed[offset + k]`
    allowed: Bools
    feature: Ints  # (literals,)
    log_weight: Floats  # (features,)
    first: Ints  # (columns + 1,) the literals of column c are order[first[c]:first[c + 1]]
    order: Ints  # (literals,)


def literals_of(features: Features, states: Ints) -> Literals:
    """The combined conditions of each feature on each column."""
    owner = np.repeat(np.arange(features.log_weight.size), np.diff(features.start))
    key, literal = np.unique(owner * states.size + features.column, return_inverse=True)
    feature, column = np.divmod(key, states.size)
    width = states[column]
    offset = np.cumsum(width) - width
    allowed = np.ones(int(width.sum()), dtype=np.bool_)
    each = states[features.column]  # a condition says something about each state of its column
    condition = np.repeat(np.arange(each.size), each)
    state = np.arange(condition.size) - np.repeat(np.cumsum(each) - each, each)
    holds = (state == features.state[condition]) == features.equals[condition]
    np.logical_and.at(allowed, offset[literal[condition]] + state, holds)
    count = np.arange(features.log_weight.size + 1)
    return Literals(
        np.searchsorted(feature, count),
        column,
        offset,
        allowed,
        feature,
        np.maximum(features.log_weight, IMPOSSIBLE),
        np.searchsorted(np.sort(column), np.arange(states.size + 1)),
        np.argsort(column, kind="stable"),
    )


# ---- features and trees as boxes of states, without expansion to tables ---------------------------------


Box = dict[int, Bools]  # the states that each constrained column may take


def feature_box(feature: FeatureFactor, schema: Schema) -> Box:
    """The states under which a feature holds."""
    box: Box = {}
    for column, state, equals in zip(feature.columns, feature.states, feature.equals, strict=True):
        _constrain(box, schema, column, (state, equals))
    return box


def tree_boxes(tree: TreeFactor, schema: Schema) -> list[tuple[Box, int]]:
    """The leaves of a tree as boxes, with their node numbers."""
    boxes: list[tuple[Box, int]] = []
    open_nodes: list[tuple[int, Box]] = [(0, {})]
    while open_nodes:
        node, box = open_nodes.pop()
        column = int(tree.column[node])
        if column < 0:
            boxes.append((box, node))
            continue
        for equals, branch in ((True, tree.then), (False, tree.otherwise)):
            narrower = dict(box)
            _constrain(narrower, schema, column, (int(tree.state[node]), equals))
            if narrower[column].any():
                open_nodes.append((int(branch[node]), narrower))
    return boxes


def _constrain(box: Box, schema: Schema, column: int, condition: tuple[int, bool]) -> None:
    state, equals = condition
    allowed = (np.arange(schema[column].cardinality) == state) == equals
    box[column] = box[column] & allowed if column in box else allowed


# ---- conversion of tables and trees to conjunctive features ---------------------------------------------


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
