"""Continuous mixtures of trees.

Correia, Gala, Quaeghebeur, de Campos and Peharz, «Continuous Mixtures of Tractable Probabilistic Models», 2023.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, final

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.circuit import Graph
from tractable.data import Table, collapse
from tractable.learners.continuous.circuit import mixture_circuit
from tractable.learners.continuous.components import FOUND_FORM, PointSearch
from tractable.learners.continuous.rows import tree_rows
from tractable.learners.continuous.shape import tree_shape
from tractable.learners.continuous.start import tree_outputs
from tractable.learners.continuous.training import (
    STRENGTHS,
    TRAINED_FORM,
    Schedule,
    Trained,
    Trainer,
    TrainingData,
    suitable_strengths,
)
from tractable.learners.continuous.trees import Trees
from tractable.learners.learner import Learned, Learner
from tractable.progress import InnerWatch, Watch
from tractable.settings import Between, OneOf, setting
from tractable.statistics.count_updates import refit_counts
from tractable.statistics.encoding import encode
from tractable.statistics.forests import chow_liu_forest
from tractable.threads import default_threads

LEAST_POINTS = 8  # of a step; small tables have few more
FEW_ROWS = 20  # with fewer distinct rows none is held out
NETWORK_SHARE = 0.8  # of a time budget, for the network; the rest is for its points
MOST_FLOWS = 50_000_000  # leaves times rows above which counts keep their Poisson leaves


@final
@dataclass(frozen=True, kw_only=True)
class ContinuousMixtureLearner(Learner):
    """A mixture of very many trees of one shape whose parameters a small network finds from a latent point.

    The trees share the shape of the Chow-Liu tree. A network with two hidden layers maps a point of a latent
    space with a few dimensions to the parameters of a tree, and is trained by stochastic gradients while
    points drawn from a normal distribution stand for the whole space. Then some points and their weights are
    optimised, and each becomes a component of the mixture. A numeric column has a Gaussian in each tree, a
    count a Poisson distribution.
    """

    name: ClassVar[str] = "continuous-mixture"
    title: ClassVar[str] = "continuous mixture of trees"

    components: int = setting(
        1024,
        "Number of components (trees) of the finished mixture. There are no more than distinct rows. More"
        " components fit better, and make a larger circuit.",
        at_least=1,
        search=OneOf(256, 512, 1024),
    )
    strength: Literal["auto", "strong", "medium", "weak"] = setting(
        "auto",
        "Strength of the regularisation of the network: one of strong, medium and weak, or auto. With auto,"
        " the strengths that suit the number of rows are tried, and the held-out rows decide.",
    )
    smoothing: float = setting(
        1.0,
        "Pseudo-counts of each distribution of the Chow-Liu tree with which training begins.",
        at_least=0,
        search=Between(0.1, 10, log=True),
    )
    points: int = setting(
        512, "Number of points of the latent space in each step of the training.", at_least=1
    )
    batch: int = setting(256, "Number of rows of a mini-batch.", at_least=1)
    patience: int = setting(
        8,
        "Early stopping: the step size begins to fall after this many passes over the rows without a better"
        " score of the held-out rows.",
        at_least=1,
    )
    held_out: float = setting(
        0.1,
        "Share of the rows held out for early stopping and for the choice of a strength, where there are no"
        " validation rows.",
        at_least=0.01,
        at_most=0.5,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            return Learned(self._mixture(useful_rows(table), rng, valid, watch))

    def _mixture(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        encoding = encode(table)
        shape = tree_shape(encoding, chow_liu_forest(encoding, self.smoothing))
        start = tree_outputs(shape, encoding, self.smoothing)
        if not len(table):
            return mixture_circuit(Trees.from_outputs(shape, start[:, None]), np.zeros(1), encoding)
        seeds = rng.integers(2**63, size=3).tolist()
        fitted, held = self._parts(encoding.table, valid, np.random.default_rng(seeds[0]))
        data = TrainingData(
            shape, start, tree_rows(shape, encoding, fitted), tree_rows(shape, encoding, held)
        )
        trained = self._train(data, seeds[1], watch)
        count = max(1, min(self.components, len(fitted)))
        search = PointSearch(data, trained.decoder, count)
        found = watch.remember("components", partial(search.run, seeds[2]), FOUND_FORM)
        graph = mixture_circuit(search.trees(found.points.astype(np.float64)), found.log_weight, encoding)
        if count * encoding.layout.counted.size * len(encoding.table) <= MOST_FLOWS:
            graph = refit_counts(graph, encoding.table, self.smoothing)
        return graph

    def _parts(self, table: Table, valid: Table | None, rng: np.random.Generator) -> tuple[Table, Table]:
        """The rows for the gradients, and those by which models are compared."""
        if valid is not None and len(useful := useful_rows(valid)):
            return table, collapse(useful)[0]
        if len(table) < FEW_ROWS:
            return table, table
        held = rng.permutation(len(table)) < self.held_out * len(table)
        return table.take(~held), table.take(held)

    def _train(self, data: TrainingData, seed: int, watch: Watch) -> Trained:
        """The network of the strength that suits the held-out rows best."""
        points = min(self.points, LEAST_POINTS + len(data.rows))
        how = Schedule(points=points, batch=self.batch, patience=self.patience)
        names = suitable_strengths(data.rows) if self.strength == "auto" else (self.strength,)

        def train(name: str) -> Trained:
            left = None if watch.left is None else watch.left * NETWORK_SHARE
            trainer = Trainer(data, STRENGTHS[name], how)
            return InnerWatch(watch, seconds=left).remember(name, partial(trainer.run, seed), TRAINED_FORM)

        threads = min(default_threads(), len(names))
        trained: list[Trained] = Parallel(threads, prefer="threads")(delayed(train)(n) for n in names)
        return max(trained, key=lambda each: each.score)


def useful_rows(table: Table) -> Table:
    """The rows that weigh something and have a cell."""
    return table.take((table.row_weights > 0) & ~table.missing.all(axis=1))
