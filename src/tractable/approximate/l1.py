"""Ravikumar, Wainwright and Lafferty, «High-Dimensional Ising Model Selection Using l1-Regularized Logistic
Regression», 2010: each column regressed on all others gives the pairs of a Markov network.
"""

from dataclasses import dataclass

import numpy as np

from tractable.approximate.inputs import states_of
from tractable.approximate.l1_kernels import regress
from tractable.approximate.pseudo_likelihood import PseudoLikelihood
from tractable.arrays import Bools, Floats
from tractable.data import Table
from tractable.engine.sweep import map_threads, threads_or_default
from tractable.networks import FeatureFactor, Network
from tractable.progress import Watch


@dataclass(frozen=True, kw_only=True)
class L1Regressions:
    """A Markov network of pairs of states, from one regression a column.

    Of several penalties the one whose network has the best pseudo-likelihood on validation rows is kept;
    without any rows, the first.
    """

    penalty: tuple[float, ...] = (10.0, 2.0, 5.0, 20.0, 50.0)  # nats on all rows for each unit of a weight
    tolerance: float = 1e-2  # nats that a regression's last steps may still be worth

    def learn(self, table: Table, *, valid: Table | None = None, watch: Watch | None = None) -> Network:
        """The network of a table of categorical columns; cells may be missing, rows weighted.

        Raises:
            ValueError: if a column is a number.
        """
        network = Network(table.schema, (), "markov")  # which refuses numbers by name
        regressions, progress = _Regressions(table), watch or Watch()
        penalties = sorted(set(self.penalty if valid is not None else self.penalty[:1]), reverse=True)
        best_score = -np.inf
        for done, penalty in enumerate(penalties):  # the largest first: few weights to begin the next with
            regressions.fit(penalty, self.tolerance)
            features = regressions.features()
            score = 0.0 if valid is None else _score(features, valid)
            if score > best_score:
                best_score, network = score, Network(table.schema, tuple(features), "markov")
            progress.report(
                "regressions", done + 1, len(penalties), best_score if valid is not None else None
            )
            if progress.should_stop():
                break
        return network


def _score(features: list[FeatureFactor], valid: Table) -> float:
    return PseudoLikelihood(features, valid).mean(np.array([f.log_weight for f in features]))


class _Regressions:
    """One regression for each column, on the states of all others; a column of two states has one class."""

    def __init__(self, table: Table) -> None:
        self.schema = table.schema
        self.states = states_of(table, unusual=False)
        self.owned = np.bincount(self.states.column, minlength=len(table.schema))  # inputs of each column
        width = 1 + self.states.column.size
        self.coefficients = [np.zeros((k, width)) for k in self.owned.tolist()]

    def fit(self, penalty: float, tolerance: float) -> None:
        """Fit all of them, from where they stand."""

        def run(column: int) -> None:
            target = np.ascontiguousarray(self.states.codes[:, column])
            usable: Bools = self.states.column != column
            regress(self.states.inputs, usable, target, penalty, tolerance, self.coefficients[column])

        map_threads(run, np.flatnonzero(self.owned).tolist(), threads_or_default(None))

    def features(self) -> list[FeatureFactor]:
        """A feature for each input alone, and for each pair with a weight in either of its regressions.

        The weight of a pair is the mean of the two.
        """
        lines = np.concatenate(self.coefficients)
        pairs: Floats = np.triu((lines[:, 1:] + lines[:, 1:].T) / 2, 1)
        one, other = np.nonzero(pairs)
        alone = [self.states.feature([i], w) for i, w in enumerate(lines[:, 0].tolist())]
        together = zip(one.tolist(), other.tolist(), pairs[one, other].tolist(), strict=True)
        return [*alone, *(self.states.feature([i, j], w) for i, j, w in together)]
