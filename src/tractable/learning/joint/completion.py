"""Imputation of missing cells for learners that need complete rows."""

import numpy as np

from tractable.circuit import Graph
from tractable.data import Table, collapse
from tractable.engine import completions
from tractable.learning.joint.chow_liu import ChowLiuLearner

DRAWS = 4  # completions of each row with missing cells, which share its weight


def complete(table: Table, valid: Table | None, rng: np.random.Generator) -> tuple[Table, Table | None]:
    """Both tables with fractional complete rows in place of incomplete ones.

    Missing cells are sampled given the other cells of their row from a Chow-Liu tree of the table. Empty rows
    are left out.
    """
    distinct = distinct_rows(table)
    seed = int(rng.integers(2**31))
    if not distinct.missing.any() and (valid is None or not valid.missing.any()):
        return distinct, valid
    tree = ChowLiuLearner().learn(distinct, rng)
    filled = _fill(distinct, tree, seed)
    return filled, None if valid is None else _fill(distinct_rows(valid), tree, seed + 1)


def distinct_rows(table: Table) -> Table:
    """The distinct rows with a positive weight and a known cell."""
    return collapse(table.useful_rows())[0]


def _fill(table: Table, tree: Graph, seed: int) -> Table:
    lacking = table.missing.any(axis=1)
    if not lacking.any():
        return table
    some, weights = np.repeat(table.values[lacking], DRAWS, axis=0), table.row_weights
    drawn = completions(tree, some, seed)
    shared = np.repeat(weights[lacking] / DRAWS, DRAWS)
    values = np.concatenate([table.values[~lacking], drawn])
    return Table(table.schema, values, np.concatenate([weights[~lacking], shared]))
