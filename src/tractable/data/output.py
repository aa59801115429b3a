"""Conversion of coded rows to the table types of users."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from tractable.base.arrays import AnyArray, Floats
from tractable.data.schema import Schema, Variable
from tractable.data.states import State, state_text, type_names
from tractable.data.table import Table

ANY_KIND = "any"  # nothing is known: pandas where it is installed, otherwise pyarrow


def frame_kind(data: object) -> str:
    """The type of a table ("pandas", "polars", "pyarrow", "numpy", ...), as `to_frame` takes it."""
    if isinstance(data, np.ndarray):
        return "numpy"
    if isinstance(data, Table | dict | list | tuple | str):
        return ANY_KIND
    import narwhals as nw

    native = nw.from_native(_without_columns(data), pass_through=True)
    if isinstance(native, nw.DataFrame):
        return str(native.implementation)
    if isinstance(native, nw.LazyFrame):
        return "polars" if native.implementation.is_polars() else ANY_KIND
    return "numpy" if hasattr(data, "__array__") else ANY_KIND


def _without_columns(data: Any) -> Any:
    """A frame of pandas or pyarrow without its columns, whose names may be duplicates."""
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return data.iloc[:, :0]
    return data.select([]) if hasattr(data, "column_names") and hasattr(data, "num_rows") else data


def to_frame(rows: Table | Floats, schema: Schema | None = None, *, like: str = ANY_KIND) -> Any:
    """The rows as a frame of the kind `like` (see `frame_kind`), with states instead of codes.

    An array has one type for all its columns, the narrowest that can hold them, with NaN (or None) for
    missing cells.

    Raises:
        ValueError: if rows have no schema, or `like` is unknown.
    """
    table = rows if isinstance(rows, Table) else _check_rows(rows, schema)
    if like == "numpy":
        return _array(table)
    return native_frame(_arrow(table), table.schema, like)


def native_frame(frame: Any, schema: Schema, like: str) -> Any:
    """An arrow table as a frame of the given kind; its columns follow the schema, as far as it has them.

    Raises:
        ValueError: if `like` is unknown.
    """
    import narwhals as nw

    kind: Any = like
    if like == ANY_KIND:
        kind = "pandas" if find_spec("pandas") else "pyarrow"
    try:
        frame = frame if kind in ("pyarrow", "polars") else _days_as_times(frame)
        native = nw.from_arrow(frame, backend=kind).to_native()
    except ValueError:
        raise ValueError(f"{like!r} is not a kind of data frame") from None
    return _with_headings(_with_orders(native, schema), schema) if kind == "pandas" else native


def _days_as_times(frame: Any) -> Any:
    """The table with times at midnight instead of dates, which pandas lacks."""
    import pyarrow as pa

    for place, field in enumerate(frame.schema):
        if field.type == pa.date32():
            frame = frame.set_column(place, field.name, frame.column(place).cast(pa.timestamp("us")))
    return frame


def _with_orders(frame: Any, schema: Schema) -> Any:
    """A frame of pandas whose ordinal text columns are ordered categories."""
    ordered = [v for v in schema if v.kind == "ordinal" and v.has_text_states]
    ordered = [v for v in ordered if frame[v.name].dropna().isin(v.states).all()]
    if ordered:
        import pandas as pd

        types = {v.name: pd.CategoricalDtype(list(map(str, v.states)), ordered=True) for v in ordered}
        frame = frame.astype(types)
    return frame


def _with_headings(frame: Any, schema: Schema) -> Any:
    """A frame of pandas whose columns have their original labels of any type."""
    if any(variable.label_in_frame for variable in schema):
        import pandas as pd

        heading = dict(zip(schema.names, schema.headings, strict=True))
        labels = tuple(heading.get(name, name) for name in frame.columns)
        frame.columns = pd.Index(list(labels), tupleize_cols=_all_tuples(labels))
    return frame


def _all_tuples(labels: tuple[Any, ...]) -> bool:
    """Whether labels are those of a hierarchical index."""
    return all(isinstance(label, tuple) for label in labels)


def _check_rows(rows: Floats, schema: Schema | None) -> Table:
    if schema is None:
        raise ValueError("coded rows need a schema")
    return Table(schema, rows)


def _arrow(table: Table) -> Any:
    import pyarrow as pa

    columns = [_arrow_column(v, x) for v, x in zip(table.schema, table.values.T, strict=True)]
    return pa.table(columns, names=list(table.schema.names))


def _arrow_column(variable: Variable, values: Floats) -> Any:
    import pyarrow as pa

    missing = np.isnan(values)
    if variable.kind == "real":
        return pa.array(np.ascontiguousarray(values), mask=missing)
    scale = 1e6 if variable.kind == "datetime" else 1.0
    whole = np.rint(np.where(missing, 0.0, values) * scale).astype(np.int64)
    if variable.kind == "date":
        return pa.array(whole.astype(np.int32), mask=missing).cast(pa.date32())
    if variable.is_numeric:
        numbers = pa.array(whole, mask=missing)
        return numbers.cast(pa.timestamp("us")) if variable.kind == "datetime" else numbers
    return pa.array(_of_one_type(variable.states)).take(pa.array(whole, mask=missing))


def _of_one_type(states: tuple[State, ...]) -> list[Any]:
    """States in a common type: numbers as numbers, mixed types as text."""
    if len(type_names(states)) > 1:
        return [state_text(state) for state in states]
    return [float(s) for s in states] if {type(s) for s in states} == {int, float} else list(states)


def _array(table: Table) -> AnyArray:
    kinds = {_number_type(v) for v in table.schema}
    if object in kinds or (bool in kinds and (len(kinds) > 1 or table.missing.any())):
        return _object_array(table)
    holds_missing = bool(table.missing.any())
    numbers = table.values.copy()
    for i, variable in enumerate(table.schema):
        if variable.is_categorical:
            numbers[:, i] = _look_up(np.array(variable.states, dtype=np.float64), table.values[:, i])
        elif variable.is_whole:
            numbers[:, i] = np.rint(table.values[:, i])
    if float in kinds or holds_missing:
        return numbers
    return numbers.astype(np.bool_ if kinds == {bool} else np.int64)


def _number_type(variable: Variable) -> type:
    """The type of all values of a column: bool, int, float or object."""
    if variable.is_time:
        return object
    if variable.is_numeric:
        return int if variable.is_whole else float
    types = {type(s) for s in variable.states}
    if types <= {int, float}:
        return float if float in types else int
    return bool if types == {bool} else object


def _object_array(table: Table) -> AnyArray:
    cells = np.empty(table.values.shape, dtype=object)
    for i, variable in enumerate(table.schema):
        column = table.values[:, i]
        if variable.is_categorical:
            states = np.empty(variable.cardinality, dtype=object)
            states[:] = variable.states
            cells[:, i] = states[np.nan_to_num(column).astype(np.int64)]
        elif variable.is_time:
            cells[:, i] = [variable.label(code) for code in np.nan_to_num(column)]
        else:
            cells[:, i] = np.rint(column) if variable.is_whole else column
    cells[table.missing] = None
    return cells


def _look_up(states: Floats, codes: Floats) -> Floats:
    return np.where(np.isnan(codes), np.nan, states[np.nan_to_num(codes).astype(np.int64)])
