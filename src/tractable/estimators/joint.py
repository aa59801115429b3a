"""Estimators of joint distributions. To add one: a class here, with its learner's settings as parameters."""

from typing import ClassVar

from tractable.estimators.base import RandomState, TableEstimator
from tractable.learners import LEARNERS, Learner


class Independent(TableEstimator):
    """All columns independent.

    Parameters
    ----------
    smoothing : float
        Imaginary rows, spread evenly over the states.
    random_state : int, RandomState or None
        Not used; every estimator has it.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["independent"]

    def __init__(self, *, smoothing: float = 1.0, random_state: RandomState = None) -> None:
        self.smoothing = smoothing
        self.random_state = random_state


class ChowLiuTree(TableEstimator):
    """The tree of columns that tell most about each other.

    Parameters
    ----------
    smoothing : float
        Imaginary rows in each distribution.
    link_cost : float
        Nats that a link must gain on all rows together for each parameter it adds.
    random_state : int, RandomState or None
        Not used; every estimator has it.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["chow-liu"]

    def __init__(
        self, *, smoothing: float = 1.0, link_cost: float = 1.0, random_state: RandomState = None
    ) -> None:
        self.smoothing = smoothing
        self.link_cost = link_cost
        self.random_state = random_state


class NaiveBayesMixture(TableEstimator):
    """A mixture of products of leaves, fitted by EM.

    Parameters
    ----------
    components : int or tuple of int
        Numbers of components to try; the best on validation rows is kept, or without any the best by penalty.
    smoothing : float
        Imaginary rows in each component, spread evenly over the states.
    restarts : int
        Random beginnings of EM, of which the best is followed to its end.
    steps : int
        Steps of EM, at most.
    tolerance : float
        EM stops when a step gains less than this many nats a row.
    penalty : float
        Price of a parameter when there are no validation rows, in units of BIC.
    random_state : int, RandomState or None
        Decides the random beginnings.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["naive-bayes"]

    def __init__(
        self,
        *,
        components: int | tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64),
        smoothing: float = 0.1,
        restarts: int = 4,
        steps: int = 200,
        tolerance: float = 1e-4,
        penalty: float = 1.0,
        random_state: RandomState = None,
    ) -> None:
        self.components = components
        self.smoothing = smoothing
        self.restarts = restarts
        self.steps = steps
        self.tolerance = tolerance
        self.penalty = penalty
        self.random_state = random_state


class LatentTree(TableEstimator):
    """A tree of columns and hidden nodes, fitted by EM.

    Parameters
    ----------
    method : {"clrg", "clnj", "rg", "nj"}
        Recursive grouping (rg) or neighbour joining (nj); with cl around each column of a Chow-Liu tree.
    states : int or tuple of int
        Numbers of states of hidden nodes to try; the best on validation rows is kept, or without any the
        best by BIC. Without any number, a hidden node has as many states as the column nearest to it.
    relaxation : float
        How much differences of distances may spread within a family, in recursive grouping.
    shortest : float
        A hidden node nearer than this to another becomes one with it.
    regularised : bool
        Whether to try ever larger values of `shortest`, and so fewer hidden nodes.
    smoothing : float
        Imaginary rows in each distribution.
    steps : int
        Steps of EM, at most.
    random_state : int, RandomState or None
        Decides where EM begins, if hidden nodes have more states than columns.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["latent-tree"]

    def __init__(
        self,
        *,
        method: str = "clnj",
        states: int | tuple[int, ...] = (),
        relaxation: float = 0.05,
        shortest: float = 0.01,
        regularised: bool = False,
        smoothing: float = 0.1,
        steps: int = 200,
        random_state: RandomState = None,
    ) -> None:
        self.method = method
        self.states = states
        self.relaxation = relaxation
        self.shortest = shortest
        self.regularised = regularised
        self.smoothing = smoothing
        self.steps = steps
        self.random_state = random_state
