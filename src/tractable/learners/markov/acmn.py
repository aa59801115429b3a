"""Lowd and Rooshenas, «Learning Markov Networks with Arithmetic Circuits», AISTATS 2013."""

from dataclasses import dataclass
from typing import ClassVar, final

from tractable.data import Table
from tractable.growing import FitEffort, JointLikelihood
from tractable.learners.learner import require_at_least
from tractable.learners.markov.base import MarkovLearner

TOLERANCE = 1e-5  # the part of the loss by which a step must lower it for the fit to go on


@final
@dataclass(frozen=True, kw_only=True)
class ACMNLearner(MarkovLearner):
    """A Markov network grown from independent columns; all weights are fitted after each split."""

    name: ClassVar[str] = "acmn"
    title: ClassVar[str] = "Markov network with its circuit"

    l1: float = 1.0  # cost of the absolute value of a weight, in nats
    split_cost: float = 4.0  # nats that a split must gain
    edge_cost: float = 10.0  # nats that each new edge must gain; halved while no split does
    steps: int = 10  # of the fit of all weights after each split, at most

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, steps=1)

    def _plant(self, objective: JointLikelihood, table: Table) -> None:
        objective.fit(FitEffort(100, 1e-9))

    def _fit_effort(self) -> FitEffort:
        return FitEffort(self.steps, TOLERANCE)
