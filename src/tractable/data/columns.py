"""Columns as they come from outside, before any schema: numbers, or labels with their states."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, TypeAlias

import numpy as np

from tractable.arrays import AnyArray, Bools, Floats
from tractable.data.schema import State

LARGEST_EXACT = 2.0**53  # above this a double no longer tells neighbouring integers apart


@dataclass(frozen=True, slots=True, eq=False)
class NumericColumn:
    """A column of finite numbers, NaN where a cell is missing."""

    values: Floats  # (rows,)
    whole: bool = False  # whether the column was made for integers

    @property
    def seen(self) -> Bools:
        """Where a cell is not missing. Shape (rows,)."""
        return ~np.isnan(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """A column of states: the position of each cell's state, NaN where the cell is missing.

    The states may include some that no cell has, when the owner of the column declared them.
    """

    values: Floats  # (rows,)
    states: tuple[State, ...]


Column: TypeAlias = NumericColumn | LabelColumn


def numeric_column(name: str, values: AnyArray) -> NumericColumn:
    """The column of a numeric array.

    Raises:
        ValueError: if a number is infinite, or is an integer too large for a double.
    """
    whole = values.dtype.kind in "iu"
    floats = np.asarray(values, dtype=np.float64)
    bad = np.abs(floats) > LARGEST_EXACT if whole else np.isinf(floats)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        fault = "too large to be kept exactly" if whole else "not a finite number"
        raise ValueError(f"column '{name}', row {row}: {values[row]} is {fault}")
    return NumericColumn(floats, whole)


def boolean_column(values: AnyArray) -> LabelColumn:
    """The column of truth values; NaN where missing, if the array can hold it."""
    return LabelColumn(values.astype(np.float64), (False, True))


def arrow_column(name: str, array: Any) -> Column:
    """The column of a pyarrow array, chunked or not.

    Raises:
        ValueError: if its type is neither numbers, truth values, text nor a dictionary of these.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = array.type
    if types.is_dictionary(kind):
        return _dictionary(name, array)
    if types.is_boolean(kind):
        return boolean_column(_arrow_numbers(array.cast(pa.int8())))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return sorted_labels(_dictionary(name, array.cast(pa.large_string()).dictionary_encode()))
    if types.is_decimal(kind) or types.is_null(kind):
        return numeric_column(name, _arrow_numbers(array.cast(pa.float64())))
    if types.is_integer(kind):
        return NumericColumn(numeric_column(name, _arrow_numbers(array)).values, whole=True)
    if types.is_floating(kind):
        return numeric_column(name, _arrow_numbers(array))
    raise ValueError(f"column '{name}' holds {kind} values: turn them into numbers or text")


def _arrow_numbers(array: Any) -> AnyArray:
    """The numbers of an arrow array; doubles with NaN for nulls where there are any."""
    import pyarrow as pa

    if not array.null_count:
        return np.asarray(array.to_numpy())
    return np.asarray(array.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy())


def _dictionary(name: str, array: Any) -> LabelColumn:
    """The labels of a dictionary-encoded arrow array, in the order of its dictionary."""
    import pyarrow as pa

    whole = array.unify_dictionaries().combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(whole, pa.ChunkedArray):  # a chunked array without rows has no chunk to hand out
        return LabelColumn(np.empty(0), ())
    states = tuple(_state(name, s) for s in whole.dictionary.to_pylist())
    return LabelColumn(_arrow_numbers(whole.indices).astype(np.float64), states)


def sorted_labels(labels: LabelColumn) -> LabelColumn:
    """The same column with its states in sorted order; states of different types stay apart."""
    order = sorted(range(len(labels.states)), key=lambda i: _sort_key(labels.states[i]))
    rank = np.empty(len(order) + 1)
    rank[order] = np.arange(len(order))
    rank[-1] = np.nan
    at = np.where(np.isnan(labels.values), len(order), labels.values).astype(np.int64)
    return LabelColumn(rank[at], tuple(labels.states[i] for i in order))


def _sort_key(state: State) -> tuple[str, State]:
    return ("", state) if isinstance(state, int | float) else (type(state).__name__, state)


def declared_labels(codes: AnyArray, categories: Iterable[object]) -> LabelColumn:
    """The labels of a categorical series: codes with -1 for missing, and the categories in their order."""
    plain = [_plain(c) for c in categories]
    states = tuple(c if isinstance(c, str | int | float | bool) else str(c) for c in plain)
    return LabelColumn(np.where(codes < 0, np.nan, codes).astype(np.float64), states)


def object_column(name: str, cells: Sequence[object]) -> Column:
    """The column of any Python values: numbers if all are, otherwise labels in sorted order.

    Raises:
        ValueError: if a cell is neither text, a number nor a truth value.
    """
    import pyarrow as pa

    try:
        return arrow_column(name, pa.array(cells, from_pandas=True))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return _mixed_labels(name, cells)  # values of several types


def _mixed_labels(name: str, cells: Sequence[object]) -> LabelColumn:
    position: dict[tuple[type, State], int] = {}
    codes = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        value = _plain(cell)
        if _is_missing(value):
            continue
        state = _state(name, value, row)
        codes[row] = position.setdefault((type(state), state), len(position))
    return sorted_labels(LabelColumn(codes, tuple(state for _, state in position)))


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def _is_state(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _is_missing(value: object) -> bool:
    return (
        value is None
        or (isinstance(value, float) and isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    )


def _state(name: str, value: Any, row: int | None = None) -> State:
    if not _is_state(value):
        where = f"column '{name}'" if row is None else f"column '{name}', row {row}"
        raise ValueError(f"{where}: {value!r} is neither text, a number nor a truth value")
    state: State = value
    return state
