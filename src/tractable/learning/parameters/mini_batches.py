"""Mini-batches of rows that have weights."""

import numpy as np

from tractable.base.arrays import Floats, Ints

MOST_TIMES = 32  # rows of a pass for each distinct row, at most
SHORT_PASS = 8192  # rows of a pass that are never too many


def pass_length(total: float, distinct: int) -> float:
    """The rows of one pass over a table of this total weight and number of distinct rows."""
    return float(min(max(total, distinct), max(SHORT_PASS, MOST_TIMES * distinct)))


def mini_batches(weights: Floats, size: int, rng: np.random.Generator) -> list[tuple[Ints, Floats]]:
    """All rows in random order as mini-batches: the distinct rows of each, with their frequencies.

    Rows are drawn in proportion to their weights if these are not whole numbers, or if a pass over all would
    be long: its cost depends on the number of distinct rows, however large their weights are. A distinct row
    of large weight must be able to occur in every mini-batch, so that distinct rows alone cannot be divided
    among them.
    """
    total = float(weights.sum())
    length = pass_length(total, weights.size)
    count = max(1, round(length / size))
    if length == total and (weights == np.rint(weights)).all():
        order = rng.permutation(np.repeat(np.arange(weights.size), weights.astype(np.int64)))
        parts = np.array_split(order, count)
    else:
        upper = np.cumsum(weights / total)
        draws = (rng.random(max(1, round(length / count))) * upper[-1] for _ in range(count))
        parts = [np.searchsorted(upper[:-1], draw, side="right") for draw in draws]
    batches = (np.unique(part, return_counts=True) for part in parts)
    return [(part, times.astype(np.float64)) for part, times in batches]
