"""What the learners of Markov networks share: tables with numbers, and the way from a search to a circuit."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.circuit import Graph
from tractable.data import Table, collapse
from tractable.growing import FeatureStructure, FitEffort, JointLikelihood, Priors, SplitCosts, SplitSearch
from tractable.learners.learner import Learner, require_at_least
from tractable.progress import Watch
from tractable.settings.spaces import Between, Space
from tractable.statistics.attached_columns import learned_over_states

FINAL_EFFORT = FitEffort(300, 1e-9)  # of the last fit of all weights


@dataclass(frozen=True, kw_only=True)
class MarkovLearner(Learner):
    """Splits features of a Markov network while the likelihood gained is worth the edges of its circuit.

    Numbers hang on the categorical columns that tell most about them.
    """

    space: ClassVar[Space] = {
        "l1": Between(0.1, 5, log=True),
        "variance": Between(0.1, 5, log=True),
        "split_cost": Between(1, 10),
    }

    l1: float = 2.0  # cost of the absolute value of a weight, in nats
    variance: float = 2.0  # of the Gaussian prior of a weight
    split_cost: float = 3.0  # nats that a split must gain
    edge_cost: float = 0.1  # nats that each new edge must gain; halved while no split does
    max_edges: int = 1_000_000  # of the circuit
    smoothing: float = 1.0  # imaginary rows in the distribution of each column alone
    patience: int = 100  # splits without a better score on the validation rows before stopping

    def __post_init__(self) -> None:
        require_at_least(self, l1=0, variance=1e-9, split_cost=0, edge_cost=1e-9, max_edges=0, patience=1)
        require_at_least(self, smoothing=0)

    @final
    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Graph:
        def learn(part: Table, held_out: Table | None) -> Graph:
            rows, _ = collapse(part if part.row_weights.all() else part.take(part.row_weights > 0))
            structure = FeatureStructure(rows.schema.cardinalities)
            objective = JointLikelihood(
                structure,
                rows,
                held_out,
                Priors(self.l1, self.variance),
                smoothing=self.smoothing,
                effort=self._fit_effort(),
            )
            self._plant(objective, rows)
            SplitSearch(objective, self._costs(), watch).run(self.patience)
            objective.fit(FINAL_EFFORT)
            return structure.freeze(rows.schema, objective.weights, -objective.log_partition)

        return learned_over_states(table, valid, self.smoothing, learn)

    @abstractmethod
    def _plant(self, objective: JointLikelihood, table: Table) -> None:
        """Make the splits that the search begins with, and fit all weights; the table has distinct rows."""

    def _costs(self) -> SplitCosts:
        return SplitCosts(split=self.split_cost, edge=self.edge_cost, max_edges=self.max_edges)

    @abstractmethod
    def _fit_effort(self) -> FitEffort:
        """How thoroughly weights are fitted after each split."""
