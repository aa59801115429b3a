"""What a table is like, as far as it tells which learners are worth a try."""

from dataclasses import dataclass

import numpy as np

from tractable.data import Table, collapse
from tractable.learning.statistics.dependence import pair_gains
from tractable.learning.statistics.encoding import encode

MOST_ROWS = 5_000  # that the dependence of neighbours is found from
FEW_COLUMNS = 6  # with fewer of them the order of columns says nothing
NEIGHBOURS = 3.0  # times the usual dependence that neighbouring columns have where order matters
FEW_CELLS = 5_000  # of a table on which everything is quick


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """Size and kinds of a table."""

    rows: float  # by weight
    distinct: int  # rows
    columns: int
    numeric: int  # columns
    density: float  # share of the categorical cells that have not the column's most frequent state
    ordered: bool  # whether neighbouring columns depend on each other more than others

    @property
    def is_tiny(self) -> bool:
        """Whether learners are so quick that it would take longer to start other processes."""
        return self.distinct * self.columns <= FEW_CELLS

    @property
    def repeated(self) -> float:
        """The share of rows that repeat another one."""
        return 1 - self.distinct / max(self.rows, self.distinct, 1.0)


def describe(table: Table) -> TableFacts:
    """The facts of a table, whose rows of weight zero do not count."""
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
    """The share of categorical cells that have not the most frequent state of their column."""
    cells = most = 0.0
    for column, variable in enumerate(table.schema):
        if variable.is_categorical:
            seen = ~table.missing[:, column]
            states = table.values[seen, column].astype(np.int64)
            count = np.bincount(states, weights=table.row_weights[seen], minlength=1)
            cells, most = cells + float(count.sum()), most + float(count.max())
    return 1 - most / cells if cells else 0.0


def _is_ordered(table: Table) -> bool:
    """Whether the columns next to each other tell much more of each other than others do."""
    columns = len(table.schema)
    if columns < FEW_COLUMNS or not len(table):
        return False
    step = -(-len(table) // MOST_ROWS)
    gain = pair_gains(encode(table.take(slice(None, None, step))), 1.0)
    gain = np.maximum(gain, gain.T)
    beside = float(np.diagonal(gain, 1).mean())
    elsewhere = float(gain[np.triu_indices(columns, 2)].mean())
    return beside > NEIGHBOURS * max(elsewhere, 0.0) and beside > 0
