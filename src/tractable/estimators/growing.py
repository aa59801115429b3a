"""Estimators of networks that are learned together with their circuits."""

from typing import ClassVar

from tractable.estimators.base import RandomState, TableEstimator
from tractable.learners import LEARNERS, Learner


class ACBN(TableEstimator):
    """A Bayesian network of decision trees, split where the likelihood is worth the edges of its circuit.

    Parameters
    ----------
    smoothing : float
        Imaginary rows in each leaf, spread evenly.
    split_cost : float
        Nats that a split must gain for each parameter it adds.
    edge_cost : float
        Nats that each new edge must gain; halved while no split does.
    max_edges : int
        Edges that the circuit may have.
    patience : int
        Splits without a better score on the validation rows before stopping.
    random_state : int, RandomState or None
        Not used; every estimator has it.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["acbn"]

    def __init__(
        self,
        *,
        smoothing: float = 2.0,
        split_cost: float = 4.0,
        edge_cost: float = 0.1,
        max_edges: int = 1_000_000,
        patience: int = 300,
        random_state: RandomState = None,
    ) -> None:
        self.smoothing = smoothing
        self.split_cost = split_cost
        self.edge_cost = edge_cost
        self.max_edges = max_edges
        self.patience = patience
        self.random_state = random_state


class ACMN(TableEstimator):
    """A Markov network grown from independent columns; all weights are fitted after each split.

    Parameters
    ----------
    l1 : float
        Cost of the absolute value of a weight, in nats.
    variance : float
        Variance of the Gaussian prior of a weight.
    split_cost : float
        Nats that a split must gain.
    edge_cost : float
        Nats that each new edge must gain; halved while no split does.
    max_edges : int
        Edges that the circuit may have.
    smoothing : float
        Imaginary rows in the distribution of each column alone.
    patience : int
        Splits without a better score on the validation rows before stopping.
    steps : int
        Steps of the fit of all weights after each split, at most.
    random_state : int, RandomState or None
        Not used; every estimator has it.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["acmn"]

    def __init__(  # noqa: PLR0913 - an estimator's parameters are its learner's settings
        self,
        *,
        l1: float = 1.0,
        variance: float = 2.0,
        split_cost: float = 4.0,
        edge_cost: float = 10.0,
        max_edges: int = 1_000_000,
        smoothing: float = 1.0,
        patience: int = 100,
        steps: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.l1 = l1
        self.variance = variance
        self.split_cost = split_cost
        self.edge_cost = edge_cost
        self.max_edges = max_edges
        self.smoothing = smoothing
        self.patience = patience
        self.steps = steps
        self.random_state = random_state


class EACMN(TableEstimator):
    """A Markov network grown from a Chow-Liu tree, its weights fitted one step after each split.

    Parameters
    ----------
    l1 : float
        Cost of the absolute value of a weight, in nats.
    variance : float
        Variance of the Gaussian prior of a weight.
    split_cost : float
        Nats that a split must gain.
    edge_cost : float
        Nats that each new edge must gain; halved while no split does.
    max_edges : int
        Edges that the circuit may have.
    smoothing : float
        Imaginary rows in the distribution of each column alone.
    patience : int
        Splits without a better score on the validation rows before stopping.
    least_support : float
        Part of the rows in which a feature must hold to be split.
    random_state : int, RandomState or None
        Not used; every estimator has it.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["eacmn"]

    def __init__(  # noqa: PLR0913 - an estimator's parameters are its learner's settings
        self,
        *,
        l1: float = 2.0,
        variance: float = 2.0,
        split_cost: float = 3.0,
        edge_cost: float = 0.1,
        max_edges: int = 1_000_000,
        smoothing: float = 1.0,
        patience: int = 100,
        least_support: float = 1e-4,
        random_state: RandomState = None,
    ) -> None:
        self.l1 = l1
        self.variance = variance
        self.split_cost = split_cost
        self.edge_cost = edge_cost
        self.max_edges = max_edges
        self.smoothing = smoothing
        self.patience = patience
        self.least_support = least_support
        self.random_state = random_state
