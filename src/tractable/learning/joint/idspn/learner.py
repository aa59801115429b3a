"""Rooshenas and Lowd, «Learning Sum-Product Networks with Direct and Indirect Variable Interactions»,
ICML 2014.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, final

import numpy as np

from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, setting
from tractable.circuit import Graph
from tractable.circuit.states import graph_forms
from tractable.data import Table, collapse
from tractable.learning.joint.gaussian_mixture.learner import GaussianMixtureLearner
from tractable.learning.joint.idspn.growth import ExtensionSearch, ExtensionSettings
from tractable.learning.joint.markov import ACMNLearner, EACMNLearner
from tractable.learning.learner import Learned, Learner, PoolingLearner
from tractable.learning.parameters import fit
from tractable.learning.parameters.cccp import CCCP
from tractable.learning.statistics.clustering import Clustering
from tractable.learning.statistics.held_out import shuffled_folds
from tractable.learning.statistics.stack_weights import mean_log_prob

# ---- the choice between Markov networks and mixtures of Gaussians for the leaves ------------------------


LEARNED = Key(__name__, "learned", Graph)

FOLDS = 5  # the rows of the first one are held out to choose, where there are no validation rows
MOST_ROWS = 2000  # that the choice is made by


def has_numbers(table: Table) -> bool:
    """Whether a table has numeric columns other than counts."""
    return any(v.is_numeric and v.kind != "count" for v in table.schema)


def prefers_gaussians(
    network: Learner, table: Table, valid: Table | None, rng: np.random.Generator, watch: Watch
) -> bool:
    """Whether a mixture of Gaussians has a better score on held-out rows than a Markov network.

    Both are learned from a subset of the rows and scored on the validation rows or on other rows of the
    table.
    """
    table, _ = collapse(table)  # so that a row of weight two is the same as two rows
    if len(table) < FOLDS:
        return False
    train, held = next(shuffled_folds(len(table), FOLDS, rng, most=MOST_ROWS))
    judge = table.take(held) if valid is None else valid
    some = table.take(np.sort(train))
    scores = []
    for learner in (network, GaussianMixtureLearner()):
        work = partial(_learn, learner, some, valid)
        graph = watch.remember(LEARNED.at(learner.name), work, forms=graph_forms(some.schema))
        scores.append(mean_log_prob(graph, judge))
        if watch.should_stop():
            return False
    return scores[1] > scores[0]


def _learn(learner: Learner, table: Table, valid: Table | None, watch: Watch) -> Graph:
    return learner.learn(table, np.random.default_rng(0), valid=valid, watch=watch)


REFITTED = Key(__name__, "refitted", Graph)

ANCHORS = (
    10.0,
    100.0,
)  # pseudo-counts that hold the weights of sums near their values; validation rows choose
WHOLE = 0.99  # a leaf with a larger share of the table's cells is the whole table
LEAVES: dict[str, type[ACMNLearner | EACMNLearner]] = {"eacmn": EACMNLearner, "acmn": ACMNLearner}


@final
@dataclass(frozen=True, kw_only=True)
class IDSPNLearner(PoolingLearner):
    """A sum-product network grown from the root, whose leaves are circuits of Markov networks.

    A leaf is replaced by a product over independent groups of columns, whose factors are sums over clusters
    of rows with new leaves below; the replacement is kept if it improves the score of the whole model. The
    penalties of a leaf are scaled by its share of the table's cells.
    """

    name: ClassVar[str] = "idspn"
    title: ClassVar[str] = "sum-product network of circuits"

    leaf: Literal["eacmn", "acmn"] = setting("eacmn", "Learner of the Markov networks in the leaves.")
    numeric_leaf: Literal["auto", "network", "gaussian-mixture"] = setting(
        "auto",
        "Model of the leaves in tables with numeric columns: Markov networks over discretised columns"
        " (network) or mixtures of multivariate Gaussians (gaussian-mixture). With auto, the model with the"
        " better score on held-out rows is selected.",
    )
    clusters: int = setting(
        10,
        "Maximum number of clusters of a sum node. More clusters fit better and take more time and memory.",
        at_least=1,
        search=Between(2, 20, whole=True),
    )
    cluster_cost: float = setting(
        0.3,
        "Minimum gain in log-likelihood, in nats over the rows to be clustered, for each parameter of an"
        " additional cluster.",
        at_least=0,
        search=Between(0.05, 1, log=True),
    )
    dependence: float = setting(
        0.001,
        "Minimum mutual information, in nats, of two columns that are treated as dependent.",
        at_least=0,
    )
    extensions: int = setting(
        5, "Maximum number of leaves that the search tries to replace by a product of sums.", at_least=0
    )
    parent_rows: float = setting(
        30.0,
        "Shrinkage towards the parent, in rows: weight of a sample of the parent's rows that is added to"
        " the rows of a leaf.",
        at_least=0,
        search=Between(1, 100, log=True),
    )
    l1: float = setting(
        2.0,
        "Strength of the L1 penalty of the feature weights in a leaf that covers the whole table. In"
        " smaller leaves it is scaled by their share of the table's cells.",
        at_least=0,
    )
    min_l1: float = setting(
        0.5,
        "Minimum of the scaled L1 penalty.",
        at_least=0,
        search=Between(0.1, 5, log=True),
    )
    variance: float = setting(
        2.0,
        "Variance of the Gaussian prior of the feature weights in a leaf that covers the whole table. In"
        " smaller leaves it is scaled by their share of the table's cells.",
        at_least=1e-9,
    )
    min_variance: float = setting(
        0.2,
        "Minimum of the scaled variance.",
        at_least=1e-9,
        search=Between(0.05, 2, log=True),
    )
    split_cost: float = setting(
        3.0,
        "Minimum gain in log-likelihood, in nats, that a split must bring in a leaf that covers the whole"
        " table. In smaller leaves it is scaled by their share of the table's cells.",
        at_least=0,
    )
    min_split_cost: float = setting(
        3.0,
        "Minimum of the scaled split cost.",
        at_least=0,
        search=Between(1, 10, log=True),
    )
    max_edges: int = setting(
        500_000,
        "Maximum number of edges in the circuit of a leaf that covers the whole table. In smaller leaves it"
        " is scaled by their share of the table's cells.",
        at_least=0,
    )
    min_max_edges: int = setting(50_000, "Minimum of the scaled maximum number of edges.", at_least=0)
    smoothing: float = setting(
        1.0,
        "Pseudo-count of the marginal distribution of each column in the initial model of a leaf.",
        at_least=0,
    )
    refit: bool = setting(
        True, "Whether to refit the weights of all sum nodes by EM at the end. This requires validation rows."
    )
    jobs: int | None = setting(
        None,
        "Number of leaves that are learned in parallel, where -1 means one per core. If none, the"
        " configuration of joblib applies.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jobs == 0:
            raise ValueError(f"setting jobs of {self.name} must be at least 1, or -1 for all cores, not 0")

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        settings = ExtensionSettings(
            clustering=Clustering(clusters=self.clusters, penalty=self.cluster_cost),
            dependence=self.dependence,
            extensions=self.extensions,
            parent_rows=self.parent_rows,
            jobs=self.jobs,
        )
        leaf_learner: Callable[[float], Learner] = self._leaf_learner
        if has_numbers(table) and self._takes_gaussians(table, valid, rng, watch.part("leaves")):
            leaf_learner = _gaussian_leaf_learner
        root = ExtensionSearch(settings, leaf_learner, table, valid).run(rng, watch)
        graph = _reorder_columns(root.graph(), table)
        if valid is not None and self.refit:
            graph = _refit_sums(graph, table, rng, valid, watch.part("sums"))
        return Learned(graph)

    def _takes_gaussians(
        self, table: Table, valid: Table | None, rng: np.random.Generator, watch: Watch
    ) -> bool:
        """Whether the leaves of a table with numeric columns are mixtures of Gaussians."""
        if self.numeric_leaf != "auto":
            return self.numeric_leaf == "gaussian-mixture"
        return prefers_gaussians(self._leaf_learner(1.0), table, valid, rng, watch)

    def _leaf_learner(self, share: float) -> Learner:
        """The learner of a leaf with a given share of the table's cells."""
        return LEAVES[self.leaf](
            l1=max(self.min_l1, self.l1 * share),
            variance=max(self.min_variance, self.variance * share),
            split_cost=max(self.min_split_cost, self.split_cost * share),
            max_edges=int(min(self.max_edges, max(self.min_max_edges, self.max_edges * share))),
            smoothing=self.smoothing,
            max_states=self.max_states,
        )


