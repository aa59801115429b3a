"""Data softening: categorical cells are replaced, with some probability, by a state drawn at random.

See Liu and Van den Broeck, «Tractable Regularization of Probabilistic Circuits», NeurIPS 2021. The expected
likelihood of softened rows has a closed form under deterministic circuits only, so the noise is drawn here.
"""

import numpy as np

from tractable.base.arrays import Floats
from tractable.data import Schema, Table, collapse
from tractable.learning.parameters.method import WeightedRows

MOST_DRAWN = 2_000_000  # rows that are drawn at once; of tables of larger weight each draw stands for several


def soften(
    rows: WeightedRows, schema: Schema, softness: float, rng: np.random.Generator, draws: int = 1
) -> WeightedRows:
    """`draws` noisy copies of each row; a categorical cell is redrawn with probability `softness`.

    The copies of a row of weight greater than one are drawn independently. The total weight is kept, equal
    rows are merged, and numeric and missing cells stay. With a softness of zero the rows come back as they
    are.
    """
    if softness == 0:
        return rows
    times = draws * np.ceil(rows.weights * min(1.0, MOST_DRAWN / rows.total)).astype(np.int64)
    values = _noisy(np.repeat(rows.values, times, axis=0), schema, softness, rng)
    distinct, _ = collapse(Table(schema, values, np.repeat(rows.weights / times, times)))
    return WeightedRows(distinct.values, distinct.row_weights)


def _noisy(values: Floats, schema: Schema, softness: float, rng: np.random.Generator) -> Floats:
    """The values, changed in place, with random states in some of the categorical cells."""
    states = schema.cardinalities
    struck = (rng.random(values.shape) < softness) & (states > 0) & ~np.isnan(values)
    values[struck] = rng.integers(np.broadcast_to(states, values.shape)[struck])
    return values
