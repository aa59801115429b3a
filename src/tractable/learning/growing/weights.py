"""The weights of all features are fitted together, to how often the features hold in the rows."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.learning.growing.evaluator import FeatureExpectations
from tractable.learning.growing.gains import Priors
from tractable.learning.growing.quasi_newton import FitEffort, L1Prior, QuasiNewton


class FitTarget(NamedTuple):
    """What the weights are fitted to."""

    frequency: Floats  # (features,) how often each feature holds in the rows
    prior_mean: Floats  # (features,) the weights under which the priors cost nothing


class WeightState(NamedTuple):
    """Weights, and what the model makes of them."""

    weight: Floats  # (features,)
    expectations: FeatureExpectations
    loss: float  # the negative log-likelihood of all rows, and the cost of the priors: this is minimised
    slope: Floats  # (features,) the gradient of the smooth part of the loss
    curvature: Floats  # (features,) its second derivatives by single weights


class WeightFitter:
    """Fits weights step by step, and remembers the curvature of the loss while features are added."""

    def __init__(
        self, expectations: Callable[[Floats], FeatureExpectations], total: float, priors: Priors
    ) -> None:
        self._expectations = expectations
        self._total = total
        self._priors = priors
        self.method = QuasiNewton()

    def evaluate(self, weight: Floats, target: FitTarget) -> WeightState:
        """The state of the model under weights."""
        found, priors, away = self._expectations(weight), self._priors, weight - target.prior_mean
        fit = self._total * (found.log_partition - float(weight @ target.frequency))
        slope = self._total * (found.expected - target.frequency) + away / priors.variance
        curvature = self._total * found.expected * (1 - found.expected) + 1 / priors.variance
        return WeightState(weight, found, fit + priors.cost(away), slope, curvature)

    def fit(
        self, state: WeightState, target: FitTarget, effort: FitEffort, watch: Watch | None = None
    ) -> WeightState:
        """The state that the fit reaches from another one, or until the watch must stop.

        Each step of a fit with a watch may be a checkpoint.
        """
        evaluate = partial(self.evaluate, target=target)
        prior = L1Prior(target.prior_mean, self._priors.l1)
        return self.method.descend(state, evaluate, prior, effort, watch or Watch())
