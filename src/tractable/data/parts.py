"""Parts of dates as additional columns: year, month, day of the week, ..."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.data.columns import as_times
from tractable.data.frame import Wanted, frame_of
from tractable.data.output import frame_kind, to_frame
from tractable.data.schema import Schema, Variable, label_text
from tractable.data.states import did_you_mean
from tractable.data.table import Table

Moments = np.ndarray[Any, np.dtype[np.datetime64]]  # to the second
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _year(when: Moments) -> Ints:
    return when.astype("datetime64[Y]").astype(np.int64) + 1970


def _month(when: Moments) -> Ints:
    return when.astype("datetime64[M]").astype(np.int64) % 12 + 1


def _day(when: Moments) -> Ints:
    return (when.astype("datetime64[D]") - when.astype("datetime64[M]")).astype(np.int64) + 1


def _weekday(when: Moments) -> Ints:
    return (when.astype("datetime64[D]").astype(np.int64) + 3) % 7  # 1970 began on a Thursday


def _hour(when: Moments) -> Ints:
    return (when.astype(np.int64) // 3600) % 24


# how to compute each part, its states, and what is added to a number to make it a code
PARTS: dict[str, tuple[Callable[[Moments], Ints], tuple[str | int, ...], int]] = {
    "year": (_year, (), 0),
    "quarter": (lambda when: (_month(when) + 2) // 3, (1, 2, 3, 4), -1),
    "month": (_month, tuple(range(1, 13)), -1),
    "day": (_day, tuple(range(1, 32)), -1),
    "weekday": (_weekday, WEEKDAYS, 0),
    "hour": (_hour, tuple(range(24)), 0),
}


def date_parts(data: Any, column: Any, parts: Sequence[str] = ("year", "month", "weekday", "hour")) -> Any:
    """The table with parts of a date column as additional columns, called `when_month` and so on.

    `data` is a Table or a frame of any type, and the result has this type. The parts are `year`, `quarter`,
    `month`, `day`, `weekday` (Mon to Sun) and `hour`.

    Raises:
        ValueError: if the column does not hold dates, or a part is unknown.
    """
    for part in parts:
        if part not in PARTS:
            raise ValueError(f"'{part}' is not a part of a date (parts: {', '.join(PARTS)})")
    frame = frame_of(data, Wanted(only=frozenset([label_text(column)])))
    if label_text(column) not in frame.columns:
        near = did_you_mean(column, [*frame.columns, *frame.others])
        raise ValueError(f"there is no column '{column}' to take parts of{near}")
    times = as_times(frame.columns[label_text(column)])
    if times is None:
        raise ValueError(f"column '{column}' does not hold dates")
    seconds = times.values * (86_400.0 if times.time == "date" else 1.0)
    new_columns = [_part(f"{column}_{part}", part, seconds) for part in parts]
    if isinstance(data, Table):
        values = np.column_stack([data.values, *(codes for _, codes in new_columns)])
        return Table(Schema((*data.schema, *(v for v, _ in new_columns))), values, data.weights)
    return _with_columns(
        data, Table(Schema(tuple(v for v, _ in new_columns)), np.column_stack([c for _, c in new_columns]))
    )


def _part(name: str, part: str, seconds: Any) -> tuple[Variable, Any]:
    compute, states, shift = PARTS[part]
    seen = ~np.isnan(seconds)
    codes = np.full(len(seconds), np.nan)
    codes[seen] = compute(np.floor(seconds[seen]).astype(np.int64).astype("datetime64[s]")) + shift
    return Variable(name, "ordinal" if states else "integer", states), codes


def _with_columns(data: Any, more: Table) -> Any:
    """A frame with the columns of a table appended."""
    import narwhals as nw

    kind = frame_kind(data)
    if isinstance(data, dict):
        return {**data, **to_frame(more, like="pyarrow").to_pydict()}
    frame = nw.from_native(data, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise ValueError("parts of dates can be added to data frames, dictionaries of columns and Tables")
    if kind == "pandas":
        return data.assign(**{v.name: _pandas_part(v, x) for v, x in _columns(more)})
    if kind == "pyarrow":
        for v, x in _columns(more):
            data = data.append_column(v.name, _arrow_part(v, x))
        return data
    added = nw.from_native(to_frame(more, like=kind), eager_only=True)
    return frame.with_columns(*added.iter_columns()).to_native()


def _columns(table: Table) -> Iterator[tuple[Variable, Floats]]:
    return zip(table.schema, table.values.T, strict=True)


def _pandas_part(variable: Variable, codes: Floats) -> Any:
    """A column of pandas; names of days are ordered."""
    import pandas as pd

    if variable.has_text_states:
        places = np.nan_to_num(codes, nan=-1.0).astype(np.int64)
        return pd.Categorical.from_codes(places, pd.Index(list(map(str, variable.states))), ordered=True)
    return to_frame(Table(Schema((variable,)), codes[:, None]), like="pandas")[variable.name].to_numpy()


def _arrow_part(variable: Variable, codes: Floats) -> Any:
    """A column of arrow; names of days are a dictionary in their order."""
    import pyarrow as pa

    if not variable.has_text_states:
        return to_frame(Table(Schema((variable,)), codes[:, None]), like="pyarrow").column(0)
    places = pa.array(np.nan_to_num(codes).astype(np.int32), mask=np.isnan(codes))
    return pa.DictionaryArray.from_arrays(places, list(variable.states), ordered=True)
