"""The scikit-learn face of the learners."""

from tractable.estimators.base import TableEstimator
from tractable.estimators.bayesian_network import BayesianNetwork
from tractable.estimators.hidden_chow_liu import HiddenChowLiuTree
from tractable.estimators.joint import ChowLiuTree, Independent, LatentTree, NaiveBayesMixture
from tractable.estimators.learnspn import LearnSPN
from tractable.estimators.markov import ACMN, EACMN
from tractable.estimators.mixture_of_trees import MixtureOfTrees

__all__ = [
    "ACMN",
    "EACMN",
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
