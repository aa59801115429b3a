"""Which kind each column is, when nobody says so.

- Truth values are categorical with states False and True.
- Text is categorical with its distinct values in sorted order; a column with declared categories (a pandas
  categorical, a polars Enum, an arrow dictionary) keeps all of them, in their order.
- Integers, also those held as floats because cells are missing, are categorical when there are at most
  `MAX_STATES` distinct ones. Otherwise they are counts when none is negative, and real when one is.
- Other floats are real.
- In a table that holds nothing but 0 and 1, every column has the states 0 and 1, also a constant one.
"""

from collections.abc import Mapping

import numpy as np

from tractable.arrays import Floats
from tractable.data.columns import Column, LabelColumn, NumericColumn
from tractable.data.frame import Frame, frame_of
from tractable.data.schema import Kind, Schema, State, Variable

MAX_STATES = 20
_NARROW = 4096  # a range of integers that is counted rather than sorted


def infer_schema(data: object, kinds: Mapping[str, Kind] | None = None) -> Schema:
    """The schema of a table of any kind; `kinds` overrules what its columns look like.

    Raises:
        ValueError: if the table has no rows, a column has no value, or cannot be of the kind asked for.
    """
    return schema_of(frame_of(data), kinds)


def schema_of(frame: Frame, kinds: Mapping[str, Kind] | None = None) -> Schema:
    """The schema of a frame; `infer_schema` says how."""
    chosen = dict(kinds or {})
    for name, kind in chosen.items():
        if name not in frame.columns:
            raise ValueError(f"there is no column '{name}' to be {kind}")
        if kind not in ("categorical", "real", "count"):
            raise ValueError(f"column '{name}' cannot be {kind!r}: a kind is categorical, real or count")
    if not frame.rows:
        raise ValueError("the table has no rows")
    if not frame.columns:
        raise ValueError("the table has no columns")
    if not chosen and all(map(_is_binary, frame.columns.values())):
        return Schema(tuple(Variable(name, "categorical", (0, 1)) for name in frame.columns))
    return Schema(tuple(_variable(name, c, chosen.get(name)) for name, c in frame.columns.items()))


def _is_binary(column: Column) -> bool:
    if not isinstance(column, NumericColumn):
        return False
    zero_or_one = (column.values == 0) | (column.values == 1)
    return bool(zero_or_one.any() and (zero_or_one | np.isnan(column.values)).all())


def _variable(name: str, column: Column, kind: Kind | None) -> Variable:
    if np.isnan(column.values).all() and not (isinstance(column, LabelColumn) and column.states):
        raise ValueError(f"column '{name}' has no value in any row: leave it out, or give a schema")
    if isinstance(column, NumericColumn):
        return _numeric(name, column, kind)
    if kind in (None, "categorical"):
        return Variable(name, "categorical", column.states)
    return Variable(name, kind)  # coding the cells will say which of them is no number


def _numeric(name: str, column: NumericColumn, kind: Kind | None) -> Variable:
    values = column.values[column.seen]
    if kind is None and (values != np.floor(values)).any():
        kind = "real"
    if kind in ("real", "count"):
        return Variable(name, kind)
    states = _distinct(values)
    if kind == "categorical" or len(states) <= MAX_STATES:
        return Variable(name, "categorical", states)
    return Variable(name, "count" if column.whole and values.min() >= 0 else "real")


def _distinct(values: Floats) -> tuple[State, ...]:
    """The distinct values in order, as integers where all of them are whole."""
    if (values != np.floor(values)).any():
        return tuple(np.unique(values).tolist())
    low, high = values.min(), values.max()
    if high - low < _NARROW:
        present = np.flatnonzero(np.bincount((values - low).astype(np.int64)))
        return tuple((present + int(low)).tolist())
    return tuple(np.unique(values).astype(np.int64).tolist())
