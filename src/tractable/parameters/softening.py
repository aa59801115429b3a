"""Rows that are trusted a little less than they look: cells now and then give way to a state drawn at random.

Liu and Van den Broeck, «Tractable Regularization of Probabilistic Circuits», NeurIPS 2021. The likelihood to
be expected of softened rows has a closed form under deterministic circuits alone, so the noise is drawn here.
"""

import numpy as np

from tractable.arrays import Floats
from tractable.data import Schema, Table, collapse
from tractable.parameters.method import WeightedRows

MOST_DRAWN = 2_000_000  # rows that are written out for one set of draws; heavier ones are drawn more coarsely


def soften(
    rows: WeightedRows, schema: Schema, softness: float, rng: np.random.Generator, draws: int = 1
) -> WeightedRows:
    """Each row `draws` times over, a cell of states being as it was or, with that probability, any state.

    Rows that stand for several are drawn one by one. Together they weigh what they weighed, equal ones are
    made one, numbers and missing cells stay. Without softness the rows are the same.
    """
    if softness == 0:
        return rows
    times = draws * np.ceil(rows.weights * min(1.0, MOST_DRAWN / rows.total)).astype(np.int64)
    values = _noisy(np.repeat(rows.values, times, axis=0), schema, softness, rng)
    distinct, _ = collapse(Table(schema, values, np.repeat(rows.weights / times, times)))
    return WeightedRows(distinct.values, distinct.row_weights)


def _noisy(values: Floats, schema: Schema, softness: float, rng: np.random.Generator) -> Floats:
    """The values, in place, with drawn states in some of the cells that hold a state."""
    states = schema.cardinalities
    struck = (rng.random(values.shape) < softness) & (states > 0) & ~np.isnan(values)
    values[struck] = rng.integers(np.broadcast_to(states, values.shape)[struck])
    return values
