"""The estimator of mixtures of trees."""

from typing import ClassVar

from tractable.estimators.base import RandomState, TableEstimator
from tractable.learners import LEARNERS, Learner


class MixtureOfTrees(TableEstimator):
    """A mixture of Chow-Liu trees, fitted by EM.

    Parameters
    ----------
    components : int or tuple of int
        Numbers of trees to try; the best on validation rows is kept, or without any the best by penalty.
    smoothing : float
        Imaginary rows in each distribution of each tree.
    sharing : float
        Imaginary rows in each of several trees that are like those of the whole table.
    link_cost : float
        Nats that a link must gain on a tree's rows for each parameter it adds.
    restarts : int
        Random beginnings of the naive Bayes mixture that EM begins at, of which the best is followed.
    begin_steps : int
        Steps of EM on the naive Bayes mixture.
    steps : int
        Steps of EM on the trees, at most.
    tolerance : float
        EM stops when a step gains less than this many nats a row.
    patience : int
        Steps without a better score on the validation rows before EM stops.
    penalty : float
        Price of a parameter when there are no validation rows, in units of BIC.
    random_state : int, RandomState or None
        Decides the random beginnings.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["mixture-of-trees"]

    def __init__(  # noqa: PLR0913 - an estimator's parameters are its learner's settings
        self,
        *,
        components: int | tuple[int, ...] = (1, 2, 4, 8, 16, 32),
        smoothing: float = 0.5,
        sharing: float = 30.0,
        link_cost: float = 0.0,
        restarts: int = 4,
        begin_steps: int = 20,
        steps: int = 50,
        tolerance: float = 1e-3,
        patience: int = 3,
        penalty: float = 1.0,
        random_state: RandomState = None,
    ) -> None:
        self.components = components
        self.smoothing = smoothing
        self.sharing = sharing
        self.link_cost = link_cost
        self.restarts = restarts
        self.begin_steps = begin_steps
        self.steps = steps
        self.tolerance = tolerance
        self.patience = patience
        self.penalty = penalty
        self.random_state = random_state
