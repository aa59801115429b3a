"""ACMN with the heuristics of Rooshenas, «Learning Tractable Graphical Models», 2017, section 4.3.1."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.base.settings import setting
from tractable.data import Schema, Table
from tractable.learning.growing import FitEffort, JointLikelihood, SplitCosts
from tractable.learning.growing.joint_likelihood import LEAST_SMOOTHING
from tractable.learning.joint.markov.base import MarkovLearner
from tractable.learning.statistics.conditionals import pseudo_counts
from tractable.learning.statistics.encoding import encode
from tractable.learning.statistics.forests import Forest, chow_liu_forest

STEPS, TOLERANCE = 3, 1e-6  # of the fit of all weights after each split


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
        return FitEffort(STEPS, TOLERANCE)


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
