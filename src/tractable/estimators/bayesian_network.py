"""The estimator of Bayesian networks of decision trees."""

from typing import Any, ClassVar, Self

from tractable.data import Schema
from tractable.estimators.base import RandomState, TableEstimator
from tractable.learners import LEARNERS, Learner, Watch
from tractable.learners.bayesian.network import learned_network
from tractable.networks import Network


class BayesianNetwork(TableEstimator):
    """A decision tree for each column given others, as far as that can be compiled to a circuit.

    Parameters
    ----------
    smoothing : float
        Imaginary rows in each leaf, spread evenly.
    split_penalty : float or None
        Nats that a split must gain on all rows together for each parameter it adds; None is 3, or 6 without
        validation rows.
    patience : int
        Splits without a better score on the validation rows before stopping.
    limit : int
        Entries that compiling may take; where that is not enough, the last splits stay out of the circuit.
    random_state : int, RandomState or None
        Not used; every estimator has it.

    Attributes
    ----------
    circuit_ : Circuit
        What could be compiled.
    network_ : Network or None
        The whole network over the categorical columns; None if there are none.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["bayesian-network"]

    network_: Network | None

    def __init__(
        self,
        *,
        smoothing: float = 2.0,
        split_penalty: float | None = None,
        patience: int = 300,
        limit: int = 1_000_000,
        random_state: RandomState = None,
    ) -> None:
        self.smoothing = smoothing
        self.split_penalty = split_penalty
        self.patience = patience
        self.limit = limit
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        valid: Any = None,
        sample_weight: Any = None,
        schema: Schema | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Learn a network and its circuit from a table; see `TableEstimator.fit`."""
        super().fit(X, y, valid=valid, sample_weight=sample_weight, schema=schema, watch=watch)
        self.network_ = learned_network(self.circuit_.graph)
        return self
