"""From a table to a circuit. To add a learner: a file with a class, and a line in the table below."""

from tractable.learners.bayesian.acbn import ACBNLearner
from tractable.learners.bayesian.network import BayesianNetworkLearner
from tractable.learners.chow_liu import ChowLiuLearner
from tractable.learners.hidden_chow_liu import HiddenChowLiuLearner
from tractable.learners.idspn.learner import IDSPNLearner
from tractable.learners.independent import IndependentLearner
from tractable.learners.latent_tree.learner import LatentTreeLearner
from tractable.learners.learner import Learner
from tractable.learners.learnspn.learner import LearnSPNLearner
from tractable.learners.markov.acmn import ACMNLearner
from tractable.learners.markov.eacmn import EACMNLearner
from tractable.learners.mixtures.mixture_of_trees import MixtureOfTreesLearner
from tractable.learners.mixtures.naive_bayes import NaiveBayesLearner
from tractable.progress import Progress, Watch
from tractable.settings.text import settings_from_text

LEARNERS: dict[str, type[Learner]] = {
    learner.name: learner
    for learner in (
        IndependentLearner, ChowLiuLearner, NaiveBayesLearner, HiddenChowLiuLearner, LatentTreeLearner,
        LearnSPNLearner, MixtureOfTreesLearner, BayesianNetworkLearner, ACBNLearner, ACMNLearner,
        EACMNLearner, IDSPNLearner,
    )
}  # fmt: skip

__all__ = ["LEARNERS", "Learner", "Progress", "Watch", "settings_from_text"]
