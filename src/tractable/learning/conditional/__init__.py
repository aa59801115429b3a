"""Learners of conditional distributions P(targets | inputs) as circuits.

To add a learner: a file with a class that declares its settings, and a line in the table below. Its
command-line settings, its entry of the reference page and the contract tests follow from these two.
"""

from tractable.base.settings import Home, Registry
from tractable.learning.conditional.learner import ConditionalLearner

CONDITIONAL: Registry[ConditionalLearner] = Registry(
    "learner",
    {
        "daclearn": Home("tractable.learning.conditional.daclearn", "DACLearnLearner", "DACLearn"),
        "cacmn": Home("tractable.learning.conditional.cacmn", "CACMNLearner", "CACMN"),
        "mctbn": Home("tractable.learning.conditional.mctbn", "MCTBNLearner", "MCTBN"),
        "gaclearn": Home("tractable.learning.conditional.gaclearn", "GACLearnLearner", "GACLearn"),
        "conditional-spn": Home(
            "tractable.learning.conditional.conditional_spn", "ConditionalSPNLearner", "ConditionalSPN"
        ),
        "conditional-mixture": Home(
            "tractable.learning.conditional.conditional_mixture.learner",
            "ConditionalMixtureLearner",
            "ConditionalMixture",
        ),
        "dspn-svd": Home(
            "tractable.learning.conditional.dspn_svd.learner", "DSPNSVDLearner", "DSPNSVD", is_made=False
        ),
    },
)

__all__ = ["CONDITIONAL", "ConditionalLearner"]
