"""Training rows, and held-out rows on which models are compared and mixed."""

from dataclasses import dataclass

import numpy as np

from tractable.data import Table, collapse
from tractable.learning.statistics.held_out import divide_evenly, random_subset

FEW_ROWS = 2_000  # below which every row is held out once, in several folds ...
FOLDS = 5
PARTS = 8  # ... and above which one of so many parts is held out
LEAST_ROWS = 10  # with fewer of them none is held out
MOST_SCORED = 20_000  # distinct rows by which models are compared


@dataclass(frozen=True, eq=False)
class Fold:
    """One division of the rows."""

    train: Table
    held: Table  # validation rows for the learner
    scored: Table  # those of them that models are compared by; not all of very many


def make_folds(table: Table, valid: Table | None, rng: np.random.Generator) -> list[Fold]:
    """The validation rows or, without any, a division of the training rows.

    With few rows, each is held out in one fold, and a member of the mixture is itself a mixture of one model
    per fold. The result is empty if there are hardly any rows.
    """
    rows = collapse(table.useful_rows())[0]
    if valid is not None and len(useful := valid.useful_rows()):
        return [_fold(rows, collapse(useful)[0], rng)]
    if len(rows) < 2 or rows.total_weight < LEAST_ROWS:
        return []
    few = rows.total_weight < FEW_ROWS
    shares = divide_evenly(rows.row_weights, FOLDS if few else PARTS, rng)
    return [
        _fold(rows.reweight(rows.row_weights - held), rows.reweight(held), rng)
        for held in (shares if few else shares[:1])
    ]


def _fold(train: Table, held: Table, rng: np.random.Generator) -> Fold:
    train, held = train.useful_rows(), held.useful_rows()
    return Fold(train, held, held.take(random_subset(len(held), MOST_SCORED, rng)))
