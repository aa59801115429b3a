"""Conditional learners as scikit-learn estimators of P(targets | inputs)."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tractable.base.arrays import AnyArray, Bools, Floats, Ints
from tractable.base.progress import Watch
from tractable.base.settings import settings_of
from tractable.data import Kind, Names, Schema, Table, frame_kind, warn_of_unseen
from tractable.estimators.base import RandomState, seed_of
from tractable.estimators.decisions import Costs, decide
from tractable.estimators.labels import Labels, classes_of, code_labels, read_labels, target_variable
from tractable.estimators.tables import CircuitSavingMixin, TableInputMixin, mean_score
from tractable.learning.conditional import ConditionalLearner
from tractable.learning.training import provenance, train
from tractable.model import Circuit
from tractable.queries import marginals


class ConditionalEstimator(CircuitSavingMixin, TableInputMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The base class of the estimators of conditional distributions, which the factory creates.

    A subclass has a learner and constructor parameters for each of its settings, with the same defaults, and
    for `unseen` and `random_state`.
    """

    _learner: ClassVar[type[ConditionalLearner]]

    random_state: RandomState
    circuit_: Circuit
    classes_: Any
    n_outputs_: int

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        valid: tuple[Any, Any] | None = None,
        sample_weight: Any = None,
        schema: Schema | None = None,
        kinds: Mapping[Any, Kind] | None = None,
        drop: Names = (),
        watch: Watch | None = None,
    ) -> Self:
        """Learn P(targets | inputs).

        Parameters ---------- X : data frame, array, dictionary of columns or Table The inputs, one
        observation per row, without missing cells. A column with more than two distinct numbers is numeric,
        unless `kinds` or `schema` specify otherwise. y : like X, or a column The targets: one column of
        classes, or several columns of labels or classes, which may be missing (None). valid : tuple (X, y),
        optional Validation rows, for model selection and early stopping. sample_weight : array of shape
        (rows,), optional The number of rows that each row represents. schema : Schema, optional The columns
        of X and their states; by default inferred. kinds : dict, optional The kinds of columns of X by name,
        such as `{"visits": "count"}`; those of other columns are inferred. drop : name or list of names,
        optional Columns of X to leave out before they are checked; those of an array are called `"x0"`,
        `"x1"`, ... watch : Watch, optional Reports progress, and can end learning early with the best model
        so far.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        learner = self._learner(**{s.name: getattr(self, s.name) for s in settings_of(self._learner)})
        features = self._training_table(X, sample_weight, schema, kinds, drop)
        if schema is None and not isinstance(X, Table) and (numbers := _numbers(features, kinds or {})):
            features = self._training_table(X, sample_weight, None, {**numbers, **(kinds or {})}, drop)
        self.schema_ = features.schema
        self._remember_targets(read_labels(y), features)
        table = self._join(features, y)
        held_out = (
            None if valid is None else self._join(self._validation_table(valid[0], self.schema_), valid[1])
        )
        if held_out is not None:
            warn_of_unseen(held_out, "such a cell counts as missing")
        seed = seed_of(self.random_state)
        reserve = self._unseen_policy() == "missing"
        about = provenance(learner, table, held_out, seed=seed, frame=frame_kind(X), reserve=reserve)
        trained = train(learner, table, held_out, about, watch)
        self.circuit_ = trained.circuit
        return self

    def predict(self, X: Any, method: str | Costs = "mpe") -> AnyArray:
        """The targets that minimise a loss. Shape (rows, targets), or (rows,) for one column.

        Parameters ---------- X : as in `fit` The inputs. method : str, or matrices of costs `"mpe"` or
        `"0/1"`: the jointly most probable targets, which minimise the expected 0/1 loss of a row. They are
        exact if the circuit is deterministic (a single tree of `mctbn`) or the targets have few completions;
        otherwise a heuristic search is used, and a warning reports the number of rows without proof of
        optimality. `"exact"` proves optimality, which may take long. `"marginals"` or `"hamming"`: the most
        probable state of each target separately. Exact. Cost matrices, `cost[true, predicted]`, by target, as
        a list, or one for all targets: the predictions of minimum expected cost. Exact. `"f1"`: the set of
        labels with the highest expected F1 score. Exact for up to 10 targets, estimated from 1,000 samples
        for more.
        """
        codes = decide(self._fitted_circuit().graph, self._rows(X), method, self._seed())
        return self._labelled(codes)

    def predict_proba(self, X: Any) -> Any:
        """P(state | inputs) of a target as an array (rows, classes); a list of arrays for several targets."""
        graph = self._fitted_circuit().graph
        posteriors = marginals(graph, self._rows(X))
        every = [np.clip(posteriors[int(c)], 0.0, 1.0) for c in graph.schema.targets]
        return every[0] if self._single else every

    def predict_log_proba(self, X: Any, y: Any = None) -> Any:
        """The joint log-probability log P(targets | inputs) of each row. Shape (rows,).

        Missing targets are summed out. Without y it is the logarithm of `predict_proba`, as in scikit-learn.
        """
        circuit = self._fitted_circuit()
        if y is not None:
            return circuit.log_prob(self._join(self._inputs(X), y))
        with np.errstate(divide="ignore"):
            every = self.predict_proba(X)
            return np.log(every) if self._single else [np.log(p) for p in every]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean of log P(targets | inputs) over the rows, in nats."""
        return mean_score(self.predict_log_proba(X, y), X, sample_weight)

    # ---- tables --------------------------------------------------------------------------------------------

    @property
    def _single(self) -> bool:
        """Whether the target was a single column rather than a table."""
        return not isinstance(self.classes_, list)

    def _remember_targets(self, labels: Labels, features: Table) -> None:
        for cells in labels.columns.values():
            check_consistent_length(features.values, cells)
        classes_by_target = [classes_of(cells, name) for name, cells in labels.columns.items()]
        self.classes_ = classes_by_target[0] if labels.single else classes_by_target
        self.n_outputs_ = len(classes_by_target)
        taken = features.schema.names
        self.targets_ = tuple(
            target_variable(name, classes, taken)
            for name, classes in zip(labels.columns, classes_by_target, strict=True)
        )

    def _join(self, features: Table | None, y: Any) -> Table:
        """Inputs and targets as one table; unknown labels are marked as unseen."""
        assert features is not None
        _refuse_missing(features)
        columns = list(read_labels(y).columns.items())
        if len(columns) != self.n_outputs_:
            raise ValueError(f"y has {len(columns)} targets, but the model was fitted with {self.n_outputs_}")
        classes = [self.classes_] if self._single else self.classes_
        coded = [code_labels(cells, known) for (_, cells), known in zip(columns, classes, strict=True)]
        for _, cells in columns:
            check_consistent_length(features.values, cells)
        unseen = np.concatenate(
            [np.zeros(features.values.shape, dtype=np.bool_), *(c.unseen for c in coded)], axis=1
        )
        if self._unseen_policy() == "error":
            _refuse_unseen(unseen, self._schema(), columns)
        values = np.concatenate([features.values, *(c.codes for c in coded)], axis=1)
        return Table(self._schema(), values, features.weights, unseen if unseen.any() else None)

    def _schema(self) -> Schema:
        """The schema of the inputs followed by the targets."""
        inputs = self.schema_.with_inputs(range(len(self.schema_)))
        return Schema((*inputs, *self.targets_))

    def _fitted_circuit(self) -> Circuit:
        check_is_fitted(self)
        return self.circuit_

    def _inputs(self, X: Any) -> Table:
        table = self._fitted_table(X)
        _refuse_missing(table)
        return table

    def _rows(self, X: Any) -> Floats:
        """The coded inputs with missing targets. Shape (rows, columns)."""
        values = self._inputs(X).values
        return np.concatenate([values, np.full((len(values), self.n_outputs_), np.nan)], axis=1)

    def _labelled(self, codes: Ints) -> AnyArray:
        if self._single:
            labels: AnyArray = self.classes_[codes[:, 0]]
            return labels
        columns = [classes[codes[:, j]] for j, classes in enumerate(self.classes_)]
        kinds = {column.dtype.kind for column in columns}
        if len(kinds) == 1:
            return np.stack(columns, axis=1)
        return np.stack([column.astype(object) for column in columns], axis=1)

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def __sklearn_tags__(self) -> Any:
        """The estimator tags of scikit-learn: several targets, and no missing inputs."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


def _numbers(features: Table, kinds: Mapping[Any, Kind]) -> dict[Any, Kind]:
    """The kinds of numeric columns that would be inferred as categorical for their few distinct values.

    A conditional model cannot sum out an unknown state of an input, as a joint model can.
    """
    kinds_of_numbers: dict[Any, Kind] = {}
    for variable in features.schema:
        states = variable.states
        numeric = all(isinstance(x, int | float) and not isinstance(x, bool) for x in states)
        if len(states) > 2 and numeric and not {variable.name, variable.heading} & set(kinds):
            kinds_of_numbers[variable.heading] = (
                "integer" if all(float(x).is_integer() for x in states) else "real"
            )
    return kinds_of_numbers


def _refuse_missing(table: Table) -> None:
    """Refuse inputs with missing values.

    Raises:
        ValueError: naming the first of them.
    """
    missing = np.argwhere(table.missing)
    if not missing.size:
        return
    row, column = missing[0].tolist()
    unseen = table.unseen is not None and bool(table.unseen[row, column])
    what = "has a state that the training rows did not have" if unseen else "is missing (NaN)"
    raise ValueError(
        f"column '{table.schema[column].name}', row {row} {what}: inputs of a conditional model must have"
        " values that it knows; a joint learner such as tr.EACMN or tr.IDSPN (in tr.TractableClassifier for"
        " one target) accepts missing cells everywhere"
    )


def _refuse_unseen(unseen: Bools, schema: Schema, columns: list[tuple[str, AnyArray]]) -> None:
    """Refuse labels that were not in the training rows.

    Raises:
        ValueError: naming the first of them.
    """
    for row, column in np.argwhere(unseen).tolist():
        name, cells = columns[column - (len(schema) - len(columns))]
        raise ValueError(f"row {row}: target '{name}' has no state {cells[row]!r}")
