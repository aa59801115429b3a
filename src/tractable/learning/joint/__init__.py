"""Learners of joint distributions.

To add a learner: a file with a class that declares its settings, and a line in the table below. Its
estimator, its command-line settings, the tuner's search space, its entry of the reference page and the
contract tests follow from these two.
"""

from tractable.base.settings import Home, Registry
from tractable.learning.learner import Learned, Learner

LEARNERS: Registry[Learner] = Registry(
    "learner",
    {
        "independent": Home("tractable.learning.joint.independent", "IndependentLearner", "Independent"),
        "chow-liu": Home("tractable.learning.joint.chow_liu", "ChowLiuLearner", "ChowLiuTree"),
        "naive-bayes": Home("tractable.learning.joint.naive_bayes", "NaiveBayesLearner", "NaiveBayesMixture"),
        "hidden-chow-liu": Home(
            "tractable.learning.joint.hidden_chow_liu", "HiddenChowLiuLearner", "HiddenChowLiuTree"
        ),
        "latent-tree": Home(
            "tractable.learning.joint.latent_tree.learner", "LatentTreeLearner", "LatentTree"
        ),
        "learnspn": Home("tractable.learning.joint.learnspn.learner", "LearnSPNLearner", "LearnSPN"),
        "spn-svd": Home("tractable.learning.joint.rank_one.learner", "SPNSVDLearner", "SPNSVD"),
        "dennis-ventura": Home(
            "tractable.learning.joint.region_graph.learner", "DennisVenturaLearner", "DennisVentura"
        ),
        "region-grid": Home(
            "tractable.learning.joint.region_graph.learner", "RegionGridLearner", "RegionGrid"
        ),
        "gaussian-mixture": Home(
            "tractable.learning.joint.gaussian_mixture.learner", "GaussianMixtureLearner", "GaussianMixture"
        ),
        "mixture-of-trees": Home(
            "tractable.learning.joint.mixture_of_trees", "MixtureOfTreesLearner", "MixtureOfTrees"
        ),
        "continuous-mixture": Home(
            "tractable.learning.joint.continuous.learner", "ContinuousMixtureLearner", "ContinuousMixture"
        ),
        "cutset": Home("tractable.learning.joint.cutset.learner", "CutsetLearner", "CutsetNetwork"),
        "bayesian-network": Home(
            "tractable.learning.joint.bayesian.network", "BayesianNetworkLearner", "BayesianNetwork"
        ),
        "acbn": Home("tractable.learning.joint.bayesian.acbn", "ACBNLearner", "ACBN"),
        "acmn": Home("tractable.learning.joint.markov", "ACMNLearner", "ACMN"),
        "eacmn": Home("tractable.learning.joint.markov", "EACMNLearner", "EACMN"),
        "selective": Home("tractable.learning.joint.selective.learner", "SelectiveLearner", "SelectiveSPN"),
        "idspn": Home("tractable.learning.joint.idspn.learner", "IDSPNLearner", "IDSPN"),
        "auto": Home("tractable.learning.ensembles.auto.learner", "AutoLearner", "AutoTractable"),
    },
)

__all__ = ["LEARNERS", "Learned", "Learner"]
