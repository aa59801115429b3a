"""The scikit-learn estimators of the learners, generated from the settings that the learners declare."""

from typing import Any

from tractable.estimators.base import TableEstimator
from tractable.estimators.conditional import ConditionalEstimator
from tractable.estimators.factory import conditional_estimator_class, estimator_class
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS

__all__ = ["ConditionalEstimator", "TableEstimator", "conditional_estimator_class", "estimator_class"]


def __getattr__(name: str) -> Any:
    """The estimator class with this name, which is created on first access."""
    if name in CONDITIONAL.estimators:
        return conditional_estimator_class(name, CONDITIONAL[CONDITIONAL.estimators[name]])
    if name not in LEARNERS.estimators:
        raise AttributeError(f"module 'tractable.estimators' has no attribute '{name}'")
    return estimator_class(name, LEARNERS[LEARNERS.estimators[name]])


def __dir__() -> list[str]:
    return [*__all__, *LEARNERS.estimators, *CONDITIONAL.estimators]
