"""States that training rows did not have.

A model reserves a share of probability for all those states of a categorical column that it has never seen.
The share comes on top of the known states, whose probabilities still add up to one: a cell with such a state
counts as missing, and the row's log-probability is log P(its other cells) plus log(share) for each such cell.
"""

import numpy as np

from tractable.data.caution import caution
from tractable.data.table import Table


def unseen_share(weight: float) -> float:
    """The share that training rows of a total weight leave to unseen states: half a row's worth."""
    return 0.5 / (weight + 1.0)


def warn_of_unseen(table: Table, done: str) -> None:
    """Warn, in one line, of the rows with states that the schema does not have, and say what is done.

    Raises:
        ValueError: if such a state is in an input, which must have a value.
    """
    if table.unseen is None:
        return
    for column in table.schema.inputs[table.unseen[:, table.schema.inputs].any(axis=0)].tolist():
        row = int(table.unseen[:, column].argmax())
        raise ValueError(
            f"column '{table.schema[column].name}', row {row}: the training rows did not have this state, and"
            " an input must have a known one"
        )
    rows = int((table.unseen_cells > 0).sum())
    names = [table.schema[int(column)].name for column in np.flatnonzero(table.unseen.any(axis=0))]
    some = ", ".join(f"'{name}'" for name in names[:4]) + (", ..." if len(names) > 4 else "")
    verb = "row has" if rows == 1 else "rows have"
    caution(f"{rows:,} {verb} states that the training rows did not have (in {some}): {done}")
