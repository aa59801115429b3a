"""Tables of any kind as the input of estimators, validated as scikit-learn requires."""

from collections.abc import Collection, Mapping
from os import PathLike
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tractable.base.arrays import Floats
from tractable.data import Kind, Names, Schema, Table, Unseen, as_table, names_of, warn_of_unseen
from tractable.model import Circuit
from tractable.queries import weighted_mean


class CircuitSavingMixin:
    """A mixin that saves the learned circuit."""

    circuit_: Circuit

    def save(self, path: str | PathLike[str]) -> None:
        """Write the learned circuit to a file, which `tr.load` reads; the suffix selects the format."""
        check_is_fitted(self)
        self.circuit_.save(path)


class TableInputMixin:
    """A mixin for input from data frames, arrays, dictionaries of columns and Tables."""

    unseen: str = "share"
    _dropped: frozenset[str] = frozenset()  # columns that were left out when the model was fitted
    schema_: Schema
    n_features_in_: int
    feature_names_in_: np.ndarray[Any, np.dtype[Any]]

    def _training_table(
        self,
        X: Any,
        sample_weight: Any,
        schema: Schema | None,
        kinds: Mapping[Any, Kind] | None = None,
        drop: Names = (),
    ) -> Table:
        self._dropped = names_of(drop)
        checked = _check_input(self, X, reset=True)
        table = as_table(checked, schema, kinds=kinds, drop=self._dropped)
        if sample_weight is not None:
            table = Table(table.schema, table.values, _check_sample_weight(sample_weight, table.values))
        if not table.total_weight:
            raise ValueError("the rows have no weight")
        if not _has_own_names(X) and hasattr(X, "columns"):
            _remember_names(self, without_columns(X, self._dropped))
        self._remember_columns(table.schema, named=_has_own_names(X), cells=isinstance(checked, np.ndarray))
        return table

    def _fitted_table(self, X: Any) -> Table:
        """X coded with the fitted schema."""
        checked = _check_input(self, X, reset=False)
        return as_table(checked, self.schema_, drop=self._dropped, unseen=self._unseen_policy())

    def _validation_table(self, valid: Any, schema: Schema) -> Table | None:
        """The validation rows, coded with the schema of the training rows."""
        if valid is None:
            return None
        table = as_table(valid, schema, drop=self._dropped, unseen=self._unseen_policy())
        warn_of_unseen(table, "such a cell counts as missing")
        return table

    def _unseen_policy(self) -> Unseen:
        """The treatment of unseen states, after a check of the parameter `unseen`."""
        if self.unseen not in ("share", "error"):
            raise ValueError(f"unseen must be 'share' or 'error', not {self.unseen!r}")
        return "missing" if self.unseen == "share" else "error"

    def _checked(self, X: Any) -> Any:
        """X, or an array of it."""
        return _check_input(self, X, reset=False)

    def _remember_columns(self, schema: Schema, *, named: bool, cells: bool = False) -> None:
        """Set the attributes that scikit-learn does not set for unknown types of tables.

        `x0`, `x1`, ... are not feature names. An array (`cells`) always includes the dropped columns.
        """
        self.n_features_in_ = len(schema) + (len(self._dropped) if cells else 0)
        if not named:
            return
        if schema.names == tuple(f"x{i}" for i in range(len(schema))):
            self.__dict__.pop("feature_names_in_", None)
        else:
            self.feature_names_in_ = np.array(schema.names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """The estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def mean_score(logs: Floats, X: Any, sample_weight: Any) -> float:
    """The weighted mean of one log-probability per row, with the given weights or those of a Table.

    Raises:
        ValueError: if all weights are zero, or the numbers of weights and rows differ.
    """
    weights = (X.weights if isinstance(X, Table) else None) if sample_weight is None else sample_weight
    checked = np.ones(logs.size) if weights is None else _check_sample_weight(weights, logs[:, None])
    if not checked.any():
        raise ValueError("the rows have no weight")
    return weighted_mean(logs, checked)


def without_columns(X: Any, names: Collection[str]) -> Any:
    """A table of any kind without some columns; a table without names is returned unchanged."""
    if isinstance(X, Table):
        return X.select([c for c, own in enumerate(X.schema.names) if own not in names])
    if isinstance(X, Mapping):
        return {key: cells for key, cells in X.items() if str(key) not in names}
    if isinstance(X, list | tuple):
        return [without_columns(row, names) if isinstance(row, Mapping) else row for row in X]
    import narwhals as nw

    if hasattr(X, "iloc") and hasattr(X, "columns"):  # two of its columns may have one name
        return X.iloc[:, [place for place, own in enumerate(X.columns) if str(own) not in names]]
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return X
    return frame.drop([own for own in frame.collect_schema().names() if str(own) in names]).to_native()


def _check_input(estimator: "TableInputMixin", X: Any, *, reset: bool) -> Any:
    """X, or an array of it, after the checks of scikit-learn for names, sizes and types."""
    if _has_own_names(X):
        return X
    if hasattr(X, "columns"):
        return X  # columns are found by name: others are ignored, and absent ones are missing
    cleared = _without_cells(X, estimator._dropped)
    return validate_data(estimator, cleared, reset=reset, dtype=None, ensure_all_finite="allow-nan")


def _remember_names(estimator: TableInputMixin, X: Any) -> None:
    """Let scikit-learn store the feature names of a frame if it knows its type."""
    if len({isinstance(label, str) for label in X.columns}) == 1:
        validate_data(estimator, X, reset=True, skip_check_array=True)


def _without_cells(X: Any, dropped: frozenset[str]) -> Any:
    """An array whose dropped columns are blanked, so that scikit-learn does not reject them."""
    array = np.asarray(X) if dropped else None
    if array is None or array.ndim != 2 or array.dtype.kind != "f":
        return X
    left_out = [f"x{i}" in dropped for i in range(array.shape[1])]
    return np.where(left_out, np.nan, array)


def _has_own_names(X: Any) -> bool:
    """Whether X is a named table of a type unknown to scikit-learn: a Table, a lazy frame or a dictionary."""
    if issparse(X):  # some sparse matrices are dictionaries, too
        return False
    first = X[0] if isinstance(X, list) and X else X
    return isinstance(first, Table | dict) or hasattr(X, "collect")
