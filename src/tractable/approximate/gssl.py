"""Van Haaren and Davis, «Markov Network Structure Learning: A Randomized Feature Generation Approach»,
2012: conjunctions that rows suggest, weighed by pseudo-likelihood.
"""

from dataclasses import dataclass

import numpy as np

from tractable.approximate.gssl_kernels import generalise, supports
from tractable.approximate.inputs import States, states_of
from tractable.approximate.pseudo_likelihood import PseudoLikelihood, climbed, prices, weighted
from tractable.arrays import Int32s, Ints
from tractable.data import Table
from tractable.networks import FeatureFactor, Network
from tractable.progress import Watch


@dataclass(frozen=True, kw_only=True)
class GSSL:
    """Conjunctions that rows suggest: drawn by leaving out parts of rows, kept if many rows agree, weighed.

    Of several penalties the one whose network has the best pseudo-likelihood on validation rows is kept;
    without any rows, the first.
    """

    candidates: int = 100_000  # conjunctions that are drawn
    longest: int = 16  # conditions of a conjunction, at most
    support: float = 10.0  # rows that a conjunction must hold in
    features: int = 5_000  # conjunctions that are weighed, those drawn most often first
    penalty: tuple[float, ...] = (5.0, 2.0, 10.0, 20.0)  # nats on all rows for each unit of a weight
    l2: float = 1.0  # price of half the square of a weight
    steps: int = 200  # of L-BFGS, at most

    def learn(
        self,
        table: Table,
        rng: np.random.Generator,
        *,
        valid: Table | None = None,
        watch: Watch | None = None,
    ) -> Network:
        """The network of a table of categorical columns; cells may be missing, rows weighted.

        Raises:
            ValueError: if a column is a number.
        """
        progress = watch or Watch()
        empty = Network(table.schema, (), "markov")  # which refuses numbers by name
        features = self._features(table, rng)
        progress.report("features", len(features))
        objective = PseudoLikelihood(features, table)
        held_out = None if valid is None else PseudoLikelihood(features, valid)
        penalties = sorted(set(self.penalty if valid is not None else self.penalty[:1]), reverse=True)
        weight, best, best_score = np.array([f.log_weight for f in features]), None, -np.inf
        for done, penalty in enumerate(penalties):
            weight = climbed(objective, weight, prices(features, penalty), self.l2, self.steps)
            score = 0.0 if held_out is None else held_out.mean(weight)
            if best is None or score > best_score:
                best, best_score = weight, score
            progress.report("weights", done + 1, len(penalties), None if held_out is None else best_score)
            if progress.should_stop():
                break
        assert best is not None
        return Network(empty.schema, tuple(weighted(features, best)), "markov")

    def _features(self, table: Table, rng: np.random.Generator) -> list[FeatureFactor]:
        """One for each state but the usual one of each column, and the conjunctions."""
        states = states_of(table, unusual=True)
        alone = [states.feature([i], w) for i, w in enumerate(states.log_odds().tolist())]
        return [*alone, *self._conjunctions(states, rng)]

    def _conjunctions(self, states: States, rng: np.random.Generator) -> list[FeatureFactor]:
        start, literal = states.of_rows()
        if start.size == 1:
            return []
        drawn: Int32s = np.empty((self.candidates, self.longest), dtype=np.int32)
        generalise(start, literal, drawn, rng.integers(0, 2**64, 1, dtype=np.uint64))
        distinct, times = _distinct(drawn[drawn[:, 1] >= 0])
        often = supports(states.inputs, states.codes, states.column, states.state, distinct) >= self.support
        distinct, times = distinct[often], times[often]
        chosen = distinct[np.argsort(-times, kind="stable")[: self.features]]
        return [states.feature([i for i in line if i >= 0], 0.0) for line in chosen.tolist()]


def _distinct(lines: Int32s) -> tuple[Int32s, Ints]:
    """The different lines in the order of their first appearance, and how often each is there."""
    _, first, times = np.unique(lines, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return lines[first[order]], times[order]
