"""Anomaly detection with a joint model, and the columns that make rows anomalous."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.progress import Watch
from tractable.data import Names, Schema, State, Table
from tractable.data.evidence import Evidence
from tractable.estimators.base import RandomState, seed_of
from tractable.estimators.choice import LearnerLike
from tractable.estimators.face import CircuitFace
from tractable.queries import cell_log_probs, expected_cells, log_prob, sample, weighted_mean

DRAWS = 2_000  # rows of the model by which a score is judged
FALSE_ALARMS = 0.02  # share of the model's own rows that count as anomalies, with contamination="auto"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The cell that makes a row unusual, and how unusual all of its cells are."""

    column: str  # whose value is the most surprising given all others of the row
    value: State | date
    expected: State | date  # the mean of a numeric column given the others, or the most probable state
    surprise: float  # nats by which the value is less probable than values of that column usually are
    surprises: dict[str, float]  # the same of each column that has a value, the most surprising first


class AnomalyScorer(OutlierMixin, CircuitFace):  # type: ignore[misc]
    """Detects rows that are improbable under a joint model of all columns, and explains them.

    A row with missing cells is judged by its known cells, relative to other rows in which the same cells are
    known.

    Parameters ---------- learner : str or estimator, default "fast" The name of a learner, such as
    `"learnspn"`, or an estimator with settings, such as `tr.LearnSPN(smoothing=0.5)`. `"fast"` selects the
    one of a few fast learners with the highest log-likelihood on held-out rows. `"auto"` is
    `tr.AutoTractable(budget="1m")`, a mixture of models of several learners; the budget is for the whole fit.
    contamination : "auto" or float, default "auto" The proportion of anomalies in the training rows, up to
    0.5. With `"auto"`, a row is an anomaly if it is less probable than all but 2 % of rows sampled from the
    model. random_state : int, RandomState or None Seed of learning, of the selection of held-out rows and of
    sampling.

    Attributes
    ----------
    circuit_ : Circuit
        The joint model.
    offset_ : float
        The score below which a complete row is an anomaly.
    learner_ : str
        The learner that was used.
    """

    offset_: float

    def __init__(
        self,
        learner: LearnerLike = "fast",
        *,
        contamination: float | Literal["auto"] = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.learner = learner
        self.contamination = contamination
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
        """Learn a joint model of the columns of X and the threshold of scores; `y` is ignored.

        Columns in `drop` are left out. A `watch` reports progress and can end learning early with the best
        model so far. Its time budget, or that of the learner, is for the whole fit.
        """
        if self.contamination != "auto" and not 0.0 < self.contamination <= 0.5:
            raise ValueError(f"contamination must be 'auto' or in (0, 0.5], not {self.contamination!r}")
        table = self._training_table(X, sample_weight, schema, drop=drop)
        self._fit_joint(table, X, watch)
        self._usual = table
        if self.contamination == "auto":
            seed = seed_of(self.random_state)
            nothing = Evidence(np.full(len(table.schema), np.nan), {})
            self._usual = Table(table.schema, sample(self.circuit_.graph, DRAWS, nothing, seed))
        self.offset_ = self._offset(np.ones(len(table.schema), dtype=np.bool_))
        self._usual_cells = _mean_cells(self.circuit_.graph, table)
        return self

    def score_samples(self, X: Any) -> Floats:
        """The log-probability (or log-density) of each row; the lower, the more anomalous. Shape (rows,)."""
        check_is_fitted(self)
        return log_prob(self.circuit_.graph, self._fitted_table(X).values)

    def decision_function(self, X: Any) -> Floats:
        """The score of each row minus the threshold; negative for anomalies."""
        check_is_fitted(self)
        table = self._fitted_table(X)
        scores = log_prob(self.circuit_.graph, table.values)
        patterns, which = _patterns(~table.missing)
        return scores - np.array([self._offset(seen) for seen in patterns])[which]

    def predict(self, X: Any) -> Ints:
        """1 for usual rows and -1 for anomalies. Shape (rows,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def explain(self, X: Any) -> list[Explanation]:
        """The column of each row whose value is least probable given all others, and its surprise.

        A surprise compares log P(value | the rest of the row) with its mean over the training rows, so
        columns with different units are comparable.

        Raises:
            ValueError: if a row has no value, or probability zero even without one of its cells.
        """
        check_is_fitted(self)
        table = self._fitted_table(X)
        surprises = self._usual_cells - cell_log_probs(self.circuit_.graph, table.values).given_rest
        return [self._explanation(table.values[r], surprises[r], r) for r in range(len(table))]

    def _explanation(self, row: Floats, surprises: Floats, number: int) -> Explanation:
        seen = np.flatnonzero(~np.isnan(surprises))
        if not seen.size:
            raise ValueError(f"row {number} has no value to explain")
        order = seen[np.argsort(-surprises[seen], kind="stable")]
        worst = int(order[0])
        rest = row.copy()
        rest[worst] = np.nan
        variable = self.schema_[worst]
        expected = expected_cells(self.circuit_.graph, rest[None, :])[0, worst]
        return Explanation(
            variable.name,
            variable.label(row[worst]),
            variable.label(expected),
            float(surprises[worst]),
            {self.schema_[int(c)].name: float(surprises[c]) for c in order},
        )

    def _offset(self, seen: Bools) -> float:
        """The score below which a row with these known columns is an anomaly."""
        hidden = np.where(seen, self._usual.values, np.nan)
        scores = log_prob(self.circuit_.graph, hidden)
        share = FALSE_ALARMS if self.contamination == "auto" else self.contamination
        return _weighted_quantile(scores, self._usual.row_weights, float(share))


def _weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """The smallest value with at least this share of the weight strictly below it, or the largest value."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    place = np.searchsorted(below, share * below[-1] * (1.0 + 1e-12), side="right")
    counted = order[weights[order] > 0]
    return float(values[order[place]] if place < order.size else values[counted[-1]])


def _patterns(seen: Bools) -> tuple[Bools, Ints]:
    """The distinct rows of a Boolean array, and the index of each row among them."""
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    return patterns, which.reshape(-1)


def _mean_cells(graph: Any, table: Table) -> Floats:
    """The mean log-probability of each column's values given the rest of their rows. Shape (columns,)."""
    logs = cell_log_probs(graph, table.values).given_rest
    return np.array(
        [weighted_mean(column[~np.isnan(column)], table.row_weights[~np.isnan(column)]) for column in logs.T]
    )
