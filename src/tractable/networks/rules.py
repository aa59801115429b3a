"""Features and trees as boxes of states, without expansion to tables."""

import numpy as np

from tractable.base.arrays import Bools
from tractable.data.schema import Schema
from tractable.networks.network import FeatureFactor, TreeFactor

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
