"""Any table a user may hold -> `Table`."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tractable.arrays import AnyArray, Bools, Floats
from tractable.data.caution import caution
from tractable.data.coding import code_column
from tractable.data.columns import Column, NumericColumn
from tractable.data.frame import Frame, frame_of
from tractable.data.infer import check_kinds, schema_of
from tractable.data.schema import Kind, Schema, label_text
from tractable.data.table import Table

Weights: TypeAlias = str | Sequence[float] | AnyArray


Unseen: TypeAlias = Literal["error", "missing"]
Strictness: TypeAlias = Literal["error", "warn", "ignore"]


def as_table(
    data: object,
    schema: Schema | None = None,
    weights: Weights | None = None,
    *,
    kinds: Mapping[Hashable, Kind] | None = None,
    drop: Iterable[Hashable] = (),
    extra: Strictness = "warn",
    absent: Strictness = "warn",
    unseen: Unseen = "error",
) -> Table:
    """The table that `data` holds: a data frame, an array, a dictionary of columns or a list of rows.

    Under a schema, columns are found by name (by position in an array), and the cells are states as a user
    sees them. `weights` is one number a row, or the name of the column that holds them. Columns in `drop` are
    left out. A column that the schema lacks is ignored (`extra`), one that the data lack is missing in every
    row (`absent`), both with a warning. A state that the schema lacks is an error, or counts as missing
    (`unseen`), and the table says where. Without a schema one is inferred (see `infer_schema`), and `kinds`
    overrules it.

    Raises:
        ValueError: naming the column, the row and the value that do not fit.
    """
    dropped = {label_text(name) for name in drop}
    is_itself = isinstance(data, Table) and weights is None and kinds is None and not dropped
    if is_itself and schema in (None, data.schema):  # type: ignore[attr-defined]
        return data  # type: ignore[return-value]
    if isinstance(data, np.ndarray) and schema is not None and not isinstance(weights, str):
        plain = _plain_table(data, schema, weights)
        if plain is not None:
            return plain
    whole = frame_of(data)
    weight = _weights(whole, data, weights)
    frame = whole.without(dropped | ({weights} if isinstance(weights, str) else set()))
    if schema is None and isinstance(data, Table) and kinds is None:
        schema = data.schema.select(data.schema.columns(frame.columns))
    elif schema is None:
        schema = schema_of(frame, kinds)
    else:
        _check_against(check_kinds(kinds, frame), schema)
    columns = _match_columns(frame, schema, extra, absent)
    return _coded(columns, frame.rows, schema, weight, unseen)


def _coded(columns: list[Column], rows: int, schema: Schema, weights: Floats | None, unseen: Unseen) -> Table:
    values = np.empty((rows, len(schema)))
    strange: Bools = np.zeros((rows, len(schema)) if unseen == "missing" else (0, 0), dtype=np.bool_)
    for i, (column, variable) in enumerate(zip(columns, schema, strict=True)):
        values[:, i] = code_column(column, variable, lenient=unseen == "missing")
        if unseen == "missing":
            strange[:, i] = np.isnan(values[:, i]) & column.seen
    return Table(schema, values, weights, strange if strange.any() else None)


def _check_against(kinds: Mapping[str, Kind], schema: Schema) -> None:
    """Refuse kinds that are not those of a schema that is given already."""
    for name, kind in kinds.items():
        if name in schema.names and schema[schema.column(name)].kind != kind:
            known = schema[schema.column(name)].kind
            raise ValueError(f"column '{name}' cannot be {kind}: the model or the schema has it as {known}")


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


def _match_columns(frame: Frame, schema: Schema, extra: Strictness, absent: Strictness) -> list[Column]:
    """The frame's columns in the order of the schema."""
    if not frame.named:
        if len(frame.columns) != len(schema):
            raise ValueError(f"the array has {len(frame.columns)} columns, the schema has {len(schema)}")
        return list(frame.columns.values())
    known = set(schema.names)
    more = [name for name in frame.columns if name not in known]
    less = [name for name in schema.names if name not in frame.columns]
    if more and len(less) == len(schema):
        raise ValueError(f"the table has none of the columns {_list(less)}; it has {_list(more)}")
    _tell(more, extra, "of the table is not in the schema", "ignored")
    _tell(less, absent, "is missing from the table", "summed out")
    empty = NumericColumn(np.full(frame.rows, np.nan))
    return [frame.columns.get(name, empty) for name in schema.names]


def _tell(names: list[str], how: Strictness, fault: str, done: str) -> None:
    """Refuse columns, or warn in one line that something is done with them."""
    if not names or how == "ignore":
        return
    if how == "error":
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
        raise ValueError(f"there is no column '{weights}' to take weights from")
    column = frame.columns[weights]
    if not isinstance(column, NumericColumn):
        raise ValueError(f"column '{weights}' holds no numbers to take as weights")
    return column.values
