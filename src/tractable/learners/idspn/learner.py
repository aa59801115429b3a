"""Rooshenas and Lowd, «Learning Sum-Product Networks with Direct and Indirect Variable Interactions»,
ICML 2014.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, final

import numpy as np

from tractable.circuit import Graph
from tractable.data import Table
from tractable.learners.idspn.growth import Dividing, Growth
from tractable.learners.learner import Learner, require_at_least
from tractable.learners.markov.acmn import ACMNLearner
from tractable.learners.markov.eacmn import EACMNLearner
from tractable.parameters import fit
from tractable.parameters.cccp import CCCP
from tractable.progress import Watch
from tractable.settings.spaces import Between, Space
from tractable.statistics.clustering import Clustering
from tractable.statistics.scores import mean_log_prob

ANCHORS = (10.0, 100.0)  # imaginary rows that hold the weights of sums where they are; validation rows choose
LEAVES: dict[str, type[ACMNLearner | EACMNLearner]] = {"eacmn": EACMNLearner, "acmn": ACMNLearner}


@final
@dataclass(frozen=True, kw_only=True)
class IDSPNLearner(Learner):
    """A tree of sums and products grown from the root, with Markov networks and their circuits as leaves.

    A leaf is extended by a product over independent groups of columns, of sums over clusters of rows, of new
    leaves; the extension stays if the whole model is better with it. What leaves cost is scaled to the part
    of all rows and columns that they have.
    """

    name: ClassVar[str] = "idspn"
    title: ClassVar[str] = "sum-product network of circuits"
    space: ClassVar[Space] = {
        "clusters": Between(2, 20, whole=True),
        "cluster_cost": Between(0.05, 1, log=True),
        "around": Between(1, 100, log=True),
        "least_l1": Between(0.1, 5, log=True),
        "least_variance": Between(0.05, 2, log=True),
        "least_split_cost": Between(1, 10, log=True),
    }

    leaf: Literal["eacmn", "acmn"] = "eacmn"  # what learns the circuits
    clusters: int = 10  # of a sum, at most
    cluster_cost: float = 0.3  # nats that a cluster must gain on all rows for each of its parameters
    dependence: float = 0.001  # nats of mutual information above which two columns are not independent
    extensions: int = 5  # leaves that are tried to extend, at most
    around: float = 30.0  # rows that what a leaf was divided from counts for in it, beside its own
    l1: float = 2.0  # cost of the absolute value of a weight, on all rows and columns
    least_l1: float = 0.5  # and at least
    variance: float = 2.0  # of the Gaussian prior of a weight, on all rows and columns
    least_variance: float = 0.2  # and at least
    split_cost: float = 3.0  # nats that a split must gain, on all rows and columns
    least_split_cost: float = 3.0  # and at least
    max_edges: int = 500_000  # of a circuit on all rows and columns
    least_max_edges: int = 50_000  # of a circuit on fewer
    smoothing: float = 1.0  # imaginary rows in the distribution of each column alone
    refit: bool = True  # whether all sums are fitted by EM in the end, where there are validation rows
    jobs: int | None = None  # circuits learned side by side; as joblib is set up, unless given

    def __post_init__(self) -> None:
        require_at_least(
            self, clusters=1, cluster_cost=0, dependence=0, extensions=0, around=0, l1=0, least_l1=0
        )
        require_at_least(
            self, variance=1e-9, least_variance=1e-9, split_cost=0, least_split_cost=0, smoothing=0
        )
        require_at_least(self, max_edges=0, least_max_edges=0)
        if self.jobs == 0:
            raise ValueError(f"setting jobs of {self.name} is a number from 1 up, or -1 for all cores, not 0")

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        dividing = Dividing(
            clustering=Clustering(clusters=self.clusters, penalty=self.cluster_cost),
            dependence=self.dependence,
            extensions=self.extensions,
            around=self.around,
            jobs=self.jobs,
        )
        root = Growth(dividing, self._leaf_learner, table, valid).run(rng, watch)
        graph = _in_order(root.graph(), table)
        return graph if valid is None or not self.refit else _refitted(graph, table, rng, valid, watch)

    def _leaf_learner(self, share: float) -> Learner:
        """What learns a leaf with that part of all cells."""
        return LEAVES[self.leaf](
            l1=max(self.least_l1, self.l1 * share),
            variance=max(self.least_variance, self.variance * share),
            split_cost=max(self.least_split_cost, self.split_cost * share),
            max_edges=int(min(self.max_edges, max(self.least_max_edges, self.max_edges * share))),
            smoothing=self.smoothing,
        )


def _refitted(graph: Graph, table: Table, rng: np.random.Generator, valid: Table, watch: Watch) -> Graph:
    """The circuit with the weights of all sums as EM leads them; the best on the validation rows."""
    if not (table.total_weight > 0 and valid.total_weight > 0):
        return graph  # no rows to fit to, or none to judge by
    best, best_score = graph, mean_log_prob(graph, valid)
    for anchor in ANCHORS:
        if watch.should_stop():
            break
        how = CCCP(iterations=10, patience=1, smoothing=0.0, anchor=anchor)
        found = fit(graph, table, how, rng, valid=valid, watch=watch).graph
        score = mean_log_prob(found, valid)
        if score > best_score:
            best, best_score = found, score
    return best


def _in_order(graph: Graph, table: Table) -> Graph:
    """The same circuit with its columns in the order of a table."""
    if graph.schema == table.schema:
        return graph
    place = np.array([*table.schema.columns(graph.schema.names), -1])
    leaves = tuple(replace(block, column=place[block.column]) for block in graph.leaves)
    return replace(graph, schema=table.schema, leaves=leaves, features=None)
