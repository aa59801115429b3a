"""Uncoded columns: numbers, or labels with their states."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import inf, isinf, isnan
from typing import Any, TypeAlias, cast

import numpy as np

from tractable.base.arrays import AnyArray, Bools, Floats
from tractable.data.dates import DAY, Time, iso_text, moment_of, text_moments
from tractable.data.problems import caution
from tractable.data.states import State, plain_value, state_text, type_names

LARGEST_EXACT = 2.0**53  # above this a double no longer tells neighbouring integers apart


@dataclass(frozen=True, slots=True, eq=False)
class NumericColumn:
    """A column of finite numbers, with NaN for missing cells."""

    values: Floats  # (rows,)
    time: Time | None = None  # whether the numbers are days ("date") or seconds ("datetime") since 1970

    @property
    def seen(self) -> Bools:
        """Which cells are not missing. Shape (rows,)."""
        return ~np.isnan(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """A column of states: the position of each cell's state, NaN for missing cells.

    Declared states need not occur in any cell.
    """

    values: Floats  # (rows,)
    states: tuple[State, ...]
    declared: bool = False  # whether the owner listed the states, so that they are not to be interpreted
    ordered: bool = False  # whether the owner said that their order means something
    mixed: tuple[str, ...] = ()  # the types of values, in words, if they were of several and became text

    @property
    def seen(self) -> Bools:
        """Which cells are not missing. Shape (rows,)."""
        return ~np.isnan(self.values)


Column: TypeAlias = NumericColumn | LabelColumn


def numeric_column(values: AnyArray) -> NumericColumn:
    """The column of a numeric array; infinite numbers are reported by `require_finite`."""
    return NumericColumn(np.asarray(values, dtype=np.float64))


def require_finite(name: str, column: Column) -> Column:
    """The column, after a check that it has no infinite numbers.

    Raises:
        ValueError: naming the row of the first infinite number.
    """
    bad = np.isinf(column.values)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        value = f"{column.values[row]:g}"
        hint = f"if it is missing, say na='{value}' or --na={value}"
        raise ValueError(f"column '{name}', row {row}: {value} is not a finite number ({hint})")
    return column


def as_text(column: Column) -> LabelColumn:
    """The column as text that is not parsed."""
    if isinstance(column, NumericColumn):
        column = as_labels(column) if column.time is not None else _number_labels(column)
    text = _merged(column.values, [state_text(state) for state in column.states])
    return replace(sorted_labels(text), declared=True)


def _number_labels(column: NumericColumn) -> LabelColumn:
    distinct, at = np.unique(column.values[column.seen], return_inverse=True)
    codes = np.full(len(column.values), np.nan)
    codes[column.seen] = at
    return LabelColumn(codes, tuple(distinct.tolist()))


def time_column(name: str, values: AnyArray) -> Column:
    """The column of a numpy array of dates or times."""
    import pyarrow as pa

    return arrow_column(name, pa.array(values))


def boolean_column(values: AnyArray) -> LabelColumn:
    """The column of Booleans; NaN for missing cells, if the array can hold them."""
    return LabelColumn(values.astype(np.float64), (False, True), declared=True)


def arrow_column(name: str, array: Any) -> Column:
    """The column of a pyarrow array, chunked or not.

    Raises:
        ValueError: if its type is not numbers, dates, Booleans, text or a dictionary of these.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = array.type
    if types.is_dictionary(kind):
        labels = _dictionary(name, array)
        return LabelColumn(labels.values, labels.states, declared=True, ordered=kind.ordered)
    if types.is_boolean(kind):
        return boolean_column(_arrow_numbers(array.cast(pa.int8())))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return sorted_labels(_dictionary(name, array.cast(pa.large_string()).dictionary_encode()))
    if types.is_decimal(kind) or types.is_null(kind):
        return numeric_column(_arrow_numbers(array.cast(pa.float64())))
    if types.is_integer(kind) or types.is_floating(kind):
        return numeric_column(_arrow_numbers(array))
    if types.is_date(kind):
        return NumericColumn(_arrow_numbers(array.cast(pa.date32()).cast(pa.int32())) * 1.0, "date")
    if types.is_timestamp(kind):
        return _timestamps(name, array)
    raise ValueError(f"column '{name}' holds {kind} values: convert them to numbers or text")


def _timestamps(name: str, array: Any) -> NumericColumn:
    """Times as seconds; those with a time zone are converted to UTC."""
    import pyarrow as pa

    if array.type.tz is not None:
        caution(f"column '{name}' has the time zone {array.type.tz}: its times are converted to UTC")
    micro = array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(pa.int64())
    return NumericColumn(_arrow_numbers(micro) / 1e6, "datetime")


def _arrow_numbers(array: Any) -> AnyArray:
    """The numbers of an arrow array; doubles with NaN for nulls if there are any."""
    import pyarrow as pa

    if not array.null_count:
        return np.asarray(array.to_numpy())
    doubles = array.cast(pa.float64(), safe=False)
    if isinstance(doubles, pa.ChunkedArray):
        return np.asarray(doubles.to_numpy())
    return np.asarray(doubles.to_numpy(zero_copy_only=False))  # `fill_null` would import pandas


def _dictionary(name: str, array: Any) -> LabelColumn:
    """The labels of a dictionary-encoded arrow array, in the order of its dictionary."""
    import pyarrow as pa

    whole = array.unify_dictionaries().combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(whole, pa.ChunkedArray):  # a chunked array without rows has no chunk to hand out
        return LabelColumn(np.empty(0), ())
    states = tuple(_state(name, s) for s in whole.dictionary.to_pylist())
    return LabelColumn(_arrow_numbers(whole.indices).astype(np.float64), states)


