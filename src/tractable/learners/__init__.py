"""From a table to a circuit.

To add a learner: a file with a class that declares its settings, and a line in the table below. Its
estimator, its command-line settings, the tuner's search space, its entry of the reference page and the
contract tests follow from these two.
"""

from tractable.learners.learner import Learned, Learner
from tractable.settings import Home, Registry

LEARNERS: Registry[Learner] = Registry(
    "learner",
    {
        "independent": Home("tractable.learners.independent", "IndependentLearner", "Independent"),
        "chow-liu": Home("tractable.learners.chow_liu", "ChowLiuLearner", "ChowLiuTree"),
        "naive-bayes": Home(
            "tractable.learners.mixtures.naive_bayes", "NaiveBayesLearner", "NaiveBayesMixture"
        ),
        "hidden-chow-liu": Home(
            "tractable.learners.hidden_chow_liu", "HiddenChowLiuLearner", "HiddenChowLiuTree"
        ),
        "latent-tree": Home("tractable.learners.latent_tree.learner", "LatentTreeLearner", "LatentTree"),
        "learnspn": Home("tractable.learners.learnspn.learner", "LearnSPNLearner", "LearnSPN"),
        "spn-svd": Home("tractable.learners.rank_one.learner", "SPNSVDLearner", "SPNSVD"),
        "dennis-ventura": Home(
            "tractable.learners.region_graph.learner", "DennisVenturaLearner", "DennisVentura"
        ),
        "region-grid": Home("tractable.learners.region_graph.learner", "RegionGridLearner", "RegionGrid"),
        "gaussian-mixture": Home(
            "tractable.learners.gaussian_mixture.learner", "GaussianMixtureLearner", "GaussianMixture"
        ),
        "mixture-of-trees": Home(
            "tractable.learners.mixtures.mixture_of_trees", "MixtureOfTreesLearner", "MixtureOfTrees"
        ),
        "continuous-mixture": Home(
            "tractable.learners.continuous.learner", "ContinuousMixtureLearner", "ContinuousMixture"
        ),
        "cutset": Home("tractable.learners.cutset.learner", "CutsetLearner", "CutsetNetwork"),
        "bayesian-network": Home(
            "tractable.learners.bayesian.network", "BayesianNetworkLearner", "BayesianNetwork"
        ),
        "acbn": Home("tractable.learners.bayesian.acbn", "ACBNLearner", "ACBN"),
        "acmn": Home("tractable.learners.markov.acmn", "ACMNLearner", "ACMN"),
        "eacmn": Home("tractable.learners.markov.eacmn", "EACMNLearner", "EACMN"),
        "selective": Home("tractable.learners.selective.learner", "SelectiveLearner", "SelectiveSPN"),
        "idspn": Home("tractable.learners.idspn.learner", "IDSPNLearner", "IDSPN"),
        "auto": Home("tractable.learners.auto.learner", "AutoLearner", "AutoTractable"),
    },
)

__all__ = ["LEARNERS", "Learned", "Learner"]
