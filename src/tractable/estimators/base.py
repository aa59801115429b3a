"""A learner as a scikit-learn estimator: tables of any kind in, a circuit out."""

from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tractable.arrays import Floats
from tractable.data import Schema, Table, as_table, frame_kind
from tractable.learners import Learner
from tractable.model import Circuit
from tractable.progress import Watch
from tractable.settings import settings_of
from tractable.training import provenance, train

RandomState: TypeAlias = int | np.random.RandomState | None


class TableEstimator(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """What all estimators of joint distributions share; `estimator_class` makes the classes of learners.

    A class names its learner and has a constructor parameter for each of the learner's settings, with the
    same default, and `random_state`.
    """

    _learner: ClassVar[type[Learner]]

    random_state: RandomState
    circuit_: Circuit
    schema_: Schema
    n_features_in_: int
    feature_names_in_: np.ndarray[Any, np.dtype[Any]]

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        valid: Any = None,
        sample_weight: Any = None,
        schema: Schema | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Learn a circuit from a table.

        Parameters
        ----------
        X : data frame, array, dictionary of columns or Table
            One row an observation. Text states and missing cells are welcome.
        y : ignored
        valid : anything that X may be, optional
            Held-out rows, for learners that choose between models.
        sample_weight : array of shape (rows,), optional
            How many rows each row stands for.
        schema : Schema, optional
            The columns and their states, when they are not to be inferred from X.
        watch : Watch, optional
            Follows the work, and ends it early with the best model so far.
        """
        learner = self._make_learner()
        table = self._training_table(X, sample_weight, schema)
        held_out = None if valid is None else as_table(valid, table.schema)
        seed = int(check_random_state(self.random_state).randint(2**31))
        about = provenance(learner, table, held_out, seed=seed, frame=frame_kind(X))
        trained = train(learner, table, held_out, about, watch)
        self.schema_ = table.schema
        self.circuit_ = trained.circuit
        for name, value in trained.extras.items():
            setattr(self, f"{name}_", value)
        return self

    def score_samples(self, X: Any) -> Floats:
        """The log-probability (or density) of each row; a missing cell is summed out. Shape (rows,)."""
        check_is_fitted(self)
        rows: Floats = self.circuit_.log_prob(as_table(_checked(self, X, reset=False), self.schema_))
        return rows

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-probability (or density) of the rows, in nats; weighted as a Table's rows are."""
        logs = self.score_samples(X)
        return float(np.average(logs, weights=X.weights if isinstance(X, Table) else None))

    def sample(self, n_samples: int = 1, *, random_state: RandomState = None) -> Any:
        """Rows drawn from the distribution, as a frame of the kind that was fitted on."""
        check_is_fitted(self)
        seed = check_random_state(random_state).randint(2**31)
        return self.circuit_.sample(n_samples, random_state=int(seed))

    def _make_learner(self) -> Learner:
        """The learner with this estimator's settings."""
        return self._learner(**{s.name: getattr(self, s.name) for s in settings_of(self._learner)})

    def _training_table(self, X: Any, sample_weight: Any, schema: Schema | None) -> Table:
        table = as_table(_checked(self, X, reset=True), schema)
        if sample_weight is not None:
            table = Table(table.schema, table.values, _check_sample_weight(sample_weight, table.values))
        if not table.total_weight:
            raise ValueError("the rows have no weight")
        _remember_columns(self, X, table.schema)
        return table

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _checked(estimator: TableEstimator, X: Any, *, reset: bool) -> Any:
    """X itself, or an array of it; scikit-learn compares names and sizes, and refuses what it never takes."""
    if _has_own_names(X):
        return X
    if hasattr(X, "columns"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")


def _has_own_names(X: Any) -> bool:
    """Whether X is a named table that scikit-learn knows nothing of: ours, a lazy frame, dictionaries."""
    if issparse(X):  # some sparse matrices are dictionaries, too
        return False
    first = X[0] if isinstance(X, list) and X else X
    return isinstance(first, Table | dict) or hasattr(X, "collect")


def _remember_columns(estimator: TableEstimator, X: Any, schema: Schema) -> None:
    """Set what scikit-learn does not set for tables that it does not know; `x0`, `x1`, ... are no names."""
    estimator.n_features_in_ = len(schema)
    if not _has_own_names(X):
        return
    if schema.names == tuple(f"x{i}" for i in range(len(schema))):
        estimator.__dict__.pop("feature_names_in_", None)
    else:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
