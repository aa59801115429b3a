"""A Bayesian network whose conditional distributions are decision trees, as far as it can be compiled."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.circuit import Graph, remember
from tractable.data import Table
from tractable.learners.bayesian.search import TreeSearch
from tractable.learners.learner import Learner, require_at_least
from tractable.networks import Network, TooLargeError, compile_network
from tractable.progress import Watch
from tractable.settings.spaces import Between, OneOf, Space
from tractable.statistics.attached_columns import learned_over_states

NETWORK = "the network that was learned"
PENALTY = 3.0  # nats for each parameter where validation rows say when to stop ...
PENALTY_ALONE = 6.0  # ... and where nothing else does


@final
@dataclass(frozen=True, kw_only=True)
class BayesianNetworkLearner(Learner):
    """Greedy splits of one tree a column, stopped by validation rows, then compiled to a circuit.

    Where the circuit would be too large, the last splits are left out of it; `learned_network` is still the
    whole network. Numbers are told by one categorical column each.
    """

    name: ClassVar[str] = "bayesian-network"
    title: ClassVar[str] = "Bayesian network of trees"
    space: ClassVar[Space] = {
        "smoothing": Between(0.1, 10, log=True),
        "split_penalty": OneOf(None, 1.0, 2.0, 4.0, 6.0, 10.0),
    }

    smoothing: float = 2.0  # imaginary rows in each leaf, spread evenly
    split_penalty: float | None = None  # nats for each parameter of a split; 3, or 6 without validation rows
    patience: int = 300  # splits without a better score on the validation rows before stopping
    limit: int = 1_000_000  # entries that compiling may take; some seconds and about as many edges

    def __post_init__(self) -> None:
        require_at_least(self, smoothing=0, patience=1, limit=1)
        if self.split_penalty is not None:
            require_at_least(self, split_penalty=0)

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        networks: list[Network] = []

        def learn(part: Table, held_out: Table | None) -> Graph:
            search = TreeSearch(
                part,
                smoothing=self.smoothing,
                split_penalty=_penalty(self.split_penalty, held_out),
                held_out=held_out,
            )
            splits = grow(search, None if held_out is None else self.patience, watch)
            networks.append(search.network(splits))
            return self._compiled(search, splits, watch)

        graph = learned_over_states(table, valid, self.smoothing, learn)
        if networks:  # none, where all columns are numbers
            remember(graph, NETWORK, lambda _: networks[0])
        return graph

    def _compiled(self, search: TreeSearch, splits: int, watch: Watch) -> Graph:
        """The circuit of the most of the first splits that are not too many."""
        whole = self._within_limit(search, splits)
        if whole is not None:
            watch.report("circuit", splits, splits)
            return whole
        best, fits, too_many = compile_network(search.network(0)), 0, splits
        while too_many - fits > 1 and not watch.should_stop():
            tried = (fits + too_many) // 2
            graph = self._within_limit(search, tried)
            if graph is None:
                too_many = tried
            else:
                best, fits = graph, tried
            watch.report(f"too large to compile with all splits, {fits} fit", fits, splits)
        return best

    def _within_limit(self, search: TreeSearch, splits: int) -> Graph | None:
        try:
            return compile_network(search.network(splits), self.limit)
        except TooLargeError:
            return None


def learn_network(
    table: Table,
    *,
    valid: Table | None = None,
    smoothing: float = 2.0,
    split_penalty: float | None = None,
    patience: int = 300,
    watch: Watch | None = None,
) -> Network:
    """The Bayesian network of a table of categorical columns; see `BayesianNetworkLearner` for the settings.

    Raises:
        ValueError: if a column is a number.
    """
    penalty = _penalty(split_penalty, valid)
    search = TreeSearch(table, smoothing=smoothing, split_penalty=penalty, held_out=valid)
    return search.network(grow(search, patience if valid is not None else None, watch or Watch()))


def learned_network(graph: Graph) -> Network | None:
    """The whole network that a circuit of this learner stands for; None if its columns are numbers only."""
    network: Network | None = graph.facts.get(NETWORK)
    return network


def grow(search: TreeSearch, patience: int | None, watch: Watch) -> int:
    """Make the best splits until none gains; the number of splits that did best on the held-out rows.

    With `patience`, stop after so many splits without a better score there; without, all of them are best.
    """
    score, best_score, best = 0.0, 0.0, 0
    while (found := search.best()) is not None and not watch.should_stop():
        search.split(*found[:2])
        score += search.splits[-1].held_out
        if score >= best_score:
            best, best_score = len(search.splits), score
        if len(search.splits) % 100 == 0:
            watch.report("splits", len(search.splits))
        if patience is not None and len(search.splits) >= best + patience:
            break
    watch.report("splits", len(search.splits))
    return best


def _penalty(asked: float | None, valid: Table | None) -> float:
    if asked is not None:
        return asked
    return PENALTY_ALONE if valid is None else PENALTY
