"""The base class of the learners of Markov networks with circuits."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit import Graph
from tractable.data import Schema, Table
from tractable.learning.growing import (
    FeatureStructure,
    FitEffort,
    JointLikelihood,
    Priors,
    SplitCosts,
    search_splits,
)
from tractable.learning.growing.joint_likelihood import LEAST_SMOOTHING
from tractable.learning.growing.objective import Objective
from tractable.learning.growing.search import model_forms
from tractable.learning.growing.structure import FACTOR_EDGES
from tractable.learning.joint.completion import complete
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.conditionals import pseudo_counts
from tractable.learning.statistics.encoding import encode
from tractable.learning.statistics.forests import Forest, chow_liu_forest
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


# ---- lowd and Rooshenas, «Learning Markov Networks with Arithmetic Circuits», AISTATS 2013 --------------


ACMN_TOLERANCE = 1e-5  # the part of the loss by which a step must lower it for the fit to go on


@final
@dataclass(frozen=True, kw_only=True)
class ACMNLearner(MarkovLearner):
    """A Markov network that grows together with its circuit from independent columns.

    All weights are refitted after each split. Missing cells are imputed by samples from a Chow-Liu tree.
    Numeric columns are discretised into intervals, with a density on each.
    """

    name: ClassVar[str] = "acmn"
    title: ClassVar[str] = "Markov network with its circuit"

    l1: float = redeclare(MarkovLearner, "l1", 1.0)
    split_cost: float = redeclare(MarkovLearner, "split_cost", 4.0)
    edge_cost: float = redeclare(MarkovLearner, "edge_cost", 10.0)
    steps: int = setting(
        10,
        "Maximum number of quasi-Newton steps for fitting all weights after each split.",
        at_least=1,
    )

    def _plant(self, objective: JointLikelihood, table: Table, watch: Watch) -> None:
        pass  # it begins with independent columns

    def _first_effort(self) -> FitEffort:
        return FitEffort(100, 1e-9)

    def _fit_effort(self) -> FitEffort:
        return FitEffort(self.steps, ACMN_TOLERANCE)


# ---- ACMN with the heuristics of Rooshenas, «Learning Tractable Graphical Models», 2017, section 4.3.1 ----


EACMN_STEPS, EACMN_TOLERANCE = 3, 1e-6  # of the fit of all weights after each split


@final
@dataclass(frozen=True, kw_only=True)
class EACMNLearner(MarkovLearner):
    """A Markov network that grows together with its circuit from a Chow-Liu tree.

    Each split is followed by a few steps of a fit of all weights. Missing cells are imputed by samples from
    the Chow-Liu tree. Numeric columns are discretised into intervals, with a density on each.
    """

    name: ClassVar[str] = "eacmn"
    title: ClassVar[str] = "Markov network grown from a tree"

    min_support: float = setting(
        1e-4,
        "Minimum fraction of the rows in which a feature must hold to be considered for a split.",
        at_least=0,
        at_most=1,
    )

    def _plant(self, objective: JointLikelihood, table: Table, watch: Watch) -> None:
        forest = chow_liu_forest(encode(table), 1.0, link_cost=1.0, watch=watch)
        plant_tree(objective, forest, max(self.smoothing, LEAST_SMOOTHING), table.schema)

    def _first_effort(self) -> FitEffort:
        return FitEffort(100, 1e-8)

    def _costs(self) -> SplitCosts:
        return replace(super()._costs(), least_support=self.min_support)

    def _fit_effort(self) -> FitEffort:
        return FitEffort(EACMN_STEPS, EACMN_TOLERANCE)


def plant_tree(objective: JointLikelihood, forest: Forest, smoothing: float, schema: Schema) -> None:
    """Split the features of independent columns so that the model becomes a tree.

    Every state of a column is split on the column's parent, columns far from the root first: then each sum
    over the states of a column is below those of its parent, as in the circuit of a compiled tree. The
    weights of the tree are their own prior means. The priors are about what the search adds to the tree; with
    many columns and few rows they would remove the tree itself.
    """
    structure = objective.structure
    for column in forest.order[::-1].tolist():
        parent = int(forest.parent[column])
        if parent >= 0:
            first = structure.states_of(column).start
            ordered = [schema[each].kind == "ordinal" for each in (parent, column)]
            for state, weight in enumerate(_tree_weights(objective, (column, parent), smoothing, ordered)):
                structure.split(first + state, parent)
                objective.add_split(first + state, parent, weight, prior_mean=weight)


def _tree_weights(
    objective: JointLikelihood, link: tuple[int, int], smoothing: float, ordered: Sequence[bool]
) -> Floats:
    """The weight of each state of a column with each state of its parent: how much likelier they make it."""
    column, parent = (objective.structure.states_of(each) for each in link)
    frequencies = objective.frequencies
    above = frequencies.values[parent]
    rows = objective.total * frequencies.values[column][:, None]
    shares = [frequencies.state_shares(feature)[parent] for feature in range(column.start, column.stop)]
    counts = rows * np.stack(shares)
    counts = counts + smoothing * pseudo_counts(counts, above, *ordered)
    total = counts.sum(axis=1, keepdims=True) if any(ordered) else rows + smoothing
    return np.log(counts / total / above)
