"""A learner as a scikit-learn estimator: tables of any kind in, a circuit out."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.base.settings import settings_of
from tractable.data import Kind, Names, Schema, frame_kind
from tractable.estimators.tables import CircuitSavingMixin, TableInputMixin, mean_score
from tractable.learning.joint import Learner
from tractable.learning.training import provenance, train
from tractable.model import Circuit

# ---- conversion of a `random_state` to a seed -----------------------------------------------------------


RandomState: TypeAlias = int | np.random.RandomState | None


def seed_of(random_state: RandomState) -> int:
    """The seed of a `random_state`: an integer is the seed itself; a generator or None draws one.

    Raises:
        ValueError: if it is not a non-negative integer, a RandomState or None.
    """
    if isinstance(random_state, Integral) and 0 <= random_state < 2**64:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


class TableEstimator(CircuitSavingMixin, TableInputMixin, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """The base class of the estimators of joint distributions, which `estimator_class` creates.

    A subclass has a learner and constructor parameters for each of its settings, with the same defaults, and
    for `unseen` and `random_state`.
    """

    _learner: ClassVar[type[Learner]]

    random_state: RandomState
    unseen: str
    circuit_: Circuit

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        valid: Any = None,
        sample_weight: Any = None,
        schema: Schema | None = None,
        kinds: Mapping[Any, Kind] | None = None,
        drop: Names = (),
        watch: Watch | None = None,
    ) -> Self:
        """Learn a circuit from a table.

        Parameters
        ----------
        X : data frame, array, dictionary of columns or Table
            One observation per row. Text states and missing cells are allowed.
        y : ignored
        valid : like X, optional
            Validation rows, for model selection and early stopping.
        sample_weight : array of shape (rows,), optional
            The number of rows that each row represents.
        schema : Schema, optional
            The columns and their states; by default inferred from X.
        kinds : dict, optional
            The kinds of columns by name, such as `{"visits": "count"}`; those of other columns are inferred.
        drop : name or list of names, optional
            Columns to leave out before they are checked; those of an array are called `"x0"`, `"x1"`, ...
        watch : Watch, optional
            Reports progress, and can end learning early with the best model so far.
        """
        learner = self._make_learner()
        table = self._training_table(X, sample_weight, schema, kinds, drop)
        held_out = self._validation_table(valid, table.schema)
        seed = seed_of(self.random_state)
        reserve = self._unseen_policy() == "missing"
        about = provenance(learner, table, held_out, seed=seed, frame=frame_kind(X), reserve=reserve)
        trained = train(learner, table, held_out, about, watch)
        self.schema_ = table.schema
        self.circuit_ = trained.circuit
        for name, value in trained.extras.items():
            setattr(self, f"{name}_", value)
        return self

    def score_samples(self, X: Any) -> Floats:
        """The log-probability (or log-density) of each row; missing cells are summed out. Shape (rows,)."""
        check_is_fitted(self)
        logs: Floats = self.circuit_.log_prob(self._fitted_table(X))
        return logs

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-probability of the rows, in nats; a log-density with `circuit_.density_columns`.

        Rows are weighted by `sample_weight` or, without it, by the weights of a `Table`.
        """
        return mean_score(self.score_samples(X), X, sample_weight)

    def sample(self, n_samples: int = 1, *, random_state: RandomState = None) -> Any:
        """Rows sampled from the distribution, as a frame of the type that was fitted."""
        check_is_fitted(self)
        seed = seed_of(random_state)
        return self.circuit_.sample(n_samples, random_state=seed)

    def _make_learner(self) -> Learner:
        """The learner with this estimator's settings."""
        return self._learner(**{s.name: getattr(self, s.name) for s in settings_of(self._learner)})
