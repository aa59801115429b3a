"""Tables of any kind as the input of an estimator, checked as scikit-learn wants it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, validate_data

from tractable.arrays import Floats
from tractable.data import Kind, Schema, Table, Unseen, as_table, warn_of_unseen
from tractable.queries import weighted_mean


class TableInputMixin:
    """Reads data frames, arrays, dictionaries of columns and Tables; remembers their columns."""

    unseen: str = "share"
    schema_: Schema
    n_features_in_: int
    feature_names_in_: np.ndarray[Any, np.dtype[Any]]

    def _training_table(
        self, X: Any, sample_weight: Any, schema: Schema | None, kinds: Mapping[Any, Kind] | None = None
    ) -> Table:
        table = as_table(_check_input(self, X, reset=True), schema, kinds=kinds)
        if sample_weight is not None:
            table = Table(table.schema, table.values, _check_sample_weight(sample_weight, table.values))
        if not table.total_weight:
            raise ValueError("the rows have no weight")
        self._remember_columns(table.schema, named=_has_own_names(X))
        return table

    def _fitted_table(self, X: Any) -> Table:
        """X, coded by the schema that was fitted."""
        return as_table(_check_input(self, X, reset=False), self.schema_, unseen=self._unseen_policy())

    def _validation_table(self, valid: Any, schema: Schema) -> Table | None:
        """The held-out rows, coded by the schema of the training rows."""
        if valid is None:
            return None
        table = as_table(valid, schema, unseen=self._unseen_policy())
        warn_of_unseen(table, "such a cell counts as missing")
        return table

    def _unseen_policy(self) -> Unseen:
        """What becomes of a state that the training rows did not have, as the parameter `unseen` says."""
        if self.unseen not in ("share", "error"):
            raise ValueError(f"unseen is 'share' or 'error', not {self.unseen!r}")
        return "missing" if self.unseen == "share" else "error"

    def _checked(self, X: Any) -> Any:
        """X itself, or an array of it."""
        return _check_input(self, X, reset=False)

    def _remember_columns(self, schema: Schema, *, named: bool) -> None:
        """Set what scikit-learn does not set for tables it does not know; `x0`, `x1`, ... are no names."""
        self.n_features_in_ = len(schema)
        if not named:
            return
        if schema.names == tuple(f"x{i}" for i in range(len(schema))):
            self.__dict__.pop("feature_names_in_", None)
        else:
            self.feature_names_in_ = np.array(schema.names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def mean_score(logs: Floats, X: Any, sample_weight: Any) -> float:
    """The mean of one log-probability a row, by the weights given or those of a Table.

    Raises:
        ValueError: if no row has any weight, or there are not as many weights as rows.
    """
    weights = (X.weights if isinstance(X, Table) else None) if sample_weight is None else sample_weight
    checked = np.ones(logs.size) if weights is None else _check_sample_weight(weights, logs[:, None])
    if not checked.any():
        raise ValueError("the rows have no weight")
    return weighted_mean(logs, checked)


def without_column(X: Any, name: str) -> Any:
    """A table of any kind without one column, if it has it; a table without names is returned as it is."""
    if isinstance(X, Table):
        return X.select([c for c, own in enumerate(X.schema.names) if own != name])
    if isinstance(X, Mapping):
        return {key: cells for key, cells in X.items() if str(key) != name}
    if isinstance(X, list | tuple):
        return [without_column(row, name) if isinstance(row, Mapping) else row for row in X]
    import narwhals as nw

    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return X
    return frame.drop([own for own in frame.collect_schema().names() if str(own) == name]).to_native()


def _check_input(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X itself, or an array of it; scikit-learn compares names and sizes, and refuses what it never takes."""
    if _has_own_names(X):
        return X
    if hasattr(X, "columns"):
        if (
            reset and len({isinstance(label, str) for label in X.columns}) == 1
        ):  # scikit-learn knows no others
            validate_data(estimator, X, reset=True, skip_check_array=True)
        return X  # columns are found by name: others are ignored, and absent ones are missing
    return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")


def _has_own_names(X: Any) -> bool:
    """Whether X is a named table that scikit-learn knows nothing of: ours, a lazy frame, dictionaries."""
    if issparse(X):  # some sparse matrices are dictionaries, too
        return False
    first = X[0] if isinstance(X, list) and X else X
    return isinstance(first, Table | dict) or hasattr(X, "collect")
