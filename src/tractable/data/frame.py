"""Conversion of data frames, arrays, dictionaries and lists to named columns."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from tractable.base.arrays import AnyArray, Floats
from tractable.data.columns import (
    Column,
    LabelColumn,
    NumericColumn,
    arrow_column,
    as_text,
    boolean_column,
    declared_labels,
    numeric_column,
    object_column,
    require_finite,
    time_column,
)
from tractable.data.dates import Time
from tractable.data.missing import NO_MARKS, Marks
from tractable.data.schema import Variable, label_text
from tractable.data.states import did_you_mean
from tractable.data.table import Table


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns of a table to read, and how to interpret their cells."""

    drop: frozenset[str] = frozenset()  # left out before their cells, or how often their name occurs, matter
    only: frozenset[str] | None = None  # all that are read of named columns; None: all
    text: frozenset[str] = frozenset()  # columns that are text, whatever their cells look like
    marks: Marks = NO_MARKS

    def has(self, name: str, named: bool = True) -> bool:
        """Whether a column is read; its name may be merely its position."""
        return name not in self.drop and (self.only is None or name in self.only or not named)


EVERYTHING = Wanted()


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """An uncoded table."""

    columns: dict[str, Column]
    rows: int
    named: bool = True  # whether the columns came with names of their own
    labels: Mapping[str, Hashable] = field(default_factory=dict)  # of columns that are not called by a text
    others: tuple[str, ...] = ()  # columns that were not wanted

    def without(self, names: Collection[str]) -> "Frame":
        """The frame without some columns, which need not exist."""
        kept = {name: column for name, column in self.columns.items() if name not in names}
        return replace(self, columns=kept)


def frame_of(data: object, wanted: Wanted = EVERYTHING) -> Frame:
    """The requested columns of a table of any type.

    Raises:
        ValueError: if `data` is not a table, or a requested column cannot be read.
    """
    if isinstance(data, Table):
        return _from_table(data, wanted)
    if isinstance(data, np.ndarray):
        return _from_array(data, wanted)
    if isinstance(data, Mapping):
        return _from_mapping(data, wanted)
    if isinstance(data, list | tuple):
        return _from_list(data, wanted)
    if isinstance(data, str):
        raise ValueError(f"'{data}' is text, not a table: read a file with read('{data}')")
    return _from_data_frame(data, wanted)


Cells: TypeAlias = tuple[Hashable, Callable[[str], Column]]  # what a column is called, and how it is made


def _read(cells: Iterable[Cells], wanted: Wanted, *, named: bool = True, others: Iterable[str] = ()) -> Frame:
    """The frame of the requested columns; the number of rows is that of the first column."""
    every = [(label_text(label), label, make) for label, make in cells]
    left_out = [*others, *(name for name, _, _ in every if not wanted.has(name, named))]
    if wanted.only is None:
        require_names([*left_out, *(name for name, _, _ in every)], wanted.drop, wanted.text)
    columns: dict[str, Column] = {}
    labels: dict[str, Hashable] = {}
    for name, label, make in every:
        if not wanted.has(name, named):
            continue
        if name in columns:  # 1 and "1", say
            raise ValueError(f"two columns are called '{name}'")
        if not isinstance(label, str):
            labels[name] = label
        column = require_finite(name, wanted.marks.clear(make(name)))
        columns[name] = as_text(column) if name in wanted.text else column
    rows = len(next(iter(columns.values())).values) if columns else 0
    return Frame(columns, rows, named, labels, tuple(dict.fromkeys(left_out)))


def require_names(names: Collection[str], drop: frozenset[str], text: frozenset[str]) -> None:
    """Refuse columns to drop, or to read as text, that do not exist.

    Raises:
        ValueError: naming the first one and the most similar existing name.
    """
    for asked, what in ((drop, "to leave out"), (text, "to be text")):
        for name in sorted(asked - set(names)):
            raise ValueError(f"there is no column '{name}' {what}{did_you_mean(name, names)}")


def _from_table(table: Table, wanted: Wanted) -> Frame:
    cells = [
        (v.heading, partial(_column_of, v, x)) for v, x in zip(table.schema, table.values.T, strict=True)
    ]
    return replace(_read(cells, wanted), rows=len(table))


def _column_of(variable: Variable, values: Floats, name: str) -> Column:
    if variable.is_categorical:
        return LabelColumn(values, variable.states, declared=True, ordered=variable.kind == "ordinal")
    return NumericColumn(values, cast(Time, variable.kind) if variable.is_time else None)


def _from_array(array: AnyArray, wanted: Wanted) -> Frame:
    if array.ndim != 2:
        raise ValueError(
            f"a table must have two dimensions, rows and columns, but this array has {array.ndim}"
        )
    cells = [(f"x{i}", partial(array_column, values=column)) for i, column in enumerate(_transpose(array))]
    return replace(_read(cells, wanted, named=False), rows=len(array))


