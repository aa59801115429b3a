"""A mixture of products: columns independent given a hidden class."""

from dataclasses import dataclass
from math import log
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.circuit import Builder, Graph, parameter_count
from tractable.data import Table
from tractable.learners.learner import Learner, require_at_least, require_numbers
from tractable.learners.mixtures.size import best_size
from tractable.progress import Watch
from tractable.settings.spaces import Between, Space
from tractable.statistics.encoding import Encoding, encode
from tractable.statistics.product_mixtures import Climb, Mixture, fit_mixture, mixture_node
from tractable.statistics.scores import mean_log_prob


@final
@dataclass(frozen=True, kw_only=True)
class NaiveBayesLearner(Learner):
    """EM for each number of components, of which the best on validation rows, or else by penalty, is kept."""

    name: ClassVar[str] = "naive-bayes"
    title: ClassVar[str] = "naive Bayes mixture"
    space: ClassVar[Space] = {
        "smoothing": Between(0.01, 10, log=True),
        "tolerance": Between(1e-5, 1e-2, log=True),
    }

    components: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)  # numbers of components to try, smallest first
    smoothing: float = 0.1  # imaginary rows in each component, spread evenly over the states
    restarts: int = 4  # random beginnings of EM, of which the best is followed to its end
    steps: int = 200  # of EM, at most
    tolerance: float = 1e-4  # EM stops when a step gains less than this many nats a row
    penalty: float = 1.0  # of a parameter when there are no validation rows, in units of BIC

    def __post_init__(self) -> None:
        require_numbers(self, "components")
        require_at_least(self, smoothing=0, restarts=1, steps=1, tolerance=0, penalty=0)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        encoding = encode(table)
        how = Climb(
            smoothing=self.smoothing, restarts=self.restarts, steps=self.steps, tolerance=self.tolerance
        )

        def scored(size: int) -> tuple[Graph, float]:
            graph, mixture = _fitted(encoding, size, rng, how, watch)
            if valid is not None:
                return graph, mean_log_prob(graph, valid)
            return graph, self._score(graph, mixture, encoding)

        with threadpool_limits(1, user_api="blas"):  # products this narrow lose more by threads than they win
            return best_size(self.components, scored, watch, largest=len(encoding.weights))

    def _score(self, graph: Graph, mixture: Mixture, encoding: Encoding) -> float:
        """The log-likelihood of a row less its share of the price of the parameters."""
        price = 0.5 * self.penalty * parameter_count(graph) * log(max(encoding.total, 1.0))
        return (mixture.log_likelihood - price) / encoding.rows


def _fitted(
    encoding: Encoding, size: int, rng: np.random.Generator, how: Climb, watch: Watch
) -> tuple[Graph, Mixture]:
    mixture = fit_mixture(encoding, size, rng, how, watch)
    builder = Builder(encoding.schema)
    return builder.freeze(mixture_node(builder, encoding, mixture)), mixture
