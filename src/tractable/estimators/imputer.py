"""An imputer: missing cells by what a joint model expects of them given the cells that are there."""

from typing import Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from tractable.arrays import AnyArray, Floats
from tractable.data import Schema, Table, frame_kind, to_frame
from tractable.estimators.base import RandomState
from tractable.estimators.choice import LearnerLike
from tractable.estimators.face import CircuitFace
from tractable.progress import Watch
from tractable.queries import impute
from tractable.queries.requirements import require_known
from tractable.queries.sampling import Filling


class TractableImputer(OneToOneFeatureMixin, TransformerMixin, CircuitFace):  # type: ignore[misc]
    """Fills missing cells from a joint model of all columns; cells that are there stay as they are.

    Columns may be numbers, text and truth values. The result is of the kind of X, with the types of its
    columns, unless `set_output` asks for another one.

    Parameters
    ----------
    learner : str or estimator, default "auto"
        The name of a learner, such as `"learnspn"`, or an estimator with settings, such as
        `tr.LearnSPN(smoothing=0.5)`. `"auto"` takes the one of a few fast learners that has the highest
        log-likelihood on held-out rows.
    method : "mean", "mpe" or "sample", default "mean"
        Each cell by itself, a number by its expectation and a category by its most probable state; the most
        probable values of a row's cells together; or one draw of them given the row, which keeps the spread.
    random_state : int, RandomState or None
        Seed of learning, of the choice of held-out rows and of `"sample"`.

    Attributes
    ----------
    circuit_ : Circuit
        The joint model.
    learner_ : str
        The learner that was used.
    choice_scores_ : dict
        Mean held-out log-likelihood of each candidate; empty where there was only one.
    """

    def __init__(
        self, learner: LearnerLike = "auto", *, method: Filling = "mean", random_state: RandomState = None
    ) -> None:
        self.learner = learner
        self.method = method
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        schema: Schema | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Learn a joint model of the columns of X, whose cells may be missing; `y` is ignored.

        A `watch` follows the work and ends it early, with the best model so far. Its time budget, or that of
        the learner, is for everything together.
        """
        require_known(self.method, Filling)
        self._fit_joint(self._training_table(X, sample_weight, schema), X, watch)
        return self

    def transform(self, X: Any) -> Any:
        """X with its missing cells filled."""
        check_is_fitted(self)
        checked = self._checked(X)
        table = self._fitted_table(X)
        seed = int(check_random_state(self.random_state).randint(2**31))
        filled = impute(self.circuit_.graph, table.values, method=self.method, seed=seed)
        asked = _get_output_config("transform", self)["dense"]
        if isinstance(checked, np.ndarray):
            if asked == "default":
                return _filled_array(checked, table, filled)
            return to_frame(filled, self.schema_, like=asked)
        if hasattr(checked, "columns") and asked in ("default", frame_kind(checked)):
            return _filled_frame(checked, table, filled)
        return to_frame(filled, self.schema_, like=frame_kind(checked) if asked == "default" else asked)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: the type of the numbers is kept."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _filled_array(array: AnyArray, table: Table, filled: Floats) -> AnyArray:
    """A copy of an array with the filled cells in place of the missing ones."""
    whole = array.copy()
    for row, column in np.argwhere(table.missing):
        whole[row, column] = table.schema[int(column)].label(filled[row, column])
    return whole


def _filled_frame(frame: Any, table: Table, filled: Floats) -> Any:
    """A frame of the same kind, in which only columns with holes are new; they keep their types."""
    import narwhals as nw

    kind = frame_kind(frame)
    holes = [int(c) for c in np.flatnonzero(table.missing.any(axis=0))]
    if not holes:
        return frame.copy() if kind == "pandas" else frame
    whole = to_frame(filled[:, holes], table.schema.select(holes), like=kind)
    if kind == "pandas":
        return _filled_pandas(frame, whole)
    if kind == "pyarrow":
        return _filled_arrow(frame, whole)
    before = nw.from_native(frame, eager_only=True)
    new = nw.from_native(whole, eager_only=True)
    return before.with_columns(*(new[name].cast(before[name].dtype) for name in new.columns)).to_native()


def _filled_pandas(frame: Any, whole: Any) -> Any:
    """As `_filled_frame`; the index stays, and so do categories that are declared in an order."""
    import pandas as pd

    result = frame.copy()
    names = {str(name): name for name in frame.columns}
    for name in whole.columns:
        own = frame[names[name]]
        cells = whole[name].astype(object) if own.dtype == object else whole[name]
        new = pd.Series(cells.to_numpy(), index=frame.index, name=own.name).astype(own.dtype)
        result[names[name]] = own.where(own.notna(), new)
    return result


def _filled_arrow(frame: Any, whole: Any) -> Any:
    """As `_filled_frame`; narwhals does not tell one kind of text from another."""
    import pyarrow as pa

    for name in whole.column_names:
        place = frame.column_names.index(name)
        field = frame.schema.field(place)
        frame = frame.set_column(place, field, pa.array(whole[name].to_pylist(), type=field.type))
    return frame