def sorted_labels(labels: LabelColumn) -> LabelColumn:
    """The column with its states in sorted order."""
    order = sorted(range(len(labels.states)), key=lambda i: labels.states[i])
    rank = np.empty(len(order) + 1)
    rank[order] = np.arange(len(order))
    rank[-1] = np.nan
    at = np.where(np.isnan(labels.values), len(order), labels.values).astype(np.int64)
    return replace(labels, values=rank[at], states=tuple(labels.states[i] for i in order))


def declared_labels(codes: AnyArray, categories: Iterable[object], ordered: bool = False) -> LabelColumn:
    """The column of a categorical series: codes with -1 for missing cells, and the ordered categories."""
    plain = map(plain_value, categories)
    states = [c if isinstance(c, str | int | float | bool) else str(c) for c in plain]
    labels = _of_one_type(np.where(codes < 0, np.nan, codes), states)
    return replace(labels, declared=True, ordered=ordered)


def _of_one_type(codes: Floats, values: Sequence[State | date]) -> LabelColumn:
    """The labels with some values, which become texts if their types differ, and are merged if equal."""
    types = type_names(values)
    if len(types) == 1:
        return _merged(codes, cast("Sequence[State]", values))
    return replace(_merged(codes, [state_text(v) for v in values]), mixed=tuple(types))


def _merged(codes: Floats, states: Sequence[State]) -> LabelColumn:
    """The labels with states of which equal ones are merged."""
    position = {state: code for code, state in enumerate(dict.fromkeys(states))}
    new = np.array([*(position[state] for state in states), np.nan])
    at = np.where(np.isnan(codes), len(states), codes).astype(np.int64)
    return LabelColumn(new[at], tuple(position))


def as_times(column: Column) -> NumericColumn | None:
    """The column as dates or times: its own, or those that all its texts represent; otherwise None."""
    if isinstance(column, NumericColumn):
        return None if column.time is None else column
    if column.declared or not all(isinstance(state, str) for state in column.states):
        return None
    moments = text_moments(column.states)  # type: ignore[arg-type]
    if moments is None:
        return None
    at = np.where(column.seen, column.values, len(moments)).astype(np.int64)
    return NumericColumn(np.append(moments, np.nan)[at], "datetime")


def as_labels(column: NumericColumn) -> LabelColumn:
    """The labels of a column of dates: their ISO texts in order, without times if all are at midnight."""
    assert column.time is not None
    distinct, at = np.unique(column.values[column.seen], return_inverse=True)
    codes = np.full(len(column.values), np.nan)
    codes[column.seen] = at
    unit = 1.0 if column.time == "date" else DAY
    days = column.time == "date" or not (distinct % DAY).any()
    texts = (iso_text(value / unit, "date") if days else iso_text(value, "datetime") for value in distinct)
    return LabelColumn(codes, tuple(texts))


def object_column(name: str, cells: Sequence[object]) -> Column:
    """The column of any Python values: numeric if all are numbers, otherwise labels in sorted order.

    Raises:
        ValueError: if a cell is not text, a number or a Boolean.
    """
    import pyarrow as pa

    if any(isinstance(cell, np.datetime64) for cell in cells):  # which crash pyarrow beside other scalars
        cells = [plain_value(cell) for cell in cells]
    try:
        array = pa.array(cells, from_pandas=True)
        if pa.types.is_temporal(array.type) and not _are_times(cells):  # pyarrow takes a number for a moment
            return _mixed_labels(name, cells)
        return arrow_column(name, array)
    except (pa.ArrowException, OverflowError, TypeError):
        return _mixed_times(cells) or _all_numbers(cells) or _mixed_labels(name, cells)


def _mixed_times(cells: Sequence[object]) -> NumericColumn | None:
    """The column of dates and times together, or None if there are other values."""
    if not _are_times(cells):
        return None
    moments = [None if is_missing(cell) else moment_of(cell) for cell in cells]
    return NumericColumn(np.array(moments, dtype=np.float64), "datetime")


def _are_times(cells: Sequence[object]) -> bool:
    return all(isinstance(cell, date) or is_missing(cell) for cell in cells)


def _all_numbers(cells: Sequence[object]) -> NumericColumn | None:
    """The column of numbers for which arrow has no common type, or None if there are other values."""
    plain = [np.nan if is_missing(cell) else plain_value(cell) for cell in cells]
    if not all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in plain):
        return None
    return numeric_column(np.array([_double(cell) for cell in plain]))


def _double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number of Python that no double can hold
        return inf if number > 0 else -inf


def _mixed_labels(name: str, cells: Sequence[object]) -> LabelColumn:
    """The column of values of several types, in sorted order."""
    position: dict[tuple[type, State | date], int] = {}
    codes = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if is_missing(cell):
            continue
        value = plain_value(cell)
        state = value if isinstance(value, date) else _state(name, value, row)
        codes[row] = position.setdefault((type(state), state), len(position))
    return sorted_labels(_of_one_type(codes, [value for _, value in position]))


def _is_state(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def is_missing(value: object) -> bool:
    """Whether a Python value stands for a missing cell."""
    return (
        value is None
        or (isinstance(value, float) and isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    )


def _state(name: str, value: Any, row: int | None = None) -> State:
    if not _is_state(value):
        where = f"column '{name}'" if row is None else f"column '{name}', row {row}"
        raise ValueError(f"{where}: {value!r} is not text, a number or a Boolean")
    if isinstance(value, float) and isinf(value):
        raise ValueError(f"column '{name}', row {row}: {value} is not a finite number")
    state: State = value
    return state
