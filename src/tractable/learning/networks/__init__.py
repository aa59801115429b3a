"""Learning of Markov networks by pseudo-likelihood, without a circuit.

Their answers are estimated by sampling. To add a learner: a file with a class that declares its settings, and
a line in the table below, from which the command line, the benchmark, `tr.MarkovNetwork` and the reference
page are generated.
"""

from tractable.base.settings import Home, Registry
from tractable.learning.networks.learner import NetworkLearner

NETWORK_LEARNERS: Registry[NetworkLearner] = Registry(
    "learner",
    {
        "l1-markov": Home("tractable.learning.networks.l1", "L1MarkovLearner"),
        "gssl": Home("tractable.learning.networks.gssl", "GSSLLearner"),
    },
)

__all__ = ["NETWORK_LEARNERS", "NetworkLearner"]
