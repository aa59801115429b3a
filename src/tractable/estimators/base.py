"""A learner as a scikit-learn estimator: tables of any kind in, a circuit out."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.base.settings import settings_of
from tractable.data import Kind, Names, Schema, frame_kind
from tractable.estimators.seeds import RandomState, seed_of
from tractable.estimators.tables import CircuitSavingMixin, TableInputMixin, mean_score
from tractable.learning.joint import Learner
from tractable.learning.training import provenance, train
from tractable.model import Circuit


class TableEstimator(CircuitSavingMixin, TableInputMixin, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """What all estimators of joint distributions share; `estimator_class` makes the classes of learners.

    A class names its learner and has a constructor parameter for each of the learner's settings, with the
    same default, `unseen` and `random_state`.
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
            One row an observation. Text states and missing cells are welcome.
        y : ignored
        valid : anything that X may be, optional
            Held-out rows, for learners that choose between models.
        sample_weight : array of shape (rows,), optional
            How many rows each row stands for.
        schema : Schema, optional
            The columns and their states, when they are not to be inferred from X.
        kinds : dict, optional
            The kinds of columns by name, such as `{"visits": "count"}`, where others are inferred.
        drop : name or list of names, optional
            Columns to leave out, before anything of them is checked; of an array `"x0"`, `"x1"`, ...
        watch : Watch, optional
            Follows the work, and ends it early with the best model so far.
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
        """The log-probability (or density) of each row; a missing cell is summed out. Shape (rows,)."""
        check_is_fitted(self)
        logs: Floats = self.circuit_.log_prob(self._fitted_table(X))
        return logs

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-probability of the rows, in nats; of a density where `circuit_.density_columns` are.

        Rows count by `sample_weight` or, without it, by the weights of a `Table`.
        """
        return mean_score(self.score_samples(X), X, sample_weight)

    def sample(self, n_samples: int = 1, *, random_state: RandomState = None) -> Any:
        """Rows drawn from the distribution, as a frame of the kind that was fitted on."""
        check_is_fitted(self)
        seed = seed_of(random_state)
        return self.circuit_.sample(n_samples, random_state=seed)

    def _make_learner(self) -> Learner:
        """The learner with this estimator's settings."""
        return self._learner(**{s.name: getattr(self, s.name) for s in settings_of(self._learner)})
