"""The initial outputs, which make every tree the Chow-Liu tree of all rows."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.learning.joint.continuous.shape import Half, TreeShape
from tractable.learning.statistics.conditionals import forest_tables
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.leaf_choice import statistics_family


def tree_outputs(shape: TreeShape, encoding: Encoding, smoothing: float) -> Floats:
    """The outputs of the tree with smoothed frequencies. Shape (statistics,)."""
    tables = forest_tables(encoding, shape.forest, smoothing, statistics_family)
    own = _cell_outputs(shape.base, encoding, tables)
    return np.concatenate([own, _cell_outputs(shape.linked, encoding, tables) - own[shape.of]])


def _cell_outputs(half: Half, encoding: Encoding, tables: list[Floats]) -> Floats:
    answer = np.zeros(half.statistics)
    first, second = half.rows()
    lines = zip(half.column.tolist(), half.state.tolist(), first.tolist(), second.tolist(), strict=True)
    for column, state, row, square in lines:
        variable, line = encoding.schema[column], tables[column][state]
        if variable.is_categorical:
            answer[row : row + line.size - 1] = line[1:] - line[0]
        else:
            answer[row] = line[0]
            if variable.kind != "count":
                scale = encoding.scale[column]
                answer[row] = line[0] / scale - encoding.centre[column] / scale
                answer[square] = line[1] - np.log(scale)
    return answer
