"""Conversion of tables of any type to `Table`."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tractable.base.arrays import AnyArray, Bools, Floats
from tractable.data.coding import code_column
from tractable.data.columns import Column, NumericColumn
from tractable.data.frame import EVERYTHING, Frame, Wanted, frame_of
from tractable.data.infer import check_kinds, schema_of
from tractable.data.missing import Na, read_marks
from tractable.data.problems import caution
from tractable.data.schema import Kind, Schema, label_text
from tractable.data.states import did_you_mean
from tractable.data.table import Table

Weights: TypeAlias = str | Sequence[float] | AnyArray
Names: TypeAlias = Hashable | Iterable[Hashable]  # of one column, or of several

Unseen: TypeAlias = Literal["error", "missing"]
Strictness: TypeAlias = Literal["error", "warn", "ignore"]


def as_table(  # noqa: PLR0913 - what can be said about a table
    data: object,
    schema: Schema | None = None,
    weights: Weights | None = None,
    *,
    kinds: Mapping[Hashable, Kind] | None = None,
    drop: Names = (),
    text: Names = (),
    na: Na = (),
    extra: Strictness = "warn",
    absent: Strictness = "warn",
    unseen: Unseen = "error",
) -> Table:
    """The coded table of a data frame, an array, a dictionary of columns or a list of rows.

    With a schema, columns are matched by name (in an array by position), and cells hold the states of the
    schema. `weights` is one number per row, or the name of the column of weights. Columns in `drop` are left
    out before they are checked, columns in `text` are read as text, and `na` is one or several markers of
    missing cells: texts, numbers, `inf`. Columns that the schema lacks are ignored (`extra`), and those that
    the data lack are missing in every row (`absent`), both with a warning. Unknown states are an error, or
    count as missing (`unseen`), and the table records them. Without a schema one is inferred (see
    `infer_schema`), with the given `kinds`. Without a schema one is inferred (see `schema_of`), and `kinds`
    overrules it.

    Raises:
        ValueError: naming the column, the row and the value that do not fit.
    """
    own = {weights} if isinstance(weights, str) else set()
    wanted = Wanted(
        names_of(drop) - own,
        None if schema is None else frozenset({*schema.names, *own}),
        names_of(text),
        read_marks(na),
    )
    if kinds is None and replace(wanted, only=None) == EVERYTHING:
        ready = _ready_table(data, schema, weights)
        if ready is not None:
            return ready
    whole = frame_of(data, wanted)
    weight = _weights(whole, data, weights)
    frame = whole.without(own)
    if schema is not None:
        _check_against(check_kinds(kinds, frame), schema)
    elif isinstance(data, Table) and kinds is None and replace(wanted, drop=frozenset()) == EVERYTHING:
        schema = data.schema.select(data.schema.columns(frame.columns))
    else:
        schema = schema_of(frame, kinds)
    columns = _match_columns(frame, schema, extra, absent, wanted.drop)
    return _coded(columns, frame.rows, schema, weight, unseen)


def _ready_table(data: object, schema: Schema | None, weights: Weights | None) -> Table | None:
    """The table if it is one already, or an array of codes; otherwise None."""
    if isinstance(data, Table):
        return data if weights is None and schema in (None, data.schema) else None
    if isinstance(data, np.ndarray) and schema is not None and not isinstance(weights, str):
        return _plain_table(data, schema, weights)
    return None


def names_of(columns: Names) -> frozenset[str]:
    """The names of one or several columns, given by any labels."""
    several = isinstance(columns, Iterable) and not isinstance(columns, str)
    return frozenset(map(label_text, columns if several else [columns]))  # type: ignore[arg-type]


def _coded(columns: list[Column], rows: int, schema: Schema, weights: Floats | None, unseen: Unseen) -> Table:
    values = np.empty((rows, len(schema)))
    strange: Bools = np.zeros((rows, len(schema)) if unseen == "missing" else (0, 0), dtype=np.bool_)
    for i, (column, variable) in enumerate(zip(columns, schema, strict=True)):
        values[:, i] = code_column(column, variable, lenient=unseen == "missing")
        if unseen == "missing":
            strange[:, i] = np.isnan(values[:, i]) & column.seen
    return Table(schema, values, weights, strange if strange.any() else None)


def _check_against(kinds: Mapping[str, Kind], schema: Schema) -> None:
    """Refuse kinds that contradict a given schema."""
    for name, kind in kinds.items():
        if name in schema.names and schema[schema.column(name)].kind != kind:
            known = schema[schema.column(name)].kind
            raise ValueError(
                f"column '{name}' cannot be {kind}: its kind in the model or the schema is {known}"
            )


def _plain_table(array: AnyArray, schema: Schema, weights: npt.ArrayLike | None) -> Table | None:
    """The table of an array that already holds codes, or None if it does not or is invalid.

    This is a fast path for numeric arrays without names, which does not process columns separately.
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


def _match_columns(
    frame: Frame, schema: Schema, extra: Strictness, absent: Strictness, dropped: frozenset[str]
) -> list[Column]:
    """The columns of the frame in the order of the schema; dropped columns do not count as extra."""
    if not frame.named:
        if len(frame.columns) != len(schema):
            raise ValueError(f"the array has {len(frame.columns)} columns, but the schema has {len(schema)}")
        return list(frame.columns.values())
    more = [name for name in frame.others if name not in dropped]
    less = [name for name in schema.names if name not in frame.columns]
    if more and len(less) == len(schema):
        raise ValueError(f"the table has none of the columns {_list(less)}; it has {_list(more)}")
    _tell(more, extra, "of the table is not in the schema", "ignored")
    _tell(less, absent, "is missing from the table", "summed out")
    empty = NumericColumn(np.full(frame.rows, np.nan))
    return [frame.columns.get(name, empty) for name in schema.names]


def _tell(names: list[str], strictness: Strictness, fault: str, done: str) -> None:
    """Refuse columns, or warn of them in one line."""
    if not names or strictness == "ignore":
        return
    if strictness == "error":
        raise ValueError(f"column '{names[0]}' {fault}")
    if len(names) == 1:
        caution(f"column '{names[0]}' {fault}: it is {done}")
    else:
        caution(f"{len(names)} columns ({_list(names)}) {fault.replace('is ', 'are ', 1)}: they are {done}")


def _list(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:4]) + (", ..." if len(names) > 4 else "")


def _weights(frame: Frame, data: object, weights: Weights | None) -> Floats | None:
    if weights is None:
        return data.weights if isinstance(data, Table) else None
    if not isinstance(weights, str):
        return np.asarray(weights, dtype=np.float64)
    if weights not in frame.columns:
        near = did_you_mean(weights, frame.columns)
        raise ValueError(f"there is no column '{weights}' for the weights{near}")
    column = frame.columns[weights]
    if not isinstance(column, NumericColumn):
        raise ValueError(f"the weight column '{weights}' does not hold numbers")
    return column.values
