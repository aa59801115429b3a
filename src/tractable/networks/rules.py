"""Features and trees as diagrams, without ever writing out their tables.

Both are lists of disjoint boxes of states with a value each. Going down the columns, what still matters is
which boxes can yet hold; those sets are the nodes of a level.
"""

import numpy as np

from tractable.arrays import Bools, Ints
from tractable.data.schema import Schema
from tractable.networks.compiling.limit import CompileLimit
from tractable.networks.compiling.diagram import Diagram, reduce_diagram
from tractable.networks.compiling.terms import Terms
from tractable.networks.network import FeatureFactor, TreeFactor

Box = dict[int, Bools]  # the states that each constrained column may take


def feature_box(feature: FeatureFactor, schema: Schema) -> Box:
    """The states under which a feature holds."""
    box: Box = {}
    for column, state, equals in zip(feature.columns, feature.states, feature.equals, strict=True):
        _constrain(box, schema, column, (state, equals))
    return box


def tree_boxes(tree: TreeFactor, schema: Schema) -> list[tuple[Box, int]]:
    """The leaves of a tree as boxes, with their numbers in the tree."""
    found: list[tuple[Box, int]] = []
    open_nodes: list[tuple[int, Box]] = [(0, {})]
    while open_nodes:
        node, box = open_nodes.pop()
        column = int(tree.column[node])
        if column < 0:
            found.append((box, node))
            continue
        for equals, branch in ((True, tree.then), (False, tree.otherwise)):
            narrower = dict(box)
            _constrain(narrower, schema, column, (int(tree.state[node]), equals))
            if narrower[column].any():
                open_nodes.append((int(branch[node]), narrower))
    return found


def _constrain(box: Box, schema: Schema, column: int, condition: tuple[int, bool]) -> None:
    state, equals = condition
    allowed = (np.arange(schema[column].cardinality) == state) == equals
    box[column] = box[column] & allowed if column in box else allowed


def from_boxes(
    columns: tuple[int, ...], schema: Schema, boxes: list[Box], value: Terms, limit: CompileLimit
) -> Diagram:
    """The diagram over `columns` (root first) that is the term `value[i]` in box i and `value[-1]` in none.

    Boxes are disjoint; `value` is one line longer than they are.
    """
    alive: dict[int, int] = {(1 << len(boxes)) - 1: 0}
    levels: list[Ints] = []
    for column in columns:
        allowed = _allowed_masks(column, schema[column].cardinality, boxes)
        following: dict[int, int] = {}
        lines = [[following.setdefault(m & a, len(following)) for a in allowed] for m in alive]
        limit.spend(len(lines) * len(allowed))
        levels.append(np.array(lines, dtype=np.int32))
        alive = following
    ends = np.array([m.bit_length() - 1 for m in alive], dtype=np.int64)
    return reduce_diagram(columns, levels, value.take(ends))


def _allowed_masks(column: int, states: int, boxes: list[Box]) -> list[int]:
    """For each state of a column, the boxes that it leaves possible, as bits."""
    masks = [0] * states
    for number, box in enumerate(boxes):
        allowed = box.get(column)
        for state in range(states):
            if allowed is None or allowed[state]:
                masks[state] |= 1 << number
    return masks
