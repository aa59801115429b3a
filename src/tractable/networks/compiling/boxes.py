"""Decision diagrams of functions that are constant on disjoint boxes of states.

The nodes of a level are the sets of boxes that are still possible given the states of the columns above.
"""

import numpy as np

from tractable.base.arrays import Int32s
from tractable.data.schema import Schema
from tractable.networks.compiling.diagram import Diagram, reduce_diagram
from tractable.networks.compiling.limit import CompileLimit
from tractable.networks.compiling.terms import Terms
from tractable.networks.rules import Box


def from_boxes(
    columns: tuple[int, ...], schema: Schema, boxes: list[Box], value: Terms, limit: CompileLimit
) -> Diagram:
    """The diagram over `columns` (root first) with the term `value[i]` in box i and `value[-1]` outside all.

    Boxes are disjoint; `value` has one more row than there are boxes.
    """
    alive: dict[int, int] = {(1 << len(boxes)) - 1: 0}
    levels: list[Int32s] = []
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
    """For each state of a column, the boxes that contain it, as bits."""
    masks = [0] * states
    for number, box in enumerate(boxes):
        allowed = box.get(column)
        for state in range(states):
            if allowed is None or allowed[state]:
                masks[state] |= 1 << number
    return masks
