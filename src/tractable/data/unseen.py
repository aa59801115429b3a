"""States that do not occur in the training rows.

A model reserves a share of probability for all unseen states of a categorical column, in addition to the
known states, whose probabilities add up to one. A cell with an unseen state is summed out, and log(share) is
added to the log-probability of the row for each such cell.
"""

import numpy as np

from tractable.data.problems import caution
from tractable.data.table import Table


def unseen_share(weight: float) -> float:
    """The probability reserved for unseen states, given the total weight of the training rows."""
    return 0.5 / (weight + 1.0)


def warn_of_unseen(table: Table, done: str) -> None:
    """Warn in one line of rows with unknown states, and report their treatment.

    Raises:
        ValueError: if such a state is in an input, which must have a value.
    """
    if table.unseen is None:
        return
    for column in table.schema.inputs[table.unseen[:, table.schema.inputs].any(axis=0)].tolist():
        row = int(table.unseen[:, column].argmax())
        raise ValueError(
            f"column '{table.schema[column].name}', row {row}: this state does not occur in the training"
            " rows, and the state of an input must be known"
        )
    rows = int((table.unseen_cells > 0).sum())
    names = [table.schema[int(column)].name for column in np.flatnonzero(table.unseen.any(axis=0))]
    some = ", ".join(f"'{name}'" for name in names[:4]) + (", ..." if len(names) > 4 else "")
    verb = "row has" if rows == 1 else "rows have"
    caution(f"{rows:,} {verb} states that do not occur in the training rows (in {some}): {done}")


# ---- a check of validation tables -----------------------------------------------------------------------


def useful_validation(valid: Table | None) -> Table | None:
    """The validation table, or None, with a warning, if no row of it is informative."""
    if valid is None or len(valid.useful_rows()):
        return valid
    columns = "cell" if valid.schema.targets.size == len(valid.schema) else "target"
    caution(f"the validation table is not used: none of its rows has both a weight and a known {columns}")
    return None
