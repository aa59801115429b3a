"""Chow-Liu trees as leaves of blocks."""

import numpy as np

from tractable.base.arrays import Ints
from tractable.base.progress import Watch
from tractable.circuit import Builder
from tractable.learning.statistics.conditionals import forest_tables
from tractable.learning.statistics.dependence import pair_gains
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.forests import best_forest, categorical_mask, forest_node
from tractable.learning.statistics.link_gains import link_parameters


def tree_node(
    builder: Builder, encoding: Encoding, rows: Ints, columns: Ints, smoothing: float, watch: Watch
) -> int:
    """The root of a Chow-Liu forest over a block of a table, with the links that there is time to find.

    The pseudo-counts are those of each state: a distribution of two states has twice as many.
    """
    part = encoding.part(rows, columns)
    gain = np.zeros((columns.size, columns.size))
    if columns.size > 1:  # the price of extended BIC keeps chance links out of small blocks
        price = (0.5 * np.log(max(part.total, 1.0)) + np.log(columns.size)) * link_parameters(part.schema)
        gain = pair_gains(part, smoothing, watch) - price
    forest = best_forest(gain, categorical_mask(part.schema))
    return forest_node(builder, forest, forest_tables(part, forest, 2.0 * smoothing), columns)
