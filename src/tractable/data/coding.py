"""Coding of columns: from the values of a table to the numbers of a schema."""

from collections.abc import Callable

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.data.columns import Column, LabelColumn, NumericColumn, as_labels, as_times
from tractable.data.dates import DAY, iso_text
from tractable.data.problems import caution
from tractable.data.schema import Variable
from tractable.data.states import StateIndex


def code_column(column: Column, variable: Variable, *, lenient: bool = False) -> Floats:
    """The codes of a column's cells under a variable, NaN for missing cells. Shape (rows,).

    If `lenient`, unknown states are NaN as well, and numbers in a column of whole numbers are rounded.

    Raises:
        ValueError: if a value is invalid, naming the row, the column and the value.
    """
    if variable.is_time:
        return _time_codes(column, variable)
    if isinstance(column, NumericColumn) and column.time is not None and variable.is_categorical:
        column = as_labels(column)
    if isinstance(column, LabelColumn):
        return _label_codes(column, variable, lenient and variable.is_categorical)
    if variable.is_whole:
        return _whole_codes(column, variable, lenient)
    if variable.is_numeric:
        return column.values
    if variable.states == tuple(range(variable.cardinality)):
        return _range_codes(column, variable, lenient)
    return _distinct_codes(column, variable, lenient)


def _time_codes(column: Column, variable: Variable) -> Floats:
    """Dates and times in the unit of the variable; plain numbers already have that unit."""
    times = as_times(column)
    if times is None and isinstance(column, LabelColumn):
        return _label_codes(column, variable, lenient=False)
    times = times or column  # type: ignore[assignment]
    assert isinstance(times, NumericColumn)
    if times.time is None or times.time == variable.kind:
        codes = times.values
    else:
        codes = times.values / DAY if variable.kind == "date" else times.values * DAY
    if variable.kind == "date":
        bad = (codes != np.floor(codes)) & times.seen
        if bad.any():
            row = int(np.argmax(bad))
            cell = iso_text(codes[row] * DAY, "datetime")
            raise ValueError(
                f"row {row}: column '{variable.name}' holds dates, but {cell!r} is not a whole day"
            )
    return codes


def _label_codes(column: LabelColumn, variable: Variable, lenient: bool) -> Floats:
    if variable.is_categorical and column.states == variable.states:
        return column.values
    codes = np.where(np.isnan(column.values), len(column.states), column.values).astype(np.int64)
    used = np.flatnonzero(np.bincount(codes, minlength=len(column.states) + 1)[:-1])
    code_of = _coder(variable, lenient)
    new = np.full(len(column.states) + 1, np.nan)
    for old in used:
        try:
            new[old] = code_of(column.states[old])
        except ValueError as fault:
            raise ValueError(f"row {int(np.argmax(codes == old))}: {fault}") from None
    return new[codes]


def _coder(variable: Variable, lenient: bool) -> Callable[[object], float]:
    """The `code` method of a variable with a dictionary of its states; unknown states are NaN if lenient."""
    index = StateIndex(variable.states)

    def code_of(value: object) -> float:
        position = index.find(value)
        if position is not None:
            return float(position)
        return np.nan if lenient else variable.code(value)

    return code_of


def _whole_codes(column: NumericColumn, variable: Variable, lenient: bool) -> Floats:
    """The codes of whole numbers; if lenient, others are rounded with a warning."""
    values = column.values
    broken = (values != np.floor(values)) & column.seen
    negative = (values < 0) & (variable.kind == "count")
    if not lenient:
        _refuse(broken | negative, column, variable)
        return values
    if broken.any():
        caution(
            f"column '{variable.name}' held whole numbers when the model was learned: {int(broken.sum()):,}"
            f" of {len(values):,} cells are rounded; to avoid that, learn it with kinds={{'{variable.name}':"
            " 'real'}"
        )
        values = np.rint(values)
    return np.where(negative, np.nan, values) if negative.any() else values


def _range_codes(column: NumericColumn, variable: Variable, lenient: bool) -> Floats:
    values = column.values
    bad = (values < 0) | (values >= variable.cardinality) | (values != np.floor(values)) & column.seen
    if lenient and bad.any():
        return np.where(bad, np.nan, values)
    _refuse(bad, column, variable)
    return values


def _refuse(bad: Bools, column: NumericColumn, variable: Variable) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        try:
            variable.code(_plain_number(column.values[row]))
        except ValueError as fault:
            raise ValueError(f"row {row}: {fault}") from None


def _distinct_codes(column: NumericColumn, variable: Variable, lenient: bool) -> Floats:
    """The codes of numbers under any states, computed once for each distinct number."""
    seen = column.seen
    distinct, index = np.unique(column.values[seen], return_inverse=True)
    codes = np.full(len(distinct), np.nan)
    code_of = _coder(variable, lenient)
    for i, value in enumerate(distinct):
        try:
            codes[i] = code_of(_plain_number(value))
        except ValueError as fault:
            raise ValueError(f"row {int(np.argmax(column.values == value))}: {fault}") from None
    values = np.full(len(column.values), np.nan)
    values[seen] = codes[index]
    return values


def _plain_number(value: float) -> int | float:
    return int(value) if value == int(value) else float(value)
