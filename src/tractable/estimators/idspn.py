"""The scikit-learn face of ID-SPN."""

from typing import ClassVar, Literal

from tractable.estimators.base import RandomState, TableEstimator
from tractable.learners import LEARNERS, Learner


class IDSPN(TableEstimator):
    """A tree of sums and products grown from the root, with Markov networks and their circuits as leaves.

    Parameters
    ----------
    leaf : str
        What learns the circuits.
    clusters : int
        Of a sum, at most.
    cluster_cost : float
        Nats that a cluster must gain on all rows for each of its parameters.
    dependence : float
        Nats of mutual information above which two columns are not independent.
    extensions : int
        Leaves that are tried to extend, at most.
    around : float
        Rows that what a leaf was divided from counts for in it, beside its own.
    l1 : float
        Cost of the absolute value of a weight, on all rows and columns.
    least_l1 : float
        And at least.
    variance : float
        Of the Gaussian prior of a weight, on all rows and columns.
    least_variance : float
        And at least.
    split_cost : float
        Nats that a split must gain, on all rows and columns.
    least_split_cost : float
        And at least.
    max_edges : int
        Of a circuit on all rows and columns.
    least_max_edges : int
        Of a circuit on fewer.
    smoothing : float
        Imaginary rows in the distribution of each column alone.
    refit : bool
        Whether all sums are fitted by EM in the end, where there are validation rows.
    jobs : int or None
        Circuits learned side by side; as joblib is set up, unless given.
    random_state : int, RandomState or None
        Decides where the search for clusters begins.
    """

    _learner: ClassVar[type[Learner]] = LEARNERS["idspn"]

    def __init__(  # noqa: PLR0913 - an estimator's parameters are its learner's settings
        self,
        *,
        leaf: Literal["eacmn", "acmn"] = "eacmn",
        clusters: int = 10,
        cluster_cost: float = 0.3,
        dependence: float = 0.001,
        extensions: int = 5,
        around: float = 30.0,
        l1: float = 2.0,
        least_l1: float = 0.5,
        variance: float = 2.0,
        least_variance: float = 0.2,
        split_cost: float = 3.0,
        least_split_cost: float = 3.0,
        max_edges: int = 500_000,
        least_max_edges: int = 50_000,
        smoothing: float = 1.0,
        refit: bool = True,
        jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.leaf = leaf
        self.clusters = clusters
        self.cluster_cost = cluster_cost
        self.dependence = dependence
        self.extensions = extensions
        self.around = around
        self.l1 = l1
        self.least_l1 = least_l1
        self.variance = variance
        self.least_variance = least_variance
        self.split_cost = split_cost
        self.least_split_cost = least_split_cost
        self.max_edges = max_edges
        self.least_max_edges = least_max_edges
        self.smoothing = smoothing
        self.refit = refit
        self.jobs = jobs
        self.random_state = random_state
