"""Any table a user may hold -> `Table`."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tractable.arrays import AnyArray, Floats
from tractable.data.coding import code_column
from tractable.data.columns import Column, NumericColumn
from tractable.data.frame import Frame, frame_of
from tractable.data.infer import schema_of
from tractable.data.schema import Kind, Schema
from tractable.data.table import Table

Weights: TypeAlias = str | Sequence[float] | AnyArray


def as_table(
    data: object,
    schema: Schema | None = None,
    weights: Weights | None = None,
    *,
    kinds: Mapping[str, Kind] | None = None,
    extra: Literal["error", "ignore"] = "error",
    partial: bool = False,
) -> Table:
    """The table that `data` holds: a data frame, an array, a dictionary of columns or a list of rows.

    Under a schema, columns are found by name (by position in an array), and the cells are states as a user
    sees them. `weights` is one number a row, or the name of the column that holds them. A column that the
    schema lacks is an error unless `extra="ignore"`; with `partial`, a column that the data lack is missing
    in every row. Without a schema one is inferred (see `infer_schema`).

    Raises:
        ValueError: naming the column, the row and the value that do not fit.
    """
    if isinstance(data, Table) and weights is None and kinds is None and schema in (None, data.schema):
        return data
    if isinstance(data, np.ndarray) and schema is not None and not isinstance(weights, str):
        plain = _plain_table(data, schema, weights)
        if plain is not None:
            return plain
    frame = frame_of(data)
    own = data.weights if isinstance(data, Table) else None
    weight = own if weights is None else _weights(frame, weights)
    if isinstance(weights, str):
        frame = Frame({n: c for n, c in frame.columns.items() if n != weights}, frame.rows, frame.named)
    if schema is None and isinstance(data, Table) and kinds is None:
        schema = data.schema.select(data.schema.columns(frame.columns))
    elif schema is None:
        schema = schema_of(frame, kinds)
    columns = _match_columns(frame, schema, extra, partial)
    values = np.empty((frame.rows, len(schema)))
    for i, (column, variable) in enumerate(zip(columns, schema, strict=True)):
        values[:, i] = code_column(column, variable)
    return Table(schema, values, weight)


def _plain_table(array: AnyArray, schema: Schema, weights: npt.ArrayLike | None) -> Table | None:
    """The table of an array that already holds codes; None where it does not, or where something is wrong.

    A short cut for the common case, a numeric array without names, that looks at no column on its own.
    """
    if array.dtype.kind not in "iufb" or array.shape[1:] != (len(schema),) or not schema.is_plain:
        return None
    values = array.astype(np.float64, order="C")
    low, high = schema.limits
    with np.errstate(invalid="ignore"):
        wrong = (values < low) | (values > high) | (values != np.floor(values)) & (low == 0.0)
    if (wrong & ~np.isnan(values)).any():
        return None
    return Table(schema, values, None if weights is None else np.asarray(weights, dtype=np.float64))


def _match_columns(frame: Frame, schema: Schema, extra: str, partial: bool) -> list[Column]:
    """The frame's columns in the order of the schema."""
    if not frame.named:
        if len(frame.columns) != len(schema):
            raise ValueError(f"the array has {len(frame.columns)} columns, the schema has {len(schema)}")
        return list(frame.columns.values())
    absent = NumericColumn(np.full(frame.rows, np.nan))
    for name in schema.names:
        if not partial and name not in frame.columns:
            raise ValueError(f"column '{name}' is missing from the table")
    known = set(schema.names)
    for name in frame.columns:
        if extra != "ignore" and name not in known:
            raise ValueError(f"column '{name}' of the table is not in the schema")
    return [frame.columns.get(name, absent) for name in schema.names]


def _weights(frame: Frame, weights: Weights) -> Floats:
    if not isinstance(weights, str):
        return np.asarray(weights, dtype=np.float64)
    if weights not in frame.columns:
        raise ValueError(f"there is no column '{weights}' to take weights from")
    column = frame.columns[weights]
    if not isinstance(column, NumericColumn):
        raise ValueError(f"column '{weights}' holds no numbers to take as weights")
    return column.values
