"""A classifier with the exact conditional distribution of a joint model."""

from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tractable.base.arrays import AnyArray, Floats
from tractable.base.progress import Watch
from tractable.data import Names, Schema, Table, Variable, as_table
from tractable.estimators.base import RandomState, TableEstimator, seed_of
from tractable.estimators.choice import (
    CLASS_FAST,
    Candidate,
    LearnerLike,
    Score,
    budget_of,
    estimators_of,
    joint_candidate,
    learner_name,
)
from tractable.estimators.classes import learn_by_class
from tractable.estimators.face import CircuitFace, with_frame
from tractable.estimators.tables import without_columns
from tractable.model import Circuit
from tractable.queries import state_log_probs


class TractableClassifier(ClassifierMixin, CircuitFace):  # type: ignore[misc]
    """Predicts a column by its exact conditional distribution P(target | features) under a joint model.

    Features may be of any kind, including text, and any of them may be missing in training and prediction:
    missing features are summed out. The joint model is `circuit_`, which answers all other queries about the
    table.

    Parameters ---------- learner : str or estimator, default "fast" The name of a learner, such as
    `"learnspn"`, or an estimator with settings, such as `tr.LearnSPN(smoothing=0.5)`. `"fast"` selects the
    one of a few fast learners with the lowest log-loss on held-out rows. `"auto"` is
    `tr.AutoTractable(budget="1m")`, a mixture of models of several learners; the budget is for the whole fit.
    target : str or None The column to predict if it is a column of X, as in `fit(frame)`. If None, call
    `fit(X, y)`. by_class : bool or "auto", default "auto" If True, learn a separate model of the features for
    each class, P(target) P(features | target). If False, learn one model of all columns including the target.
    `"auto"` selects the alternative with the lower log-loss on held-out rows. random_state : int, RandomState
    or None Seed of learning and of the selection of held-out rows.

    Attributes
    ----------
    circuit_ : Circuit
        The joint model of the features and the target.
    classes_ : array
        The states of the target, in the order of the columns of `predict_proba`.
    learner_ : str
        The selected learner, followed by `" by class"` if there is a separate model for each class.
    choice_scores_ : dict
        The negative held-out log-loss of each candidate; empty if there was only one.
    """

    classes_: AnyArray

    def __init__(
        self,
        learner: LearnerLike = "fast",
        target: str | None = None,
        *,
        by_class: bool | Literal["auto"] = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.learner = learner
        self.target = target
        self.by_class = by_class
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
        """Learn a joint model of features and target.

        Parameters ---------- X : data frame, array, dictionary of columns or Table The features; with
        `target=` the whole table, whose rows may lack a class. y : array of shape (rows,) The classes;
        omitted with `target=`. sample_weight : array of shape (rows,), optional The number of rows that each
        row represents. schema : Schema, optional The columns of X and their states; by default inferred. drop
        : name or list of names, optional Columns of X to leave out before they are checked; those of an array
        are called `"x0"`, `"x1"`, ... watch : Watch, optional Reports progress, and can end learning early
        with the best model so far. Its time budget, or that of the learner, is for the whole fit, including
        the selection of a learner and all classes.
        """
        table = self._table_with_target(X, y, sample_weight, schema, drop)
        last = len(table.schema) - 1
        self.target_ = table.schema[last]
        self.schema_ = table.schema.select(range(last))
        if y is None:
            self.classes_ = np.array(self.target_.states)
        seed = seed_of(self.random_state)
        labels = np.nan_to_num(table.values[:, last], nan=-1.0).astype(np.int64)
        score = Score(_log_probs_of_classes, _labelled)
        self._learn_best(self._candidates(last, seed), table, score, seed, labels=labels, watch=watch)
        self.circuit_ = with_frame(self.circuit_, X)
        return self

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | features) of each class. Shape (rows, classes)."""
        check_is_fitted(self)
        features = self._fitted_table(self._features(X))
        rows = np.column_stack([features.values, np.full(len(features), np.nan)])
        return state_log_probs(self.circuit_.graph, rows, rows.shape[1] - 1)

    def predict_proba(self, X: Any) -> Floats:
        """P(class | features) of each class, exact under the model. Shape (rows, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> AnyArray:
        """The most probable class of each row. Shape (rows,)."""
        best: AnyArray = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy of the predicted classes; with `target=` the true classes are a column of X.

        Rows with a class that does not occur in the training rows count as wrong.

        Raises:
            ValueError: if there are no true classes.
        """
        if y is not None or self.target is None:
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self)
        classes = as_table(X, Schema((self.target_,)), extra="ignore", unseen="missing")
        labelled = ~classes.missing[:, 0] | (classes.unseen_cells > 0)
        if not labelled.any():
            raise ValueError(f"no row has a class in column '{self.target}'")
        features = self._fitted_table(self._features(X)).take(labelled)
        right = self.predict_log_proba(features).argmax(axis=1) == classes.values[labelled, 0]
        weights = None if sample_weight is None else np.asarray(sample_weight)[labelled]
        return float(np.average(right, weights=weights))

    def _table_with_target(
        self, X: Any, y: Any, sample_weight: Any, schema: Schema | None, drop: Names
    ) -> Table:
        """The features and, as the last column, the target."""
        if self.target is None:
            return self._join(X, y, sample_weight, schema, drop)
        if y is not None:
            raise ValueError(
                f"the target is the column '{self.target}' of X: pass either y or target, not both"
            )
        known = schema or (X.schema if isinstance(X, Table) else None)
        kinds = None if known is not None else {self.target: "categorical"}
        whole = as_table(X, known, kinds=kinds, drop=drop)  # type: ignore[arg-type]
        target = whole.schema.column(self.target)
        if not whole.schema[target].is_categorical:
            kind = whole.schema[target].kind
            raise ValueError(f"the target '{self.target}' is {kind}: a classifier needs a categorical target")
        rest = [c for c in range(len(whole.schema)) if c != target]
        features = self._training_table(
            without_columns(X, [self.target]), sample_weight, whole.schema.select(rest), drop=drop
        )
        return _append(features, whole.schema[target], whole.values[:, target])

    def _join(self, X: Any, y: Any, sample_weight: Any, schema: Schema | None, drop: Names) -> Table:
        if y is None:
            raise ValueError("TractableClassifier requires y to be passed, but the target y is None")
        features = self._training_table(X, sample_weight, schema, drop=drop)
        name = str(getattr(y, "name", None) or "target")
        while name in features.schema.names:
            name += "_"
        labels = column_or_1d(y, warn=True)
        check_consistent_length(features.values, labels)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        return _append(features, Variable(name, "categorical", tuple(self.classes_.tolist())), codes)

    def _features(self, X: Any) -> Any:
        """X without the target column, if it is there."""
        return X if self.target is None else without_columns(X, [self.target])

    def _candidates(self, target: int, seed: int) -> list[Candidate]:
        if self.by_class not in (True, False, "auto"):
            raise ValueError(f"by_class must be True, False or 'auto', not {self.by_class!r}")
        estimators = estimators_of(self.learner, seed, CLASS_FAST)
        return [
            _candidate(one, target, by_class)
            for one in estimators
            for by_class in (True, False)
            if self.by_class in ("auto", by_class) and not (self._is_open and _pools(one) and by_class)
        ]

    @property
    def _is_open(self) -> bool:
        """Whether both learner and `by_class` are to be selected."""
        return self.learner == "fast" and self.by_class == "auto"

    def __sklearn_tags__(self) -> Any:
        """The estimator tags of scikit-learn: with `target=` there is no y."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.target is None
        return tags


def _candidate(estimator: TableEstimator, target: int, by_class: bool) -> Candidate:
    if not by_class:
        return joint_candidate(estimator)
    learn = partial(learn_by_class, estimator, target)
    return Candidate(f"{learner_name(estimator)} by class", learn, budget_of(estimator))


def _pools(estimator: TableEstimator) -> bool:
    """Whether the components of a learner share covariances, which a model for each class would not do."""
    return learner_name(estimator) == "gaussian-mixture"


def _labelled(rows: Table) -> Table:
    """The rows with a class."""
    return rows.take(~rows.missing[:, -1])


def _log_probs_of_classes(circuit: Circuit, labelled: Table) -> Floats:
    """The log-probability of each row's class given its features (the negative log-loss). Shape (rows,)."""
    target = len(circuit.schema) - 1
    logs = state_log_probs(circuit.graph, labelled.values, target)
    right: Floats = logs[np.arange(len(labelled)), labelled.values[:, target].astype(np.int64)]
    return right


def _append(features: Table, target: Variable, codes: AnyArray) -> Table:
    """The table with an additional column."""
    schema = Schema((*features.schema, target))
    return Table(schema, np.column_stack([features.values, codes.astype(np.float64)]), features.weights)
