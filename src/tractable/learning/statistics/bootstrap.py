"""Tables of rows that are drawn from another table (the bootstrap)."""

import numpy as np

from tractable.data import Table
from tractable.learning.parameters.mini_batches import pass_length


def draw_rows(table: Table, rng: np.random.Generator) -> Table:
    """As many rows as the table has, drawn with replacement; the table itself if its rows weigh nothing.

    Where weights are large, fewer are drawn, and each stands for several.
    """
    total = table.row_weights.sum()
    if not total > 0:
        return table
    draws = max(1, round(pass_length(total, len(table))))
    count = rng.multinomial(draws, table.row_weights / total)
    weights = count[count > 0] * (total / draws if draws < round(total) else 1.0)
    return Table(table.schema, table.values[count > 0], weights)