def _gaussian_leaf_learner(share: float) -> Learner:
    """The learner of a leaf over numbers that has the given share of the table's cells.

    A block of the table gets few components and no maps, because its rows were already clustered.
    """
    if share > WHOLE:
        return GaussianMixtureLearner()
    return GaussianMixtureLearner(components=(1, 2, 3), maps="identity", shrinkage=(5.0,), floor=(1e-3,))


def _refit_sums(graph: Graph, table: Table, rng: np.random.Generator, valid: Table, watch: Watch) -> Graph:
    """The circuit with the weights of all sums fitted by EM, anchored as validation rows choose."""
    if not (table.total_weight > 0 and valid.total_weight > 0):
        return graph  # no rows to fit to, or none to scoring_table by
    best, best_score = graph, mean_log_prob(graph, valid)
    for anchor in ANCHORS:
        if watch.should_stop():
            break
        method = CCCP(iterations=10, patience=1, smoothing=0.0, anchor=anchor)
        work = partial(_fit, graph, table, method, rng, valid)
        refitted = watch.remember(REFITTED.at(anchor), work, rng, graph_forms(table.schema))
        score = mean_log_prob(refitted, valid)
        if score > best_score:
            best, best_score = refitted, score
    return best


def _fit(
    graph: Graph, table: Table, method: CCCP, rng: np.random.Generator, valid: Table, watch: Watch
) -> Graph:
    return fit(graph, table, method, rng, valid=valid, watch=watch).graph


def _reorder_columns(graph: Graph, table: Table) -> Graph:
    """The circuit with its columns in the order of a table."""
    if graph.schema == table.schema:
        return graph
    place = np.array(table.schema.columns(graph.schema.names))
    blocks = tuple(block.over(place) for block in graph.blocks)
    return replace(graph, schema=table.schema, blocks=blocks, features=None)
