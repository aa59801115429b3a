"""Completion of missing cells in the original rows; observed cells are never changed.

Columns that the model lacks, the order of columns, their types and the index of a frame are preserved.
Columns that the rows lack are appended. A column keeps its type unless a completed cell does not fit: a mean
of 2.5 converts integers to doubles, and a text converts other values to text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tractable.base.arrays import AnyArray, Bools, Floats
from tractable.data.columns import is_missing
from tractable.data.output import frame_kind, native_frame, to_frame
from tractable.data.schema import label_text
from tractable.data.states import plain_value, state_text
from tractable.data.table import Table


def fill_cells(rows: Any, table: Table, filled: Floats, like: str, *, narrow: bool = False) -> Any:
    """The rows with values in place of missing cells; frames and arrays keep their type.

    `table` is the rows coded by a model, and `filled` (rows, columns) their completed codes, NaN for cells
    that remain missing. Observed cells with unknown states are preserved. Other types of tables become a
    frame of the kind `like`. In pandas, integers and Booleans with missing cells have a wider type; if
    `narrow`, completed columns are converted back.
    """
    if hasattr(rows, "collect") and not isinstance(rows, Mapping):  # a lazy frame
        rows = rows.collect()
    holes = _holes(table, filled)
    kind = frame_kind(rows)
    if kind == "numpy":
        return _filled_array(np.asarray(rows), table, filled, holes)
    if kind == "pandas":
        return _filled_pandas(rows, table, filled, holes, narrow)
    if kind == "pyarrow":
        return _filled_arrow(rows, table, filled, holes)
    if kind == "polars":
        return _filled_polars(rows, table, filled, holes)
    whole = _filled_arrow(_arrow_of(rows, table), table, filled, holes)
    if like == "numpy":
        return _array_of(whole, table, filled)
    return native_frame(whole, table.schema, like)


def _array_of(whole: Any, table: Table, filled: Floats) -> AnyArray:
    """The model's columns as an array, of objects if some cell has an unknown state."""
    if table.unseen is None:
        array: AnyArray = to_frame(filled, table.schema, like="numpy")
        return array
    array = np.empty(table.values.shape, dtype=object)
    for number, name in enumerate(table.schema.names):
        array[:, number] = whole.column(name).to_pylist()
    return array


def _holes(table: Table, filled: Floats) -> Bools:
    """Which cells get a value. Shape (rows, columns)."""
    holes: Bools = table.missing & ~np.isnan(filled)
    return holes if table.unseen is None else holes & ~table.unseen


def _labels(table: Table, filled: Floats, column: int, like: str) -> Any:
    """The values of a column for a column of a frame."""
    part = to_frame(filled[:, [column]], table.schema.select([column]), like=like)
    return part[part.columns[0]] if like != "pyarrow" else part.column(0)


def _places(names: Iterable[Any], table: Table, holes: Bools) -> Iterator[tuple[int, Any, Bools]]:
    """The number, label (None if absent) and missing cells of each incomplete column."""
    own = {label_text(name): name for name in names}
    for number, variable in enumerate(table.schema):
        if variable.name not in own or holes[:, number].any():
            yield number, own.get(variable.name), holes[:, number]


def _filled_array(array: AnyArray, table: Table, filled: Floats, holes: Bools) -> AnyArray:
    whole = array.copy()
    for row, column in np.argwhere(holes):
        whole[row, column] = table.schema[int(column)].label(filled[row, column])
    return whole


def _filled_pandas(frame: Any, table: Table, filled: Floats, holes: Bools, narrow: bool) -> Any:
    result = frame.copy()
    for number, name, here in _places(frame.columns, table, holes):
        new = _labels(table, filled, number, "pandas").set_axis(frame.index)
        if name is None:
            result[table.schema[number].heading] = new
        else:
            column = _pandas_column(frame[name], new, here)
            result[name] = _narrowed(column, new) if narrow else column
    return result


