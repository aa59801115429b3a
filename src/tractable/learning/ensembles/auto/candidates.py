"""Characteristics of a table, and the learners to try on it in order, with their settings.

Order and settings were selected on the validation rows of binary tables, and otherwise follow published
comparisons of the learners.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tractable.data import Table, collapse
from tractable.learning.statistics.dependence import pair_gains
from tractable.learning.statistics.encoding import encode

MOST_ROWS = 5_000  # that the dependence of neighbours is found from
FEW_COLUMNS = 6  # with fewer of them the order of columns says nothing
NEIGHBOURS = 3.0  # times the usual dependence that neighbouring columns have where order matters
FEW_CELLS = 5_000  # of a table on which everything is quick

Settings = Mapping[str, Any]

FLOOR = ("independent", "chow-liu")  # models that are there within seconds


@dataclass(frozen=True)
class Candidate:
    """A learner with settings and a seed."""

    learner: str
    number: int  # among the candidates of its learner, from 1 on; it tells the seed
    settings: Settings
    share: float = 1.0  # of the time of a round, beside those of other candidates

    @property
    def name(self) -> str:
        """The name in reports and checkpoints."""
        return f"{self.learner} {self.number}"


# What is tried first, and then, if the learner is of use, one after the other. The same settings again mean
# another seed.
VARIANTS: dict[str, tuple[Settings, ...]] = {
    "independent": ({},),
    "chow-liu": ({},),
    "cutset": ({}, {"components": 40}, {"mixture": "extremely-random"}, {"em_steps": 10}),
    "continuous-mixture": ({}, {}, {"strength": "medium"}, {"strength": "weak"}, {}),
    "hidden-chow-liu": (
        {"states": (16, 4), "trees": 2}, {"states": (32,), "trees": 1}, {"states": (8,), "trees": 4},
        {"states": (16,), "trees": 2, "bagged": True}, {"states": (32,), "trees": 1},
    ),
    "eacmn": ({}, {"split_cost": 1.5, "l1": 1.0, "max_edges": 2_000_000}),
    "idspn": ({}, {"clusters": 20, "min_split_cost": 2.0}),
    "learnspn": ({},),
    "gaussian-mixture": ({}, {}, {}),
    "naive-bayes": ({}, {}),
    "mixture-of-trees": ({}, {}),
    "latent-tree": ({},),
}  # fmt: skip

# For tables on which large models have no rows to be fitted to.
TINY: dict[str, tuple[Settings, ...]] = VARIANTS | {
    "cutset": ({"components": 8, "min_rows": (100, 50)},),
    "continuous-mixture": ({"components": 64, "networks": 1, "strength": "strong"},),
    "hidden-chow-liu": ({"states": (4,), "trees": 1},),
    "gaussian-mixture": ({},),
    "naive-bayes": ({},),
}

TINY_TABLE = ("naive-bayes", "learnspn", "cutset", "hidden-chow-liu", "continuous-mixture")
BINARY_TABLE = ("cutset", "continuous-mixture", "hidden-chow-liu", "eacmn", "idspn", "learnspn")
ORDERED_TABLE = ("hidden-chow-liu", "eacmn", "cutset", "idspn", "continuous-mixture", "learnspn")
NUMERIC_TABLE = (
    "gaussian-mixture", "hidden-chow-liu", "continuous-mixture", "idspn", "learnspn", "cutset",
    "mixture-of-trees", "naive-bayes",
)  # fmt: skip

WIDE = 200  # columns of a table from which on ...
WIDE_SHARES = {"continuous-mixture": 3.0}  # ... these learners have more time than others, as they need it


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """The size and the kinds of columns of a table."""

    rows: float  # by weight
    distinct: int  # rows
    columns: int
    numeric: int  # columns
    density: float  # share of the categorical cells that have not the column's most frequent state
    ordered: bool  # whether neighbouring columns depend on each other more than others

    @property
    def is_tiny(self) -> bool:
        """Whether learning is so fast that starting other processes would take longer."""
        return self.distinct * self.columns <= FEW_CELLS

    @property
    def repeated(self) -> float:
        """The fraction of rows that repeat another one."""
        return 1 - self.distinct / max(self.rows, self.distinct, 1.0)


def describe(table: Table) -> TableFacts:
    """The characteristics of a table without rows of weight zero."""
    rows = collapse(table.take(table.row_weights > 0))[0]
    return TableFacts(
        rows=rows.total_weight,
        distinct=len(rows),
        columns=len(table.schema),
        numeric=sum(v.is_numeric for v in table.schema),
        density=_density(rows),
        ordered=_is_ordered(rows),
    )


def _density(table: Table) -> float:
    """The fraction of categorical cells that do not have the most frequent state of their column."""
    cells = most = 0.0
    for column, variable in enumerate(table.schema):
        if variable.is_categorical:
            seen = ~table.missing[:, column]
            states = table.values[seen, column].astype(np.int64)
            count = np.bincount(states, weights=table.row_weights[seen], minlength=1)
            cells, most = cells + float(count.sum()), most + float(count.max())
    return 1 - most / cells if cells else 0.0


def _is_ordered(table: Table) -> bool:
    """Whether neighbouring columns are much more dependent than others."""
    columns = len(table.schema)
    if columns < FEW_COLUMNS or not len(table):
        return False
    step = -(-len(table) // MOST_ROWS)
    gain = pair_gains(encode(table.take(slice(None, None, step))), 1.0)
    gain = np.maximum(gain, gain.T)
    beside = float(np.diagonal(gain, 1).mean())
    elsewhere = float(gain[np.triu_indices(columns, 2)].mean())
    return beside > NEIGHBOURS * max(elsewhere, 0.0) and beside > 0


def kinds_for(facts: TableFacts) -> tuple[str, ...]:
    """The learners to try on a table, the most promising first."""
    if facts.is_tiny:
        return ("gaussian-mixture", *TINY_TABLE) if facts.numeric else TINY_TABLE
    if facts.numeric:
        return NUMERIC_TABLE
    return ORDERED_TABLE if facts.ordered else BINARY_TABLE


def candidates_for(learner: str, facts: TableFacts) -> tuple[Candidate, ...]:
    """The candidates of a learner in the order of trial."""
    variants = (TINY if facts.is_tiny else VARIANTS)[learner]
    share = WIDE_SHARES.get(learner, 1.0) if facts.columns >= WIDE and not facts.is_tiny else 1.0
    return tuple(Candidate(learner, number, how, share) for number, how in enumerate(variants, start=1))
