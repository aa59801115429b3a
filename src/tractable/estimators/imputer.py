"""An imputer that fills missing cells from their conditional distribution under a joint model."""

from typing import Any, Self

from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from tractable.base.progress import Watch
from tractable.data import Names, Schema, fill_cells, frame_kind, to_frame, warn_of_unseen
from tractable.estimators.base import RandomState, seed_of
from tractable.estimators.choice import LearnerLike
from tractable.estimators.face import CircuitFace
from tractable.queries import impute
from tractable.queries.requirements import require_known
from tractable.queries.sampling import Filling


class TractableImputer(OneToOneFeatureMixin, TransformerMixin, CircuitFace):  # type: ignore[misc]
    """Fills missing cells from a joint model of all columns; known cells are unchanged.

    Columns may be numeric, text and Boolean. The result has the type of X and of its columns, unless
    `set_output` specifies another one.

    Parameters ---------- learner : str or estimator, default "fast" The name of a learner, such as
    `"learnspn"`, or an estimator with settings, such as `tr.LearnSPN(smoothing=0.5)`. `"fast"` selects the
    one of a few fast learners with the highest log-likelihood on held-out rows. `"auto"` is
    `tr.AutoTractable(budget="1m")`, a mixture of models of several learners; the budget is for the whole fit.
    method : "mean", "mpe" or "sample", default "mean" `"mean"` imputes each cell separately, a number by its
    expectation and a category by its most probable state; `"mpe"` uses the jointly most probable values of a
    row, and `"sample"` a random sample of them given the row, which preserves the variance. random_state :
    int, RandomState or None Seed of learning, of the selection of held-out rows and of `"sample"`.

    Attributes
    ----------
    circuit_ : Circuit
        The joint model.
    learner_ : str
        The learner that was used.
    choice_scores_ : dict
        Mean held-out log-likelihood of each candidate; empty if there was only one.
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
        """Learn a joint model of the columns of X, which may have missing cells; `y` is ignored.

        Columns in `drop` are left out. A `watch` reports progress and can end learning early with the best
        model so far. Its time budget, or that of the learner, is for the whole fit.
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
        """The estimator tags of scikit-learn: numeric types are preserved."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
