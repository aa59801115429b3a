"""Held-out rows: random shares of the rows of a table, folds, subsets, and bootstrap samples.

The weight of a row is its number of copies, each of which is held out or not.
"""

from collections.abc import Iterator

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.data import Table
from tractable.learning.parameters.online_em import pass_length

LEAST_ROWS = 20  # of which some can be held out
HELD_OUT = 0.2  # share of the rows
MOST_COPIES = 1_000_000  # of all rows together that are written out


def hold_out(table: Table, rng: np.random.Generator) -> tuple[Table, Table | None]:
    """The table without a fifth of its rows, and these rows; nothing is held out of few rows."""
    weights = table.row_weights
    if weights.sum() < LEAST_ROWS:
        return table, None
    whole = np.floor(weights)
    held: Floats = rng.binomial(np.minimum(whole, 2.0**62).astype(np.int64), HELD_OUT).astype(np.float64)
    held = np.where(whole > 2.0**53, HELD_OUT * whole, held)
    held += (weights - whole) * (rng.random(weights.size) < HELD_OUT)
    if not 0 < held.sum() < weights.sum():
        return table, None
    return table.reweight(weights - held), table.reweight(held)


def divide_evenly(weights: Floats, parts: int, rng: np.random.Generator) -> Floats:
    """Weights in each of several parts, which sum to the given ones. Shape (parts, rows).

    The rows of one weight are divided as evenly as possible; where they are fewer than parts, it is random
    which parts have one.
    """
    whole = np.floor(weights)
    turn = (rng.integers(parts, size=weights.size) + np.arange(parts)[:, None]) % parts
    rest: Floats = np.where(turn == parts - 1, weights - whole, 0.0)
    return np.floor((whole + turn) / parts) + rest


def divide_at_random(weights: Floats, parts: int, rng: np.random.Generator) -> Floats:
    """Weights in each of several parts, which sum to the given ones. Shape (parts, rows).

    Each row is in any of the parts, independently of all others.
    """
    whole = np.minimum(np.floor(weights), 2.0**53).astype(np.int64)
    divided = rng.multinomial(whole, np.full(parts, 1 / parts)).astype(np.float64).T
    divided[rng.integers(parts, size=weights.size), np.arange(weights.size)] += weights - whole
    return divided


def disjoint_shares(weights: Floats, share: float, folds: int, rng: np.random.Generator) -> Floats:
    """The part of each row's weight that each of several folds holds out. Shape (folds, rows).

    A fold holds out a share of the weight of all rows, and no copy of a row is held out twice. There are no
    folds if there are fewer than two copies.
    """
    copies = np.ceil(weights * min(1.0, MOST_COPIES / max(weights.sum(), 1.0))).astype(np.int64)
    owner = rng.permutation(np.repeat(np.arange(weights.size), copies))
    held = max(1, round(owner.size * share))
    parts = [owner[fold * held : (fold + 1) * held] for fold in range(folds if owner.size > 1 else 0)]
    out = np.array([np.bincount(part, minlength=weights.size) for part in parts])
    return out.reshape(len(parts), weights.size) / np.maximum(copies, 1)


def shuffled_folds(
    count: int, folds: int, rng: np.random.Generator, *, most: int | None = None, labels: Ints | None = None
) -> Iterator[tuple[Ints, Ints]]:
    """The numbers of the training and the held-out rows of each fold, each row held out once.

    Of more than `most` rows a random sample takes part. With `labels` each fold has its share of each label.
    """
    order = rng.permutation(count)[:most]
    if labels is not None:
        order = order[np.argsort(labels[order], kind="stable")]
    fold = np.arange(order.size) % folds
    for number in range(folds):
        yield order[fold != number], order[fold == number]


def random_subset(count: int, most: float, rng: np.random.Generator) -> Ints:
    """The sorted indices of a random subset of rows of a given size, or of all rows if there are fewer."""
    return np.arange(count) if count <= most else np.flatnonzero(rng.permutation(count) < most)


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
