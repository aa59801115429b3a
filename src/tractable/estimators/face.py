"""The base class of the classifier, the imputer and the anomaly scorer."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from sklearn.base import BaseEstimator

from tractable.base.arrays import Ints
from tractable.base.progress import Watch
from tractable.data import Table, frame_kind
from tractable.estimators.base import RandomState, seed_of
from tractable.estimators.choice import (
    Candidate,
    LearnerLike,
    Score,
    choose,
    estimators_of,
    joint_candidate,
    whole_watch,
)
from tractable.estimators.tables import CircuitSavingMixin, TableInputMixin
from tractable.model import Circuit


class CircuitFace(CircuitSavingMixin, TableInputMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that learns the joint distribution of the columns of a table for one kind of query."""

    learner: LearnerLike
    random_state: RandomState
    circuit_: Circuit
    learner_: str
    choice_scores_: dict[str, float]

    def _fit_joint(self, table: Table, X: Any, watch: Watch | None) -> None:
        """Learn `circuit_` with the learner that has the highest log-likelihood on held-out rows."""
        seed = seed_of(self.random_state)
        candidates = [joint_candidate(one) for one in estimators_of(self.learner, seed)]
        self._learn_best(candidates, table, Score(Circuit.log_prob), seed, watch=watch)
        self.schema_ = table.schema
        self.circuit_ = with_frame(self.circuit_, X)

    def _learn_best(
        self,
        candidates: Sequence[Candidate],
        table: Table,
        score: Score,
        seed: int,
        *,
        labels: Ints | None = None,
        watch: Watch | None,
    ) -> None:
        """Learn `circuit_` with the best candidate; the time budget is for selection and learning."""
        with nullcontext() if watch is None else watch:
            whole = whole_watch(candidates[0].budget, watch)
            choice = choose(candidates, table, score, seed, labels, whole)
            self.circuit_ = choice.best.learn(table, whole)
        self.learner_, self.choice_scores_ = choice.best.name, choice.scores


def with_frame(circuit: Circuit, X: Any) -> Circuit:
    """The circuit, whose samples are returned in the frame type of X."""
    return Circuit(circuit.graph, {**circuit.about, "frame": frame_kind(X)})
