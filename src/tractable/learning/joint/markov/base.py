"""The base class of the learners of Markov networks with circuits."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np

from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, setting
from tractable.circuit import Graph
from tractable.data import Table
from tractable.learning.growing import (
    FeatureStructure,
    FitEffort,
    JointLikelihood,
    Priors,
    SplitCosts,
    search_splits,
)
from tractable.learning.growing.freeze import FACTOR_EDGES
from tractable.learning.growing.objective import Objective
from tractable.learning.growing.search import model_forms
from tractable.learning.joint.completion import complete
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.pieces import view_pieces

FIRST_FIT = Key(__name__, "first fit", Objective)

FINAL_EFFORT = FitEffort(300, 1e-9)  # of the last fit of all weights


@dataclass(frozen=True, kw_only=True)
class MarkovLearner(PoolingLearner):
    """A learner that splits features of a Markov network while their gain outweighs the added edges.

    Missing cells are imputed by samples from a Chow-Liu tree before features are counted, because feature
    frequencies that are estimated from different subsets of the rows may be inconsistent.
    """

    l1: float = setting(
        2.0,
        "Strength of the L1 penalty, in nats per unit of a feature weight's distance from its prior mean."
        " One fifth of it is used in tables with numeric columns.",
        at_least=0,
        search=Between(0.1, 5, log=True),
    )
    variance: float = setting(
        2.0,
        "Variance of the Gaussian prior of the feature weights. Ten times this value is used in tables with"
        " numeric columns.",
        at_least=1e-9,
        search=Between(0.1, 5, log=True),
    )
    split_cost: float = setting(
        3.0,
        "Minimum gain in log-likelihood that a split must bring, in nats over all rows.",
        at_least=0,
        search=Between(1, 10),
    )
    edge_cost: float = setting(
        0.1,
        "Minimum gain in log-likelihood, in nats, for each edge that a split adds to the circuit. It is"
        " halved whenever no remaining split meets it.",
        at_least=1e-9,
    )
    max_edges: int = setting(
        1_000_000,
        "Maximum number of edges in the circuit. The initial circuit may be larger.",
        at_least=0,
    )
    smoothing: float = setting(
        1.0,
        "Pseudo-count of the marginal distribution of each column in the initial model.",
        at_least=0,
    )
    patience: int = setting(
        100,
        "Early stopping: the search ends after this many splits without improvement on the validation rows.",
        at_least=1,
    )

    @final
    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        view = view_pieces(table)
        most_edges = max(self.max_edges - view.added_edges - FACTOR_EDGES, 0)
        costs = replace(self._costs(), max_edges=most_edges)

        def learn(part: Table, held_out: Table | None) -> Graph:
            rows, held_out = complete(part, held_out, rng)
            structure = FeatureStructure(rows.schema.cardinalities)
            objective = JointLikelihood(
                structure,
                rows,
                held_out,
                self._priors(has_pieces=part.schema != table.schema),
                smoothing=self.smoothing,
                effort=self._fit_effort(),
            )
            self._plant(objective, rows, watch)
            watch.remember(FIRST_FIT, partial(self._fit_first, objective), forms=model_forms(objective))
            search_splits(objective, costs, self.patience, watch)
            objective.fit(FINAL_EFFORT, watch.part("last fit"))
            return structure.freeze(rows.schema, objective.weights, -objective.log_partition)

        return Learned(view.learn(table, valid, learn))

    @abstractmethod
    def _plant(self, objective: JointLikelihood, table: Table, watch: Watch) -> None:
        """Make the initial splits of the search; the table has distinct rows."""

    @abstractmethod
    def _first_effort(self) -> FitEffort:
        """The effort of the fit of weights before the search."""

    def _fit_first(self, objective: JointLikelihood, watch: Watch) -> Objective:
        objective.fit(self._first_effort(), watch)
        return objective

    def _priors(self, has_pieces: bool) -> Priors:
        """The priors of the weights; weak for pieces of numbers, whose groups often exclude each other."""
        return Priors(self.l1 / 5, self.variance * 10) if has_pieces else Priors(self.l1, self.variance)

    def _costs(self) -> SplitCosts:
        return SplitCosts(split=self.split_cost, edge=self.edge_cost, max_edges=self.max_edges)

    @abstractmethod
    def _fit_effort(self) -> FitEffort:
        """The effort of the fit of weights after each split."""
