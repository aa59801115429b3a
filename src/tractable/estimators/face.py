"""What classifier, imputer and anomaly scorer share: a circuit, by a learner that may be chosen."""

from typing import Any

from sklearn.base import BaseEstimator

from tractable.data import Table, frame_kind
from tractable.estimators.choice import (
    Candidate,
    LearnerLike,
    choose,
    estimators_of,
    learn_circuit,
    learner_name,
)
from tractable.estimators.seeds import RandomState, seed_of
from tractable.estimators.tables import CircuitSavingMixin, TableInputMixin
from tractable.model import Circuit


class CircuitFace(CircuitSavingMixin, TableInputMixin, BaseEstimator):  # type: ignore[misc]
    """Learns the joint distribution of a table's columns; what it is asked then differs."""

    learner: LearnerLike
    random_state: RandomState
    circuit_: Circuit
    learner_: str
    choice_scores_: dict[str, float]

    def _fit_joint(self, table: Table, X: Any) -> None:
        """Learn `circuit_`, by the learner with the highest log-likelihood of held-out rows."""
        seed = seed_of(self.random_state)
        candidates = [_joint(one) for one in estimators_of(self.learner, seed)]
        choice = choose(candidates, table, lambda circuit, rows: circuit.score(rows), seed)
        self.learner_, self.choice_scores_ = choice.best.name, choice.scores
        self.schema_ = table.schema
        self.circuit_ = with_frame(choice.best.learn(table), X)


def _joint(estimator: Any) -> Candidate:
    return Candidate(learner_name(estimator), lambda table: learn_circuit(estimator, table))


def with_frame(circuit: Circuit, X: Any) -> Circuit:
    """The circuit, whose samples come in the kind of frame that X is."""
    return Circuit(circuit.graph, {**circuit.about, "frame": frame_kind(X)})
