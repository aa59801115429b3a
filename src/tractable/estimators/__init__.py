"""The scikit-learn face of the learners."""

from tractable.estimators.base import TableEstimator
from tractable.estimators.bayesian_network import BayesianNetwork
from tractable.estimators.growing import ACBN, ACMN, EACMN
from tractable.estimators.hidden_chow_liu import HiddenChowLiuTree
from tractable.estimators.idspn import IDSPN
from tractable.estimators.joint import ChowLiuTree, Independent, LatentTree, NaiveBayesMixture
from tractable.estimators.learnspn import LearnSPN
from tractable.estimators.mixture_of_trees import MixtureOfTrees

__all__ = [
    "ACBN",
    "ACMN",
    "EACMN",
    "IDSPN",
    "BayesianNetwork",
    "ChowLiuTree",
    "HiddenChowLiuTree",
    "Independent",
    "LatentTree",
    "LearnSPN",
    "MixtureOfTrees",
    "NaiveBayesMixture",
    "TableEstimator",
]
