"""Ravikumar, Wainwright and Lafferty, «High-Dimensional Ising Model Selection Using l1-Regularized Logistic
Regression», 2010: each column regressed on all others gives the pairs of a Markov network.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.base.progress import Key, Stopped, Watch
from tractable.base.settings import setting
from tractable.data import Table
from tractable.engine.sweep import map_threads, threads_or_default
from tractable.learning.networks.indicators import state_indicators
from tractable.learning.networks.l1.regression import regress
from tractable.learning.networks.learner import NetworkLearner
from tractable.learning.networks.penalties import choose_penalty, penalty_path
from tractable.learning.networks.pseudo_likelihood.objective import PseudoLikelihood
from tractable.learning.networks.pseudo_likelihood.weights import log_weights
from tractable.networks import FeatureFactor, Network

FINISHED = Key(__name__, "finished", list[Floats | None])


@final
@dataclass(frozen=True, kw_only=True)
class L1MarkovLearner(NetworkLearner):
    """A pairwise Markov network, learned by one L1-regularised logistic regression per column.

    Two columns are connected if either regression has a non-zero coefficient for the other; the weight of a
    pair of states is the mean of the two coefficients.
    """

    name: ClassVar[str] = "l1-markov"
    title: ClassVar[str] = "pairwise Markov network by L1-regularised regressions"

    penalty: tuple[float, ...] = setting(
        (10.0, 2.0, 5.0, 20.0, 50.0),
        "Strengths of the L1 penalty of the regressions, in nats over all rows per unit of a coefficient."
        " With validation rows, all values are tried and the network with the highest pseudo-likelihood on"
        " them is kept; otherwise the first is used. Larger penalties give fewer features.",
        at_least=0,
    )
    tolerance: float = setting(
        1e-2,
        "Stopping tolerance of each regression. Coordinate descent ends when no step changes the objective"
        " by more than this many nats over all rows.",
        at_least=0,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Network:
        regressions = _Regressions(table)

        def fit(penalty: float, start: list[Floats], part: Watch) -> list[Floats]:
            return regressions.fit(penalty, self.tolerance, start, part)

        def score(coefficients: list[Floats]) -> float:
            assert valid is not None
            features = regressions.features(coefficients)
            return PseudoLikelihood(features, valid).mean(log_weights(features))

        path = penalty_path(self.penalty, valid)
        best = choose_penalty(path, regressions.zeros(), fit, None if valid is None else score, watch)
        return Network(table.schema, tuple(regressions.features(best)), "markov")


class _Regressions:
    """One regression for each column, on the states of all others; a column of two states has one class."""

    def __init__(self, table: Table) -> None:
        self.indicators = state_indicators(table, without_most_frequent=False)
        self.owned = np.bincount(self.indicators.column, minlength=len(table.schema))  # of each column

    def zeros(self) -> list[Floats]:
        """Coefficients of zero for each regression, (classes, 1 + indicators)."""
        return [np.zeros((k, 1 + self.indicators.column.size)) for k in self.owned.tolist()]

    def fit(self, penalty: float, tolerance: float, start: list[Floats], watch: Watch) -> list[Floats]:
        """The coefficients of all of them, fitted from a start; some remain unfitted when time is over."""
        finished: list[Floats | None] = watch.checkpoint(FINISHED) or [None] * len(start)
        answer = [old.copy() if known is None else known for old, known in zip(start, finished, strict=True)]

        def run(column: int) -> None:
            target = np.ascontiguousarray(self.indicators.codes[:, column])
            usable: Bools = self.indicators.column != column
            states = self.indicators.occurrences
            with suppress(Stopped):
                regress(states, usable, target, penalty, tolerance, answer[column], watch.break_off)
                finished[column] = answer[column]
                watch.save_checkpoint(FINISHED, lambda: finished)

        waiting = [column for column in np.flatnonzero(self.owned).tolist() if finished[column] is None]
        map_threads(run, waiting, threads_or_default(None))
        return answer

    def features(self, coefficients: list[Floats]) -> list[FeatureFactor]:
        """A feature for each indicator alone, and for each pair with a weight in either of its regressions.

        The weight of a pair is the mean of the two.
        """
        lines = np.concatenate(coefficients)
        pairs: Floats = np.triu((lines[:, 1:] + lines[:, 1:].T) / 2, 1)
        one, other = np.nonzero(pairs)
        alone = [self.indicators.feature([i], w) for i, w in enumerate(lines[:, 0].tolist())]
        together = zip(one.tolist(), other.tolist(), pairs[one, other].tolist(), strict=True)
        return [*alone, *(self.indicators.feature([i, j], w) for i, j, w in together)]
