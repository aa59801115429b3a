"""An imputer: missing cells by what a joint model expects of them given the cells that are there."""

from typing import Any, Self

from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from tractable.base.progress import Watch
from tractable.data import Names, Schema, fill_cells, frame_kind, to_frame, warn_of_unseen
from tractable.estimators.choice import LearnerLike
from tractable.estimators.face import CircuitFace
from tractable.estimators.seeds import RandomState, seed_of
from tractable.queries import impute
from tractable.queries.requirements import require_known
from tractable.queries.sampling import Filling


class TractableImputer(OneToOneFeatureMixin, TransformerMixin, CircuitFace):  # type: ignore[misc]
    """Fills missing cells from a joint model of all columns; cells that are there stay as they are.

    Columns may be numbers, text and truth values. The result is of the kind of X, with the types of its
    columns, unless `set_output` asks for another one.

    Parameters
    ----------
    learner : str or estimator, default "fast"
        The name of a learner, such as `"learnspn"`, or an estimator with settings, such as
        `tr.LearnSPN(smoothing=0.5)`. `"fast"` takes the one of a few fast learners that has the highest
        log-likelihood on held-out rows. `"auto"` is `tr.AutoTractable(budget="1m")`, a mixture of models of
        several learners; the minute is for everything together.
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
        self, learner: LearnerLike = "fast", *, method: Filling = "mean", random_state: RandomState = None
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
        drop: Names = (),
        watch: Watch | None = None,
    ) -> Self:
        """Learn a joint model of the columns of X, whose cells may be missing; `y` is ignored.

        Columns in `drop` are left out. A `watch` follows the work and ends it early, with the best model so
        far. Its time budget, or that of the learner, is for everything together.
        """
        require_known(self.method, Filling)
        self._fit_joint(self._training_table(X, sample_weight, schema, drop=drop), X, watch)
        return self

    def transform(self, X: Any) -> Any:
        """X with its missing cells filled."""
        check_is_fitted(self)
        checked = self._checked(X)
        table = self._fitted_table(X)
        warn_of_unseen(table, "such a cell counts as missing, and stays")
        seed = seed_of(self.random_state)
        filled = impute(self.circuit_.graph, table.values, method=self.method, seed=seed)
        asked = _get_output_config("transform", self)["dense"]
        if asked == "default" or asked == frame_kind(checked):
            return fill_cells(checked, table, filled, self.circuit_.about["frame"])
        return to_frame(filled, self.schema_, like=asked)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: the type of the numbers is kept."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
