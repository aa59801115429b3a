"""Priors are chosen by the validation rows: each strength is raised or lowered while that helps."""

from collections.abc import Iterator
from typing import Protocol

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.learning.growing import FitEffort, Priors, Snapshot

FACTOR = 3.0  # by which the L1 penalty or the variance changes in a step


class WithPriors(Protocol):
    """Weights that can be fitted under other priors."""

    @property
    def priors(self) -> Priors:
        """The priors of the weights."""

    @property
    def has_validation_rows(self) -> bool:
        """Whether the score is that of validation rows."""

    @property
    def score(self) -> float:
        """How well the weights do."""

    def snapshot(self) -> Snapshot:
        """The weights to return to."""

    def change_priors(self, priors: Priors, weights: Floats) -> None:
        """Take other priors, and weights."""

    def fit(self, effort: FitEffort, watch: Watch) -> None:
        """Fit the weights."""


def choose_priors(objective: WithPriors, effort: FitEffort, most: int, watch: Watch) -> None:
    """Select priors on the validation rows, with a limited number of fits.

    Every fit starts from the best weights so far. The objective is left with the best weights and their
    priors.
    """
    best, priors = objective.snapshot(), objective.priors
    tried = {_key(priors)}
    fits = 0
    searching = objective.has_validation_rows
    while searching:
        searching = False
        for other in list(_neighbours(priors)):
            if _key(other) in tried or fits >= most or watch.should_stop():
                continue
            tried.add(_key(other))
            fits += 1
            objective.change_priors(other, best.weights)
            objective.fit(effort, watch.part(f"priors {fits}"))
            if objective.score > best.score:
                best, priors, searching = objective.snapshot(), other, True
                break
    objective.change_priors(priors, best.weights)


def _neighbours(priors: Priors) -> Iterator[Priors]:
    yield Priors(priors.l1 * FACTOR, priors.variance)
    yield Priors(priors.l1, priors.variance * FACTOR)
    yield Priors(priors.l1, priors.variance / FACTOR)
    yield Priors(priors.l1 / FACTOR, priors.variance)


def _key(priors: Priors) -> tuple[float, float]:
    return round(priors.l1, 9), round(priors.variance, 9)
