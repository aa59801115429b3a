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

from tractable.base.progress import Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.circuit import Graph
from tractable.circuit.states import graph_form
from tractable.data import Table
from tractable.learning.joint.cutset.circuit import cutset_circuit
from tractable.learning.joint.cutset.growth import Growth
from tractable.learning.joint.cutset.mixtures import Kind
from tractable.learning.joint.cutset.rows import count_rows, hold_out
from tractable.learning.joint.cutset.search import Options, Search
from tractable.learning.joint.cutset.splits import Score, Splitting
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.pieces import view_pieces


@final
@dataclass(frozen=True, kw_only=True)
class CutsetLearner(PoolingLearner):
    """A mixture of cutset networks: trees of splits by states of columns, with Chow-Liu trees as leaves.

    A single network (`components=1`) is a deterministic circuit. A numeric column takes part through its
    pieces: intervals with a density in each. A row in which the column of a split is missing counts for no
    branch below it, and a pair of columns is counted in the rows that have both.
    """

    name: ClassVar[str] = "cutset"
    title: ClassVar[str] = "cutset networks"

    components: int = setting(
        20,
        "Number of networks that are mixed. More networks fit better, and cost time and memory in proportion."
        " A single network is deterministic; it is split by the best column at each node, and pruned on the"
        " validation rows.",
        at_least=1,
    )
    mixture: Kind = setting(
        "random",
        "How the networks of a mixture differ. Nodes of random networks are split by the best of a few"
        " columns drawn at random, those of extremely random ones by a column drawn at random. Bagged"
        " networks are learned from rows drawn with replacement. A boosted network is learned from rows"
        " whose weights are divided by their probability under the networks before it.",
        search=OneOf(*get_args(Kind)),
    )
    split_score: Score = setting(
        "information",
        "What makes a column the best one to split by: its information gain, or the Bayesian score of the"
        " network after the split (BDeu), which also ends splitting where no split raises it.",
        search=OneOf(*get_args(Score)),
    )
    candidates: tuple[int, ...] = setting(
        (3, 1, 10),
        "Numbers of columns drawn at each node of a random or boosted network. With validation rows all are"
        " tried and the best is kept; without them the first is used.",
        at_least=1,
    )
    min_rows: tuple[int, ...] = setting(
        (200, 100, 400, 800),
        "Numbers of rows below which a node is not split. With validation rows all are tried and the best is"
        " kept; without them the first is used.",
        at_least=0,
    )
    min_branch: float = setting(
        3.0,
        "Number of rows that the second most frequent state of a column needs at a node that is split by it.",
        at_least=0,
        search=Between(1, 100, log=True),
    )
    shrinkage: tuple[float, ...] = setting(
        (5.0, 20.0, 80.0),
        "Pseudo-counts of a leaf, distributed as in its parent, so that leaves with few rows are shrunk"
        " towards nodes with more. With validation rows all are tried and the best is kept.",
        at_least=0,
    )
    smoothing: float = setting(
        0.3,
        "Pseudo-counts of each distribution of a leaf's tree: one given a parent's state is smoothed towards"
        " the column's own, that of a root towards even probabilities.",
        at_least=0,
        search=Between(0.01, 10, log=True),
    )
    link_cost: float = setting(
        0.0,
        "Log-likelihood in nats, over the rows of a leaf, that a link of its tree must gain for each"
        " parameter it adds.",
        at_least=0,
        search=Between(0, 5),
    )
    equivalent_rows: float = setting(
        1.0,
        "Equivalent sample size, in rows, of the Dirichlet priors of the Bayesian score.",
        at_least=1e-9,
    )
    split_cost: float = setting(
        0.0,
        "Nats by which a split must raise the Bayesian score: the logarithm of the prior odds against a"
        " split.",
        at_least=0,
    )
    max_edges: int = setting(
        4_000_000,
        "Maximum number of edges of the circuit. Networks have fewer leaves, and if need be there are fewer"
        " networks, so that it is kept.",
        at_least=0,
    )
    em_steps: int = setting(
        0,
        "Maximum number of iterations of EM over all parameters of the mixture afterwards. With validation"
        " rows the best iteration is kept.",
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
                return watch.remember("circuit", circuit, graph_form(part.schema))

        return Learned(view.learn(table, valid, learn))

    def _options(self) -> Options:
        """What is chosen on validation rows."""
        candidates: tuple[int | None, ...] = self.candidates
        if self.components == 1 or self.mixture == "bagged":
            candidates = (None,)
        elif self.mixture == "extremely-random":
            candidates = (1,)
        return Options(candidates, self.shrinkage, tuple(float(size) for size in self.min_rows))

    def _growth(self) -> Growth:
        """How a network grows; what validation rows choose is filled in by the search."""
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