def _transpose(array: AnyArray) -> AnyArray:
    """A copy with contiguous columns, made in strips because strided access to a wide array is slow."""
    columns = np.empty(array.shape[::-1], dtype=array.dtype)
    for start in range(0, len(array), 64):
        columns[:, start : start + 64] = array[start : start + 64].T
    return columns


def array_column(name: str, values: AnyArray) -> Column:
    """The column of a numpy array of one dimension and any type."""
    if values.dtype.kind == "b":
        return boolean_column(values)
    if values.dtype.kind in "iuf":
        return numeric_column(values)
    if values.dtype.kind in "OUT":
        return object_column(name, values.tolist())
    if values.dtype.kind == "M":
        return time_column(name, values)
    raise ValueError(f"column '{name}' holds {values.dtype} values: convert them to numbers or text")


def _from_mapping(data: Mapping[Any, Any], wanted: Wanted) -> Frame:
    frame = _read(((label, partial(_sequence_column, cells=cells)) for label, cells in data.items()), wanted)
    for name, column in frame.columns.items():
        if len(column.values) != frame.rows:
            rows = len(column.values)
            raise ValueError(f"column '{name}' has {rows} rows, but the columns before it have {frame.rows}")
    return frame


def _sequence_column(name: str, cells: Any) -> Column:
    if isinstance(cells, list | tuple):
        return object_column(name, cells)
    array = np.asarray(cells)
    if array.ndim != 1:
        raise ValueError(f"column '{name}' is not a list of cells")
    return array_column(name, array)


def _from_list(rows: Sequence[Any], wanted: Wanted) -> Frame:
    if not rows:
        raise ValueError("the table has no rows")
    if all(isinstance(row, Mapping) for row in rows):
        names = dict.fromkeys(name for row in rows for name in row)
        return _from_mapping({name: [row.get(name) for row in rows] for name in names}, wanted)
    for i, row in enumerate(rows):
        if not isinstance(row, list | tuple | np.ndarray) or len(row) != len(rows[0]):
            raise ValueError(f"row {i} of the list is not a row of {np.size(rows[0])} cells")
    columns = enumerate(zip(*rows, strict=True))
    cells = [(f"x{i}", partial(object_column, cells=column)) for i, column in columns]
    return replace(_read(cells, wanted, named=False), rows=len(rows))


def _from_data_frame(data: Any, wanted: Wanted) -> Frame:
    import narwhals as nw

    others = _unwanted(data, wanted)
    try:
        native = nw.from_native(_without(data, others), pass_through=True)
        native = native.collect() if isinstance(native, nw.LazyFrame) else native
    except nw.exceptions.DuplicateError as fault:
        name = str(fault).partition("'")[2].partition("'")[0]
        raise ValueError(f"two columns are called '{name}'") from None
    if isinstance(native, nw.DataFrame):
        series = ((one.name, partial(_series_column, series=one)) for one in native.iter_columns())
        return replace(_read(series, wanted, others=others.values()), rows=len(native))
    if hasattr(data, "__array__"):
        return _from_array(np.asarray(data), wanted)
    raise ValueError(
        f"a {type(data).__name__} is not a table: pass a data frame, an array or a dictionary of columns"
    )


def _unwanted(data: Any, wanted: Wanted) -> dict[int, str]:
    """The positions of columns of a frame that are not requested, whose names may be duplicates."""
    is_pandas = hasattr(data, "iloc") and hasattr(data, "columns")
    labels = data.columns if is_pandas else getattr(data, "column_names", ())
    names = list(map(label_text, labels))
    if names and wanted.only is None:
        require_names(names, wanted.drop, wanted.text)
    return {place: name for place, name in enumerate(names) if not wanted.has(name)}


def _without(data: Any, places: Collection[int]) -> Any:
    """A frame of pandas or pyarrow without the columns at some positions."""
    if not places:
        return data
    if hasattr(data, "iloc"):
        return data.iloc[:, [i for i in range(data.shape[1]) if i not in places]]
    return data.select([i for i in range(data.num_columns) if i not in places])


def _series_column(name: str, series: Any) -> Column:
    """The column of a series: categories keep their declared order, other types are converted by arrow."""
    import narwhals as nw

    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas and its kin; categories of any type
        return declared_labels(np.asarray(native.cat.codes), native.cat.categories, bool(native.cat.ordered))
    if series.dtype == nw.Object:
        return object_column(name, series.to_list())
    if series.dtype == nw.Categorical and series.implementation.is_polars():
        series = series.cast(nw.String)  # its categories are those of the whole process, in order of arrival
    return arrow_column(name, series.to_arrow())