def _narrowed(column: Any, new: Any) -> Any:
    """A column of pandas as integers or Booleans, if all of its cells are."""
    if (column.dtype.kind, new.dtype.kind) not in (("f", "i"), ("O", "b")) or column.isna().any():
        return column
    narrow = column.astype(new.dtype)
    return narrow if (narrow == column).all() else column


def _pandas_column(own: Any, new: Any, here: Bools) -> Any:
    import pandas as pd

    new = new.astype(object)
    if isinstance(own.dtype, pd.CategoricalDtype):
        more = [x for x in dict.fromkeys(new[here]) if x not in own.cat.categories]
        own = own.cat.add_categories(more)
    elif getattr(own.dtype, "tz", None) is not None:
        new = pd.to_datetime(new, utc=True)
    for kind in (own.dtype, "Float64" if own.dtype.name.startswith(("Int", "UInt")) else object, object):
        try:
            fits = new.where(here).astype(kind)
        except (TypeError, ValueError):
            continue
        return (own if kind == own.dtype else own.astype(kind)).where(~here, fits)
    raise AssertionError("anything is an object")


def _filled_arrow(frame: Any, table: Table, filled: Floats, holes: Bools) -> Any:
    for number, name, here in _places(frame.column_names, table, holes):
        new = _labels(table, filled, number, "pyarrow")
        if name is None:
            frame = frame.append_column(table.schema[number].name, new)
            continue
        place = frame.column_names.index(name)
        column = _arrow_column(frame.column(place), new, here)
        field = frame.schema.field(place)
        frame = frame.set_column(place, field.with_type(column.type), column)
    return frame


def _arrow_column(own: Any, new: Any, here: Bools) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(own.type):
        return new
    if pa.types.is_dictionary(own.type):
        values, fresh = own.to_pylist(), new.to_pylist()
        cells = [b if fill else a for a, b, fill in zip(values, fresh, here, strict=True)]
        return pa.chunked_array([pa.array(cells, type=own.type)])
    for kind in (own.type, pa.float64(), pa.string()):
        try:
            return pc.if_else(pa.array(here), new.cast(kind), own.cast(kind))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    raise AssertionError("anything is a text")


def _filled_polars(frame: Any, table: Table, filled: Floats, holes: Bools) -> Any:
    import polars as pl

    for number, name, here in _places(frame.columns, table, holes):
        column = _labels(table, filled, number, "pyarrow")
        if name is not None:
            own = frame[name].to_arrow()
            column = _arrow_column(own, column, here)
        series = pl.Series(name or table.schema[number].name, column)
        keeps = name is not None and column.type == own.type  # categories are those of the frame
        frame = frame.with_columns(series.cast(frame[name].dtype) if keeps else series)
    return frame


def _arrow_of(rows: Any, table: Table) -> Any:
    """A table, a dictionary of columns or a list of rows as an arrow table; mixed columns become text."""
    import pyarrow as pa

    if isinstance(rows, Table):
        return to_frame(rows, like="pyarrow")
    if isinstance(rows, Mapping):
        columns = {label_text(label): cells for label, cells in rows.items()}
    elif all(isinstance(row, Mapping) for row in rows):
        labels = dict.fromkeys(label for row in rows for label in row)
        columns = {label_text(label): [row.get(label) for row in rows] for label in labels}
    else:
        columns = dict(zip(table.schema.names, zip(*rows, strict=True), strict=True))
    return pa.table({name: _arrow_cells(cells) for name, cells in columns.items()})


def _arrow_cells(cells: Sequence[Any] | AnyArray) -> Any:
    """The cells as an arrow array, in which values of several types are text."""
    import pyarrow as pa

    plain = [plain_value(cell) for cell in cells]
    try:
        return pa.array(plain, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError):
        return pa.array([None if is_missing(cell) else state_text(cell) for cell in plain])
