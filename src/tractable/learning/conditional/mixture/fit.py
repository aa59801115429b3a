"""All weights of a mixture are fitted together, with early stopping on validation rows."""

from functools import partial
from typing import NamedTuple, final

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.learning.conditional.mixture.likelihood import MixtureLikelihood, MixturePoint
from tractable.learning.conditional.mixture.model import FieldMixture, MixturePriors
from tractable.learning.conditional.mixture.rows import GatedRows
from tractable.learning.growing import FitEffort
from tractable.learning.growing.quasi_newton import L1Prior, QuasiNewton

ROUND = FitEffort(10, 1e-7)  # between two looks at the validation rows
LEAST_PROGRESS = 1e-5  # part of the loss that a round must gain
PATIENCE = 3  # rounds without a better score


class Sample(NamedTuple):
    """Training rows, and validation rows if there are any."""

    rows: GatedRows
    held: GatedRows | None

    @property
    def judge(self) -> GatedRows:
        """The rows that say which of several models is best."""
        return self.rows if self.held is None else self.held


class Fitted(NamedTuple):
    """A mixture and its mean log-likelihood of the rows that judge it."""

    mixture: FieldMixture
    score: float


@final
class MixtureFit:
    """Fits mixtures of one structure."""

    def __init__(self, mixture: FieldMixture, sample: Sample, priors: MixturePriors) -> None:
        self._own = MixtureLikelihood(mixture, sample.rows)
        self._held = None if sample.held is None else MixtureLikelihood(mixture, sample.held)
        self._priors = priors

    def judge(self, mixture: FieldMixture) -> Fitted:
        """A mixture with its score."""
        return Fitted(mixture, (self._held or self._own).score(mixture))

    def fit_to_shares(self, mixture: FieldMixture, shares: Floats, steps: int, watch: Watch) -> FieldMixture:
        """The mixture after some steps towards rows that belong to its components in shares.

        `shares` is (components, rows).
        """
        point = self._own.point(mixture, self._priors, shares)
        effort = FitEffort(steps, ROUND.tolerance)
        return mixture.at(self._descend(QuasiNewton(), mixture, point, effort, watch, shares).weight)

    def improve(self, mixture: FieldMixture, rounds: int, watch: Watch) -> Fitted:
        """The best mixture on the way to the highest conditional likelihood, by the rows that judge it."""
        best, waited = self.judge(mixture), 0
        method, point = QuasiNewton(), self._own.point(mixture, self._priors)
        for number in range(rounds):
            watch.report("weights of the sum", number, rounds, best.score)
            if watch.should_stop() or waited == PATIENCE:
                break
            before = point.loss
            point = self._descend(method, mixture, point, ROUND, watch.part(f"round {number}"))
            found = self.judge(mixture.at(point.weight))
            waited = 0 if found.score > best.score else waited + 1
            best = found if found.score > best.score else best
            if before - point.loss < LEAST_PROGRESS * abs(point.loss):
                break
        return best

    def _descend(
        self,
        method: QuasiNewton,
        mixture: FieldMixture,
        point: MixturePoint,
        effort: FitEffort,
        watch: Watch,
        shares: Floats | None = None,
    ) -> MixturePoint:
        prior = L1Prior(self._priors.mean(mixture), self._priors.price(mixture))
        evaluate = partial(self._evaluate, mixture, shares)
        return method.descend(point, evaluate, prior, effort, watch)

    def _evaluate(self, mixture: FieldMixture, shares: Floats | None, vector: Floats) -> MixturePoint:
        return self._own.point(mixture.at(vector), self._priors, shares)
