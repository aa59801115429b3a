"""The scikit-learn face of the learners."""

from tractable.estimators.base import TableEstimator
from tractable.estimators.joint import ChowLiuTree, Independent, NaiveBayesMixture

__all__ = ["ChowLiuTree", "Independent", "NaiveBayesMixture", "TableEstimator"]
