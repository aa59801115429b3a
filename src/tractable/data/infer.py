"""Inference of the kinds of columns.

- Booleans are categorical with states False and True.
- Text is categorical with its distinct values in sorted order, unless all of it is dates of one format.
  A column with declared categories (a pandas categorical, a polars Enum, an arrow dictionary) keeps all of
  them, in their order, and is ordinal if the categories are declared as ordered.
- Dates and times are a `date` if none has a time of day, otherwise a `datetime`.
- Numbers of one or two distinct whole values are categorical. Few distinct values are the states of an
  ordinal column (`_is_few`); whole numbers of many values are integers, and other numbers are real. It makes
  no difference whether whole numbers are stored as integers or as floats. A column is a count only on
  request.
- In a table of only 0 and 1, every column is categorical with the states 0 and 1, including constant columns.

Suspicious columns get one line of warning each (`suspicion.py`).
"""

from collections.abc import Hashable, Mapping

import numpy as np

from tractable.base.arrays import Floats
from tractable.data.columns import LARGEST_EXACT, Column, LabelColumn, NumericColumn, as_labels, as_times
from tractable.data.dates import DAY, has_zone
from tractable.data.frame import Frame
from tractable.data.problems import caution
from tractable.data.schema import KINDS, Kind, Schema, Variable, label_text
from tractable.data.states import State, did_you_mean
from tractable.data.suspicion import mixed_types, suspicion

MAX_STATES = 20
FEW_STATES = 5  # whole numbers of at most so many values are states, however rarely they repeat
_NARROW = 4096  # a range of integers that is counted rather than sorted


def schema_of(frame: Frame, kinds: Mapping[Hashable, Kind] | None = None) -> Schema:
    """The schema of a frame (see `infer_schema`), with warnings about suspicious columns.

    Raises:
        ValueError: if the table has no rows, a column has no value, or cannot have the requested kind.
    """
    chosen = check_kinds(kinds, frame)
    if not frame.rows:
        raise ValueError("the table has no rows")
    if not frame.columns:
        raise ValueError("the table has no columns")
    if not chosen and all(map(_is_binary, frame.columns.values())):
        variables = [Variable(name, "categorical", (0, 1)) for name in frame.columns]
    else:
        variables = [_variable(name, column, chosen.get(name)) for name, column in frame.columns.items()]
        _warn(variables, frame, chosen)
    return Schema(tuple(_labelled(variable, frame) for variable in variables))


def check_kinds(kinds: Mapping[Hashable, Kind] | None, frame: Frame) -> dict[str, Kind]:
    """The requested kinds of columns, by name.

    Raises:
        ValueError: if a column or a kind is unknown.
    """
    chosen = {label_text(name): kind for name, kind in (kinds or {}).items()}
    for name, kind in chosen.items():
        if name not in frame.columns and name not in frame.others:
            near = did_you_mean(name, frame.columns)
            raise ValueError(f"there is no column '{name}', which should be {kind}{near}")
        if kind not in KINDS:
            raise ValueError(f"column '{name}' cannot be {kind!r}: a kind must be one of {', '.join(KINDS)}")
    return chosen


def _labelled(variable: Variable, frame: Frame) -> Variable:
    if variable.name not in frame.labels:
        return variable
    label = (frame.labels[variable.name],)
    return Variable(variable.name, variable.kind, variable.states, variable.role, label)


def _warn(variables: list[Variable], frame: Frame, chosen: Mapping[str, Kind]) -> None:
    for variable in variables:
        column = frame.columns[variable.name]
        warning = mixed_types(variable, column)
        if warning is None and variable.name not in chosen:
            warning = suspicion(variable, column)
        if warning is not None:
            caution(warning)


def _is_binary(column: Column) -> bool:
    if not isinstance(column, NumericColumn) or column.time is not None:
        return False
    zero_or_one = (column.values == 0) | (column.values == 1)
    return bool(zero_or_one.any() and (zero_or_one | np.isnan(column.values)).all())


def _variable(name: str, column: Column, kind: Kind | None) -> Variable:
    if np.isnan(column.values).all() and not (isinstance(column, LabelColumn) and column.states):
        raise ValueError(f"column '{name}' has no value in any row: leave it out, or provide a schema")
    if kind in ("real", "integer", "count"):
        return Variable(name, kind)  # coding the cells will say which of them is no such number
    times = as_times(column)
    if times is not None and kind not in ("categorical", "ordinal"):
        if isinstance(column, LabelColumn) and any(has_zone(str(state)) for state in column.states[:5]):
            caution(f"column '{name}' has times with a time zone: they are converted to UTC")
        return Variable(name, kind or _time_kind(times))
    if kind in ("date", "datetime"):
        return Variable(name, kind)
    if isinstance(column, LabelColumn):
        return Variable(name, kind or ("ordinal" if column.ordered else "categorical"), column.states)
    if times is not None:
        return Variable(name, kind or "categorical", as_labels(times).states)
    return _numeric(name, column.values[column.seen], kind)


def _time_kind(times: NumericColumn) -> Kind:
    if times.time == "date":
        return "date"
    values = times.values[times.seen]
    return "date" if (values % DAY == 0).all() else "datetime"


def _numeric(name: str, values: Floats, kind: Kind | None) -> Variable:
    if kind is not None:
        return Variable(name, kind, _distinct(values))
    whole = bool((values == np.floor(values)).all())
    if np.abs(values).max() > LARGEST_EXACT:
        return Variable(name, "real")
    most = MAX_STATES if whole else MAX_STATES // 2
    # a few rows show that a column has too many values, so that a long one need not be sorted
    states = () if len(np.unique(values[:1000])) > most else _distinct(values)
    if states and _is_few(values, states, whole):
        return Variable(name, "ordinal" if len(states) > 2 else "categorical", states)
    if not whole:
        return Variable(name, "real")
    return Variable(name, "integer")


def _is_few(values: Floats, states: tuple[State, ...], whole: bool) -> bool:
    """Whether numbers have so few distinct values, and repeat so often, that these are states.

    Whole numbers repeat twice on average, unless there are very few of them. Other numbers repeat ten times,
    take at most half as many values, and have at most two decimals: 0.5, 1.0 and 1.5 are states, but the two
    values of a standardised column are not.
    """
    if whole:
        return len(states) <= MAX_STATES and (len(states) <= FEW_STATES or len(values) >= 2 * len(states))
    few = 1 < len(states) <= MAX_STATES // 2 and len(values) >= 10 * len(states)
    return few and bool((np.round(values, 2) == values).all())


def _distinct(values: Floats) -> tuple[State, ...]:
    """The distinct values in order, as integers where all of them are whole."""
    if (values != np.floor(values)).any() or np.abs(values).max() > LARGEST_EXACT:
        return tuple(np.unique(values).tolist())
    low, high = values.min(), values.max()
    if high - low < _NARROW:
        present = np.flatnonzero(np.bincount((values - low).astype(np.int64)))
        return tuple((present + int(low)).tolist())
    return tuple(np.unique(values).astype(np.int64).tolist())
