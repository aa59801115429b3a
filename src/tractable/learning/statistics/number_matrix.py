"""The rows of a table as numbers, for learners that compare lengths and angles."""

from typing import Literal, NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.data import Table, Variable

FAR = 5.0  # standard deviations
States = Literal["numbers", "indicators"]


class NumberMatrix(NamedTuple):
    """Weighted rows of numbers; several of them may describe one column, such as indicators of its states."""

    values: Floats  # (rows, numbers)
    weights: Floats  # (rows,)
    owner: Ints  # (numbers,) the column that each number describes, ascending
    columns: int

    def part(self, rows: Ints, columns: Ints) -> "NumberMatrix":
        """Some of the rows and of the columns, which are numbered anew."""
        place = np.full(self.columns, -1, dtype=np.int64)
        place[columns] = np.arange(columns.size)
        owner = place[self.owner]
        kept = owner >= 0
        values = self.values[rows] if kept.all() else self.values[np.ix_(rows, np.flatnonzero(kept))]
        return NumberMatrix(values, self.weights[rows], owner[kept], columns.size)


def number_matrix(table: Table, states: States) -> NumberMatrix:
    """The numbers of a table's rows. A missing cell has the mean of its column.

    Numeric columns and states that are numbers or in order are one number each. Other states are indicators,
    one for each state; with `states="indicators"` all states are.
    """
    parts = [_numbers(table, column, states) for column in range(len(table.schema))]
    sizes = [part.shape[1] for part in parts]
    values = np.concatenate(parts, axis=1) if parts else np.zeros((len(table), 0))
    return NumberMatrix(values, table.row_weights, np.repeat(np.arange(len(parts)), sizes), len(table.schema))


def standardised(matrix: NumberMatrix) -> Floats:
    """The numbers divided by their standard deviations; one that is constant, by its absolute value."""
    share = matrix.weights / matrix.weights.sum()
    mean = share @ matrix.values
    sd = np.sqrt(share @ (matrix.values - mean) ** 2)
    scale = np.where(sd > 1e-9 * np.abs(mean), sd, np.abs(mean))
    return np.asarray(matrix.values / np.where(scale > 0, scale, 1.0))


def _numbers(table: Table, column: int, states: States) -> Floats:
    """The numbers of one column, at most one in size. Shape (rows, numbers)."""
    variable, x = table.schema[column], table.values[:, column]
    seen = ~np.isnan(x)
    if variable.is_categorical and (states == "indicators" or not _has_numbers(variable)):
        codes = np.where(seen, x, 0.0).astype(np.int64)
        answer = (codes[:, None] == np.arange(variable.cardinality)).astype(np.float64)
    elif variable.is_categorical and not variable.has_text_states:
        values = np.array([float(s) for s in variable.states])
        answer = values[np.where(seen, x, 0.0).astype(np.int64)][:, None]
    else:
        answer = np.where(seen, _near_zero(x, seen), 0.0)[:, None]
    answer = answer / (np.abs(answer[seen]).max(initial=0.0) or 1.0)  # squares of huge numbers stay finite
    weight = table.row_weights * seen
    answer[~seen] = weight @ answer / (weight.sum() or 1.0)
    return answer


def _near_zero(x: Floats, seen: Bools) -> Floats:
    """A column, without its mean if all of it is far from zero in units of its standard deviation.

    Next to a large common offset no difference between rows would count: every such column by itself is
    nearly of rank one.
    """
    if not seen.any():
        return x
    unit = float(np.abs(x[seen]).max()) or 1.0  # squares of huge numbers stay finite
    some = x[seen] / unit
    far = max(float(some.min()), -float(some.max())) > FAR * float(some.std())
    return x / unit - some.mean() if far else x


def _has_numbers(variable: Variable) -> bool:
    """Whether the states of a column are numbers, or at least in an order."""
    return variable.kind == "ordinal" or variable.cardinality <= 2 or not variable.has_text_states
