"""The targets of users: one or several columns of labels of any kind, which may be missing."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets

from tractable.base.arrays import AnyArray, Bools, Floats
from tractable.data import Table, Variable


class Labels(NamedTuple):
    """The target columns by name, and whether the user passed a single column rather than a table."""

    columns: dict[str, AnyArray]  # (rows,) each
    single: bool


class Coded(NamedTuple):
    """Targets as numbers, with NaN for missing or unknown labels."""

    codes: Floats  # (rows, targets)
    unseen: Bools  # (rows, targets) where the label is none that was fitted


def read_labels(Y: Any) -> Labels:
    """The columns of a target or a table of targets; columns of an array are called y0, y1, ...

    Raises:
        ValueError: if it is not a table, or has no columns.
    """
    if isinstance(Y, Table):
        columns = {v.name: _table_column(Y, c) for c, v in enumerate(Y.schema)}
        return Labels(columns, False)
    if isinstance(Y, Mapping):
        return Labels({str(name): np.asarray(cells) for name, cells in Y.items()}, False)
    if hasattr(Y, "columns"):
        import narwhals as nw

        frame = nw.from_native(Y, eager_only=True)
        return Labels({str(name): frame[name].to_numpy() for name in frame.columns}, False)
    array = np.asarray(Y)
    if array.ndim == 2 and array.shape[1] > 1:
        return Labels({f"y{i}": column for i, column in enumerate(array.T)}, False)
    if array.ndim not in (1, 2) or (array.ndim == 2 and not array.shape[1]):
        raise ValueError(f"y should be a column or a table of columns, not an array of shape {array.shape}")
    return Labels({str(getattr(Y, "name", None) or "target"): array.reshape(len(array))}, array.ndim == 1)


def _table_column(table: Table, column: int) -> AnyArray:
    variable = table.schema[column]
    labels = np.array([*variable.states, None], dtype=object)
    codes = np.nan_to_num(table.values[:, column], nan=float(variable.cardinality)).astype(np.int64)
    return labels[codes] if variable.is_categorical else table.values[:, column]


def classes_of(labels: AnyArray, name: str) -> AnyArray:
    """The distinct labels of a column, ascending.

    Raises:
        ValueError: if the column holds real numbers, or labels that cannot be compared, or none at all.
    """
    known = labels[~_missing(labels)]
    if known.dtype.kind == "f":
        assert_all_finite(known, input_name="y")
    if not known.size:
        raise ValueError(f"target '{name}' has no label in any row")
    try:
        if known.dtype.kind != "O":
            check_classification_targets(known)
        classes: AnyArray = np.unique(known)
    except TypeError:
        raise ValueError(f"target '{name}' has labels of different types, which cannot be ordered") from None
    return classes


def code_labels(labels: AnyArray, classes: AnyArray) -> Coded:
    """The index of each label among known classes. Shapes (rows, 1)."""
    missing = _missing(labels)
    number = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([np.nan if gone else number.get(label, -1) for label, gone in
                      zip(labels.tolist(), missing.tolist(), strict=True)], dtype=np.float64)  # fmt: skip
    unseen = codes == -1
    return Coded(np.where(unseen, np.nan, codes)[:, None], unseen[:, None])


def target_variable(name: str, classes: AnyArray, taken: tuple[str, ...]) -> Variable:
    """The column of a target, with a name that no input has."""
    while name in taken:
        name += "_"
    return Variable(name, "categorical", tuple(classes.tolist()))


def _missing(labels: AnyArray) -> Bools:
    """Which labels are missing: None or NaN."""
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    if labels.dtype.kind != "O":
        return np.zeros(labels.shape, dtype=np.bool_)
    return np.array([x is None or x is not x or bool(x != x) for x in labels.tolist()], dtype=np.bool_)  # noqa: PLR0124
