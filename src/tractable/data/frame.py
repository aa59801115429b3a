"""Any table a user may hold (data frame, array, dictionary, list) as named columns."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from tractable.arrays import AnyArray
from tractable.data.columns import (
    Column,
    LabelColumn,
    NumericColumn,
    arrow_column,
    boolean_column,
    declared_labels,
    numeric_column,
    object_column,
    time_column,
)
from tractable.data.dates import Time
from tractable.data.schema import label_text
from tractable.data.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A table as it came, not coded yet."""

    columns: dict[str, Column]
    rows: int
    named: bool = True  # whether the columns came with names of their own
    labels: Mapping[str, Hashable] = field(default_factory=dict)  # of columns that are not called by a text

    def without(self, names: Collection[str]) -> "Frame":
        """The frame without some columns, which it may lack."""
        kept = {name: column for name, column in self.columns.items() if name not in names}
        return Frame(kept, self.rows, self.named, self.labels)


def frame_of(data: object) -> Frame:
    """The columns of a table of any kind.

    Raises:
        ValueError: if `data` is no table, or a column cannot be read.
    """
    if isinstance(data, Table):
        return _from_table(data)
    if isinstance(data, np.ndarray):
        return _from_array(data)
    if isinstance(data, Mapping):
        return _from_mapping(data)
    if isinstance(data, list | tuple):
        return _from_list(data)
    if isinstance(data, str):
        raise ValueError(f"'{data}' is a text, not a table: read a file with read('{data}')")
    return _from_data_frame(data)


def _from_table(table: Table) -> Frame:
    columns: dict[str, Column] = {}
    for variable, values in zip(table.schema, table.values.T, strict=True):
        if variable.is_categorical:
            columns[variable.name] = LabelColumn(
                values, variable.states, declared=True, ordered=variable.kind == "ordinal"
            )
        else:
            columns[variable.name] = NumericColumn(
                values, cast(Time, variable.kind) if variable.is_time else None
            )
    labels = {v.name: v.label_in_frame[0] for v in table.schema if v.label_in_frame}
    return Frame(columns, len(table), labels=labels)


def _from_array(array: AnyArray) -> Frame:
    if array.ndim != 2:
        raise ValueError(f"a table has two dimensions, rows and columns: this array has {array.ndim}")
    columns = {f"x{i}": array_column(f"x{i}", column) for i, column in enumerate(_transpose(array))}
    return Frame(columns, len(array), named=False)


def _transpose(array: AnyArray) -> AnyArray:
    """A copy with contiguous columns, made in strips: a wide array is slow to walk through by column."""
    columns = np.empty(array.shape[::-1], dtype=array.dtype)
    for start in range(0, len(array), 64):
        columns[:, start : start + 64] = array[start : start + 64].T
    return columns


def array_column(name: str, values: AnyArray) -> Column:
    """The column of a numpy array of one dimension and any type."""
    if values.dtype.kind == "b":
        return boolean_column(values)
    if values.dtype.kind in "iuf":
        return numeric_column(name, values)
    if values.dtype.kind in "OUT":
        return object_column(name, values.tolist())
    if values.dtype.kind == "M":
        return time_column(name, values)
    raise ValueError(f"column '{name}' holds {values.dtype} values: turn them into numbers or text")


def _from_mapping(data: Mapping[Any, Any]) -> Frame:
    columns: dict[str, Column] = {}
    for label, cells in data.items():
        name = label_text(label)
        _refuse_twice(name, columns)
        columns[name] = _sequence_column(name, cells)
    lengths = {name: len(column.values) for name, column in columns.items()}
    rows = next(iter(lengths.values()), 0)
    for name, length in lengths.items():
        if length != rows:
            raise ValueError(f"column '{name}' has {length} rows, the columns before it have {rows}")
    return Frame(columns, rows, labels=_labels(data))


def _refuse_twice(name: str, columns: Collection[str]) -> None:
    if name in columns:  # 1 and "1", say
        raise ValueError(f"two columns are called '{name}'")


def _labels(given: Iterable[Hashable]) -> dict[str, Hashable]:
    """The labels of columns that are no text, by their names."""
    return {label_text(label): label for label in given if not isinstance(label, str)}


def _sequence_column(name: str, cells: Any) -> Column:
    if isinstance(cells, list | tuple):
        return object_column(name, cells)
    array = np.asarray(cells)
    if array.ndim != 1:
        raise ValueError(f"column '{name}' is no list of cells")
    return array_column(name, array)


def _from_list(rows: Sequence[Any]) -> Frame:
    if not rows:
        raise ValueError("the table has no rows")
    if all(isinstance(row, Mapping) for row in rows):
        names = dict.fromkeys(name for row in rows for name in row)
        return _from_mapping({name: [row.get(name) for row in rows] for name in names})
    for i, row in enumerate(rows):
        if not isinstance(row, list | tuple | np.ndarray) or len(row) != len(rows[0]):
            raise ValueError(f"row {i} of the list is no row of {np.size(rows[0])} cells")
    columns = {f"x{i}": object_column(f"x{i}", cells) for i, cells in enumerate(zip(*rows, strict=True))}
    return Frame(columns, len(rows), named=False)


def _from_data_frame(data: Any) -> Frame:
    import narwhals as nw

    try:
        native = nw.from_native(data, pass_through=True)
        native = native.collect() if isinstance(native, nw.LazyFrame) else native
    except nw.exceptions.DuplicateError as fault:
        name = str(fault).partition("'")[2].partition("'")[0]
        raise ValueError(f"two columns are called '{name}'") from None
    if isinstance(native, nw.DataFrame):
        return _from_narwhals(native)
    if hasattr(data, "__array__"):
        return _from_array(np.asarray(data))
    raise ValueError(
        f"a {type(data).__name__} is no table: give a data frame, an array or a dictionary of columns"
    )


def _from_narwhals(frame: Any) -> Frame:
    columns: dict[str, Column] = {}
    for series in frame.iter_columns():
        name = label_text(series.name)
        _refuse_twice(name, columns)
        columns[name] = _series_column(name, series)
    return Frame(columns, len(frame), labels=_labels(frame.columns))


def _series_column(name: str, series: Any) -> Column:
    """The column of a series: categories keep their declared order, all else goes by way of arrow."""
    import narwhals as nw

    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas and its kin; categories of any type
        return declared_labels(np.asarray(native.cat.codes), native.cat.categories, bool(native.cat.ordered))
    if series.dtype == nw.Object:
        return object_column(name, series.to_list())
    if series.dtype == nw.Categorical and series.implementation.is_polars():
        series = series.cast(nw.String)  # its categories are those of the whole process, in order of arrival
    return arrow_column(name, series.to_arrow())
