"""A Bayesian network of decision trees, compiled to a circuit of limited size."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple, final

import numpy as np

from tractable.base.arrays import Ints
from tractable.base.progress import Key, State, Stopped, Watch
from tractable.base.settings import Between, OneOf, redeclare, setting
from tractable.circuit import Graph
from tractable.data import Table
from tractable.learning.joint.bayesian.search import TreeSearch
from tractable.learning.joint.markov import MarkovLearner
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.pieces import learn_through_pieces
from tractable.networks import Network, TooLargeError, compile_network

PENALTY = 3.0  # nats for each parameter where validation rows stop the search early ...
PENALTY_ALONE = 6.0  # ... and where there are none
LATE_LIMIT = 100_000  # table entries that compiling may take when the time is over
FIRST_TRIED = 16  # splits that are compiled first then, if all of them are too many


class Grown(NamedTuple):
    """How far the search for splits has come."""

    score: float  # what the validation rows have gained
    best_score: float
    best: int  # splits at the best score
    history: Ints  # (splits, 2) leaves, and the columns that they were split on
    memory: State  # of the search


class Bounds(NamedTuple):
    """Between which numbers of splits the largest circuit within the limit is."""

    fits: int
    too_many: int


GROWN = Key(__name__, "grown", Grown)
BOUNDS = Key(__name__, "bounds", Bounds)


@final
@dataclass(frozen=True, kw_only=True)
class BayesianNetworkLearner(PoolingLearner):
    """A Bayesian network of decision trees, learned by greedy splits and compiled to a circuit.

    If the circuit would be too large, the last splits are omitted from it; the extra `network` is the
    complete network. Numeric columns are discretised into intervals, with a density on each.
    """

    name: ClassVar[str] = "bayesian-network"
    title: ClassVar[str] = "Bayesian network of trees"
    extra_texts: ClassVar[Mapping[str, str]] = {
        "network": "The whole Bayesian network; the states of a numeric column are its pieces."
    }

    smoothing: float = setting(
        2.0,
        "Pseudo-count of the distribution in each leaf of a decision tree, spread evenly over the states.",
        at_least=0,
        search=Between(0.1, 10, log=True),
    )
    split_penalty: float | None = setting(
        None,
        "Minimum gain in log-likelihood, in nats, for each parameter that a split adds. If none, it is 3"
        " with validation rows and 6 without them.",
        at_least=0,
        search=OneOf(None, 1.0, 2.0, 4.0, 6.0, 10.0),
    )
    patience: int = redeclare(MarkovLearner, "patience", 300)
    limit: int = setting(
        1_000_000,
        "Maximum number of table entries for compiling the network, which is close to the number of edges in"
        " the circuit. If all splits together exceed it, the last ones are omitted from the circuit.",
        at_least=1,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        networks: list[Network] = []

        def learn(part: Table, held_out: Table | None) -> Graph:
            search = TreeSearch(
                part,
                smoothing=self.smoothing,
                split_penalty=_penalty(self.split_penalty, held_out),
                held_out=held_out,
            )
            splits = grow(search, None if held_out is None else self.patience, watch.part("splits"))
            networks.append(search.network(splits))
            return self._compile(search, splits, watch.part("circuit"))

        graph = learn_through_pieces(table, valid, learn)
        return Learned(graph, {"network": networks[0]})

    def _compile(self, search: TreeSearch, splits: int, watch: Watch) -> Graph:
        """The circuit of as many of the first splits as the limit allows."""
        saved = watch.checkpoint(BOUNDS)
        if saved is None:
            whole = self._within_limit(search, splits, watch)
            if whole is not None:
                watch.report("circuit", splits, splits)
                return whole
        fits, too_many = saved or (0, splits)
        best = compile_network(search.network(fits))
        while too_many - fits > 1 and not watch.must_stop():
            tried = (fits + too_many) // 2
            if watch.should_stop():  # large circuits take too long now: soon there must be any
                tried = min(tried, max(2 * fits, FIRST_TRIED))
            graph = self._within_limit(search, tried, watch)
            if graph is None:
                too_many = tried
            else:
                best, fits = graph, tried
            watch.report(f"too large to compile with all splits, {fits} fit", fits, splits)
            watch.save_checkpoint(BOUNDS, partial(Bounds, fits, too_many))
        return best

    def _within_limit(self, search: TreeSearch, splits: int, watch: Watch) -> Graph | None:
        """The circuit of the first splits, or None if it is too large or the time is over."""
        late = watch.should_stop()
        limit = min(self.limit, LATE_LIMIT) if late else self.limit
        try:
            return compile_network(search.network(splits), limit, None if late else watch)
        except (TooLargeError, Stopped):
            return None


def grow(search: TreeSearch, patience: int | None, watch: Watch) -> int:
    """Make the best splits until none gains; returns the number of splits with the best validation score.

    With `patience`, stop after this many splits without improvement; without it, all splits are kept.
    """
    score, best_score, best = 0.0, 0.0, 0
    saved = watch.checkpoint(GROWN)
    if saved is not None:
        score, best_score, best = saved.score, saved.best_score, saved.best
        for leaf, column in saved.history.tolist():
            search.repeat_split(leaf, column)
        search.recall(saved.memory)
    while (split := search.best()) is not None and not watch.should_stop():
        search.split(*split[:2])
        score += search.splits[-1].held_out
        if score >= best_score:
            best, best_score = len(search.splits), score
        if len(search.splits) % 100 == 0:
            watch.report("splits", len(search.splits))
        if patience is not None and len(search.splits) >= best + patience:
            break
        watch.save_checkpoint(GROWN, partial(_grown, search, score, best_score, best))
    watch.report("splits", len(search.splits))
    return best


def _grown(search: TreeSearch, score: float, best_score: float, best: int) -> Grown:
    history = np.array([split[:2] for split in search.splits], dtype=np.int64).reshape(-1, 2)
    return Grown(score, best_score, best, history, search.memory())


def _penalty(asked: float | None, valid: Table | None) -> float:
    if asked is not None:
        return asked
    return PENALTY_ALONE if valid is None else PENALTY
