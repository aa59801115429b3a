"""The scikit-learn face of the learners."""

from tractable.estimators.base import TableEstimator
from tractable.estimators.joint import ChowLiuTree, Independent, LatentTree, NaiveBayesMixture

__all__ = ["ChowLiuTree", "Independent", "LatentTree", "NaiveBayesMixture", "TableEstimator"]
