"""Rahman, Kothalkar and Gogate, «Cutset Networks», 2014, and mixtures of such networks.

Extremely random networks are those of Di Mauro, Vergari, Basile and Esposito, «Fast and Accurate Density
Estimation with Extremely Randomized Cutset Networks», 2017; the Bayesian score is that of Di Mauro, Vergari
and Basile, «Learning Bayesian Random Cutset Forests», 2015; boosting is that of Rahman and Gogate, «Learning
Ensembles of Cutset Networks», 2016.
"""

from dataclasses import dataclass
from typing import ClassVar, final, get_args

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.circuit import Graph
from tractable.circuit.states import graph_forms
from tractable.data import Table
from tractable.learning.joint.cutset.circuit import cutset_circuit
from tractable.learning.joint.cutset.mixtures import Kind
from tractable.learning.joint.cutset.rows import count_rows, hold_out
from tractable.learning.joint.cutset.search import Options, Search
from tractable.learning.joint.cutset.splits import Growth, Score, Splitting
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.pieces import view_pieces

CIRCUIT = Key(__name__, "circuit", Graph)


@final
@dataclass(frozen=True, kw_only=True)
class CutsetLearner(PoolingLearner):
    """A mixture of cutset networks: decision trees over columns with Chow-Liu trees as leaves.

    A single network (`components=1`) is a deterministic circuit. Numeric columns are discretised into
    intervals, with a density on each. Rows in which the column of a split is missing are not used below the
    split, and statistics of a pair of columns are computed from the rows in which both are known.
    """

    name: ClassVar[str] = "cutset"
    title: ClassVar[str] = "cutset networks"

    components: int = setting(
        20,
        "Number of networks in the mixture. More networks fit better, and time and memory grow in"
        " proportion. A single network is deterministic; each of its nodes is split on the best column, and"
        " it is pruned on the validation rows.",
        at_least=1,
    )
    mixture: Kind = setting(
        "random",
        "How the networks of the mixture are made to differ. In random networks each node is split on the"
        " best of a few randomly drawn columns, in extremely random networks on one randomly drawn column."
        " Bagged networks are learned from bootstrap samples of the rows. Each boosted network is learned"
        " from rows whose weights are divided by their probability under the previous networks.",
        search=OneOf(*get_args(Kind)),
    )
    split_score: Score = setting(
        "information",
        "Criterion for the best column to split on: the information gain, or the Bayesian score of the"
        " network after the split (BDeu). With the latter, splitting also ends when no split increases the"
        " score.",
        search=OneOf(*get_args(Score)),
    )
    candidates: tuple[int, ...] = setting(
        (3, 1, 10),
        "Numbers of columns to draw at each node of a random or boosted network. With validation rows, all"
        " values are tried and the best is selected; otherwise the first is used.",
        at_least=1,
    )
    min_rows: tuple[int, ...] = setting(
        (200, 100, 400, 800),
        "Minimum number of rows at a node for it to be split. With validation rows, all values are tried and"
        " the best is selected; otherwise the first is used.",
        at_least=0,
    )
    min_branch: float = setting(
        3.0,
        "Minimum number of rows that have the second most frequent state of a column for a node to be split"
        " on it.",
        at_least=0,
        search=Between(1, 100, log=True),
    )
    shrinkage: tuple[float, ...] = setting(
        (5.0, 20.0, 80.0),
        "Pseudo-count of a leaf, distributed as in its parent, which shrinks leaves with few rows towards"
        " nodes with more rows. With validation rows, all values are tried and the best is selected.",
        at_least=0,
    )
    smoothing: float = setting(
        0.3,
        "Pseudo-count of each distribution in the tree of a leaf. Conditional distributions are smoothed"
        " towards the marginal distribution of the column, the root of the tree towards the uniform"
        " distribution.",
        at_least=0,
        search=Between(0.01, 10, log=True),
    )
    link_cost: float = setting(
        0.0,
        "Minimum gain in log-likelihood, in nats over the rows of a leaf, for each parameter that an edge of"
        " its tree adds.",
        at_least=0,
        search=Between(0, 5),
    )
    equivalent_rows: float = setting(
        1.0,
        "Equivalent sample size, in rows, of the Dirichlet priors in the Bayesian score.",
        at_least=1e-9,
    )
    split_cost: float = setting(
        0.0,
        "Minimum increase of the Bayesian score for a split, in nats. It is the logarithm of the prior odds"
        " against a split.",
        at_least=0,
    )
    max_edges: int = setting(
        4_000_000,
        "Maximum number of edges in the circuit. To meet it, networks get fewer leaves and, if necessary,"
        " the mixture fewer networks.",
        at_least=0,
    )
    em_steps: int = setting(
        0,
        "Maximum number of EM iterations over all parameters of the final mixture. With validation rows, the"
        " best iteration is kept.",
        at_least=0,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        view = view_pieces(table)

        def learn(part: Table, held_out: Table | None) -> Graph:
            seed = np.random.SeedSequence(int(rng.integers(2**63)))
            search = Search(
                rows=count_rows(part),
                valid=None if held_out is None or not len(held_out) else hold_out(held_out),
                growth=self._growth(),
                kind=self.mixture,
                seeds=seed.spawn(self.components),
                max_edges=max(self.max_edges - view.added_edges, 0),
                leaf_edges=view.leaf_edges,
            )

            def circuit(inner: Watch) -> Graph:
                mixture = search.run(self._options(), self.em_steps, inner)
                return cutset_circuit(part.schema, mixture.networks, mixture.weights)

            with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
                return watch.remember(CIRCUIT, circuit, forms=graph_forms(part.schema))

        return Learned(view.learn(table, valid, learn))

    def _options(self) -> Options:
        """The options that are selected on the validation rows."""
        candidates: tuple[int | None, ...] = self.candidates
        if self.components == 1 or self.mixture == "bagged":
            candidates = (None,)
        elif self.mixture == "extremely-random":
            candidates = (1,)
        return Options(candidates, self.shrinkage, tuple(float(size) for size in self.min_rows))

    def _growth(self) -> Growth:
        """The settings for growing a network, without those selected on the validation rows."""
        splitting = Splitting(
            score=self.split_score,
            min_branch=self.min_branch,
            equivalent_rows=self.equivalent_rows,
            split_cost=self.split_cost,
        )
        return Growth(
            splitting=splitting,
            shrinkage=self.shrinkage[0],
            smoothing=self.smoothing,
            link_cost=self.link_cost,
        )
