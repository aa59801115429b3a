"""The search for the number of mixture components, in ascending order."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, setting
from tractable.circuit import Builder, Graph
from tractable.circuit.shapes import declare_shape
from tractable.circuit.states import graph_forms
from tractable.data import Table
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.leaf_choice import columns_that_need_rows
from tractable.learning.statistics.product_mixtures import Mixture, ProductEM, fit_mixture, mixture_node
from tractable.learning.statistics.stack_weights import bic_penalty, mean_log_prob

SCORED = Key(__name__, "scored", tuple[Graph, float])

PATIENCE = 2  # early stopping: sizes in a row that may be no better before the search ends


def best_size(
    sizes: Iterable[int],
    score_size: Callable[[int, Watch], tuple[Graph, float]],
    watch: Watch,
    encoding: Encoding,
    rng: np.random.Generator,
) -> Graph:
    """The circuit of the best size; sizes above the first that has one component per row are skipped.

    `rng` is what `score_size` draws from.
    """
    best, best_score, worse = None, -np.inf, 0
    order = sorted(set(sizes))
    for done, size in enumerate(order):
        work = partial(score_size, size)
        graph, score = watch.remember(SCORED.at(size), work, rng, graph_forms(encoding.schema))
        worse = 0 if score > best_score else worse + 1
        if best is None or score > best_score:
            best, best_score = graph, score
        watch.report("number of components", done + 1, len(order), best_score)
        if worse >= PATIENCE or watch.should_stop() or size >= len(encoding.weights):
            break
    assert best is not None
    return best


# ---- a mixture of products: the columns are independent given a hidden class ----------------------------


@final
@dataclass(frozen=True, kw_only=True)
class NaiveBayesLearner(PoolingLearner):
    """A mixture of products of independent distributions, fitted by EM.

    Several numbers of components are tried. The one with the best score on the validation rows is kept or,
    without validation rows, the one with the best penalised likelihood.
    """

    name: ClassVar[str] = "naive-bayes"
    title: ClassVar[str] = "naive Bayes mixture"

    components: tuple[int, ...] = setting(
        (1, 2, 4, 8, 16, 32, 64),
        "Numbers of mixture components to try, in ascending order. The search ends when larger numbers no"
        " longer improve the score.",
        at_least=1,
    )
    smoothing: float = setting(
        0.1,
        "Pseudo-count of each leaf of each component, spread evenly over the states of its column.",
        at_least=0,
        search=Between(0.01, 10, log=True),
    )
    restarts: int = setting(
        4,
        "Number of random initialisations of EM. The one with the highest likelihood after a few iterations"
        " is continued.",
        at_least=1,
    )
    steps: int = setting(200, "Maximum number of EM iterations.", at_least=1)
    tolerance: float = setting(
        1e-4,
        "Minimum gain per EM iteration, in nats per row. EM stops when an iteration gains less.",
        at_least=0,
        search=Between(1e-5, 1e-2, log=True),
    )
    penalty: float = setting(
        1.0,
        "Penalty for each parameter if there are no validation rows, as a multiple of the penalty of the"
        " Bayesian information criterion (BIC).",
        at_least=0,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        encoding = encode(table)
        em = ProductEM(
            smoothing=self.smoothing, restarts=self.restarts, steps=self.steps, tolerance=self.tolerance
        )

        def score_size(size: int, watch: Watch) -> tuple[Graph, float]:
            graph, mixture = _fit(encoding, size, rng, em, watch)
            if valid is not None:
                return graph, mean_log_prob(graph, valid)
            return graph, self._score(graph, mixture, encoding)

        with threadpool_limits(1, user_api="blas"):  # matrix products this narrow are slower with threads
            graph = best_size(self.components, score_size, watch, encoding, rng)
        return Learned(graph)

    def _score(self, graph: Graph, mixture: Mixture, encoding: Encoding) -> float:
        """The penalised log-likelihood a row."""
        mean = mixture.log_likelihood / encoding.rows
        if columns_that_need_rows(encoding.schema):  # these leaves may fit better than those of EM
            mean = mean_log_prob(graph, encoding.table)
        return mean - self.penalty * bic_penalty(graph, encoding)


def _fit(
    encoding: Encoding, size: int, rng: np.random.Generator, settings: ProductEM, watch: Watch
) -> tuple[Graph, Mixture]:
    mixture = fit_mixture(encoding, size, rng, settings, watch)
    builder = Builder(encoding.schema)
    graph = builder.freeze(mixture_node(builder, encoding, mixture, settings.smoothing))
    may_differ = columns_that_need_rows(encoding.schema)  # groups may prefer leaves of different families
    return graph if may_differ else declare_shape(graph), mixture
