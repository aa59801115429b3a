"""ACMN with the heuristics of Rooshenas, «Learning Tractable Graphical Models», 2017, section 4.3.1."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from tractable.data import Table
from tractable.growing.markov import LEAST_SMOOTHING, MarkovModel
from tractable.growing.search import Costs, Fitting
from tractable.learners.markov.base import MarkovLearner
from tractable.settings import setting
from tractable.statistics.encoding import encode
from tractable.statistics.forests import Forest, chow_liu_forest

STEPS, TOLERANCE = 3, 1e-6  # of the fit of all weights after each split


@final
@dataclass(frozen=True, kw_only=True)
class EACMNLearner(MarkovLearner):
    """A Markov network grown from a Chow-Liu tree; the weights are fitted a few steps after each split."""

    name: ClassVar[str] = "eacmn"
    title: ClassVar[str] = "Markov network grown from a tree"

    min_support: float = setting(
        1e-4, "Share of the rows in which a feature must hold to be split further.", at_least=0, at_most=1
    )

    def _plant(self, model: MarkovModel, table: Table) -> None:
        forest = chow_liu_forest(encode(table), 1.0, link_cost=1.0)
        plant_tree(model, forest, max(self.smoothing, LEAST_SMOOTHING))
        model.fit(100, 1e-8)

    def _costs(self) -> Costs:
        return replace(super()._costs(), least_support=self.min_support)

    def _fitting(self) -> Fitting:
        return Fitting(STEPS, TOLERANCE)


def plant_tree(model: MarkovModel, forest: Forest, smoothing: float) -> None:
    """Give a model of independent columns the features of a tree.

    Every state of a column is split on the column's parent, columns far from the root first: so each sum over
    a column's states stands below those of its parent, as in a tree that is compiled. The tree costs nothing
    under the priors, which are about what the search adds to it: among many columns and few rows they would
    fell it.
    """
    for column in forest.order[::-1].tolist():
        parent = int(forest.parent[column])
        for feature in range(*model.states_of(column).indices(model.features)) if parent >= 0 else ():
            above = model.states_of(parent)
            rows = model.total * model.target[feature]
            part = (rows * model.parts(feature)[above] + smoothing * model.target[above]) / (rows + smoothing)
            weight = np.log(part / model.target[above])
            model.split(feature, parent, weight, home=weight)
