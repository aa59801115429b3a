"""Lowd and Rooshenas, «Learning Markov Networks with Arithmetic Circuits», AISTATS 2013."""

from dataclasses import dataclass
from typing import ClassVar, final

from tractable.base.progress import Watch
from tractable.base.settings import redeclare, setting
from tractable.data import Table
from tractable.learning.growing import FitEffort, JointLikelihood
from tractable.learning.joint.markov.base import MarkovLearner

TOLERANCE = 1e-5  # the part of the loss by which a step must lower it for the fit to go on


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
        return FitEffort(self.steps, TOLERANCE)
