"""From a table to a circuit. To add a learner: a file with a class, and a line in the table below."""

from tractable.learners.acbn import ACBNLearner
from tractable.learners.acmn import ACMNLearner
from tractable.learners.bayesian_network import BayesianNetworkLearner
from tractable.learners.chow_liu import ChowLiuLearner
from tractable.learners.eacmn import EACMNLearner
from tractable.learners.hidden_chow_liu import HiddenChowLiuLearner
from tractable.learners.idspn import IDSPNLearner
from tractable.learners.independent import IndependentLearner
from tractable.learners.latent_tree import LatentTreeLearner
from tractable.learners.learner import Learner
from tractable.learners.learnspn import LearnSPNLearner
from tractable.learners.mixture_of_trees import MixtureOfTreesLearner
from tractable.learners.naive_bayes import NaiveBayesLearner
from tractable.learners.settings import settings_from_text
from tractable.progress import Progress, Watch

LEARNERS: dict[str, type[Learner]] = {
    learner.name: learner
    for learner in (
        IndependentLearner, ChowLiuLearner, NaiveBayesLearner, HiddenChowLiuLearner, LatentTreeLearner,
        LearnSPNLearner, MixtureOfTreesLearner, BayesianNetworkLearner, ACBNLearner, ACMNLearner,
        EACMNLearner, IDSPNLearner,
    )
}  # fmt: skip

__all__ = ["LEARNERS", "Learner", "Progress", "Watch", "settings_from_text"]
