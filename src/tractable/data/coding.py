"""Columns as they came, turned into the numbers a schema gives their values."""

from collections.abc import Callable

import numpy as np

from tractable.arrays import Bools, Floats
from tractable.data.columns import Column, LabelColumn, NumericColumn
from tractable.data.schema import Variable


def code_column(column: Column, variable: Variable) -> Floats:
    """The column's cells as the variable codes them, NaN where missing. Shape (rows,).

    Raises:
        ValueError: if the variable cannot take a value; the row, the column and the value are named.
    """
    if isinstance(column, LabelColumn):
        return _label_codes(column, variable)
    if variable.kind == "real":
        return column.values
    if variable.kind == "count":
        return _count_codes(column, variable)
    if variable.states == tuple(range(variable.cardinality)):
        return _range_codes(column, variable)
    return _distinct_codes(column, variable)


def _label_codes(column: LabelColumn, variable: Variable) -> Floats:
    if variable.is_categorical and column.states == variable.states:
        return column.values
    codes = np.where(np.isnan(column.values), len(column.states), column.values).astype(np.int64)
    used = np.flatnonzero(np.bincount(codes, minlength=len(column.states) + 1)[:-1])
    code_of = _coder(variable)
    new = np.full(len(column.states) + 1, np.nan)
    for old in used:
        try:
            new[old] = code_of(column.states[old])
        except ValueError as fault:
            raise ValueError(f"row {int(np.argmax(codes == old))}: {fault}") from None
    return new[codes]


def _coder(variable: Variable) -> Callable[[object], float]:
    """The variable's `code`, with the very states looked up rather than searched for."""
    known = {(type(state), state): float(i) for i, state in enumerate(variable.states)}

    def code_of(value: object) -> float:
        found = known.get((type(value), value))  # type: ignore[arg-type]
        return variable.code(value) if found is None else found

    return code_of


def _count_codes(column: NumericColumn, variable: Variable) -> Floats:
    values = column.values
    bad = (values < 0) | (values != np.floor(values)) & column.seen
    _refuse(bad, column, variable)
    return values


def _range_codes(column: NumericColumn, variable: Variable) -> Floats:
    values = column.values
    bad = (values < 0) | (values >= variable.cardinality) | (values != np.floor(values)) & column.seen
    _refuse(bad, column, variable)
    return values


def _refuse(bad: Bools, column: NumericColumn, variable: Variable) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        try:
            variable.code(_plain_number(column.values[row]))
        except ValueError as fault:
            raise ValueError(f"row {row}: {fault}") from None


def _distinct_codes(column: NumericColumn, variable: Variable) -> Floats:
    """The codes of numbers under any states, found once for each distinct number."""
    seen = column.seen
    distinct, index = np.unique(column.values[seen], return_inverse=True)
    codes = np.empty(len(distinct))
    for i, value in enumerate(distinct):
        try:
            codes[i] = _number_code(variable, value)
        except ValueError as fault:
            raise ValueError(f"row {int(np.argmax(column.values == value))}: {fault}") from None
    values = np.full(len(column.values), np.nan)
    values[seen] = codes[index]
    return values


def _number_code(variable: Variable, value: float) -> float:
    """The code of a number: as the integer it may be, otherwise written with a point ("1.0")."""
    try:
        return variable.code(_plain_number(value))
    except ValueError:
        if str(float(value)) in variable.states:
            return variable.code(float(value))
        raise


def _plain_number(value: float) -> int | float:
    return int(value) if value == int(value) else float(value)
