"""What classifier, imputer and anomaly scorer share: a circuit, by a learner that may be chosen."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from tractable.data import Table, frame_kind
from tractable.estimators.base import RandomState
from tractable.estimators.choice import (
    Candidate,
    LearnerLike,
    choose,
    estimators_of,
    learn_circuit,
    learner_name,
)
from tractable.estimators.tables import TableInputMixin
from tractable.model import Circuit


class CircuitFace(TableInputMixin, BaseEstimator):  # type: ignore[misc]
    """Learns the joint distribution of a table's columns; what it is asked then differs."""

    learner: LearnerLike
    random_state: RandomState
    circuit_: Circuit
    learner_: str
    choice_scores_: dict[str, float]

    def _fit_joint(self, table: Table, X: Any) -> None:
        """Learn `circuit_`, by the learner with the highest log-likelihood of held-out rows."""
        seed = int(check_random_state(self.random_state).randint(2**31))
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
