"""The estimator of LearnSPN."""

from typing import ClassVar, Literal

from tractable.estimators.base import RandomState, TableEstimator
from tractable.learners import LEARNERS, Learner


class LearnSPN(TableEstimator):
    """Products of independent columns and sums over clusters of rows, in turns.

    Parameters
    ----------
    min_rows : int or tuple of int
        Fewer rows are not cut further. Of several the best on validation rows is kept, else the first.
    threshold : float or tuple of float
        G statistic above which two binary columns are dependent; of several as above.
    leaf : "chow-liu" or "univariate"
        What stands for the columns of a block that is not cut further.
    smoothing : float
        Imaginary rows in each distribution of a leaf.
    link_cost : float
        Nats that a link of a leaf's tree must gain for each parameter it adds.
    clustering : "em" or "k-means"
        How rows are put in clusters.
    clusters : int
        Clusters in one cut, at most.
    penalty : float
        Nats that a cluster must gain on all rows for each of its parameters.
    restarts : int
        Random beginnings of each clustering.
    steps : int
        Steps of each clustering, at most.
    random_state : int, RandomState or None
        Decides the random beginnings.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["learnspn"]

    def __init__(  # noqa: PLR0913 - an estimator's parameters are its learner's settings
        self,
        *,
        min_rows: int | tuple[int, ...] = (200, 50, 100, 500, 1000),
        threshold: float | tuple[float, ...] = (10.83, 20.0),
        leaf: Literal["chow-liu", "univariate"] = "chow-liu",
        smoothing: float = 0.2,
        link_cost: float = 0.0,
        clustering: Literal["em", "k-means"] = "em",
        clusters: int = 2,
        penalty: float = 0.2,
        restarts: int = 3,
        steps: int = 20,
        random_state: RandomState = None,
    ) -> None:
        self.min_rows = min_rows
        self.threshold = threshold
        self.leaf = leaf
        self.smoothing = smoothing
        self.link_cost = link_cost
        self.clustering = clustering
        self.clusters = clusters
        self.penalty = penalty
        self.restarts = restarts
        self.steps = steps
        self.random_state = random_state
