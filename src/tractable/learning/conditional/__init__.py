"""From a table with targets and inputs to a circuit of P(targets | inputs).

To add a learner: a file with a class that declares its settings, and a line in the table below. Its
command-line settings, its entry of the reference page and the contract tests follow from these two.
"""

from tractable.base.settings import Home, Registry
from tractable.learning.conditional.learner import ConditionalLearner

CONDITIONAL: Registry[ConditionalLearner] = Registry(
    "learner",
    {
        "daclearn": Home("tractable.learning.conditional.daclearn.learner", "DACLearnLearner", "DACLearn"),
        "cacmn": Home("tractable.learning.conditional.cacmn.learner", "CACMNLearner", "CACMN"),
        "mctbn": Home("tractable.learning.conditional.mctbn.learner", "MCTBNLearner", "MCTBN"),
        "gaclearn": Home("tractable.learning.conditional.gaclearn.learner", "GACLearnLearner", "GACLearn"),
        "conditional-spn": Home(
            "tractable.learning.conditional.spn.learner", "ConditionalSPNLearner", "ConditionalSPN"
        ),
        "conditional-mixture": Home(
            "tractable.learning.conditional.mixture.learner",
            "ConditionalMixtureLearner",
            "ConditionalMixture",
        ),
        "dspn-svd": Home(
            "tractable.learning.conditional.dspn_svd.learner", "DSPNSVDLearner", "DSPNSVD", is_made=False
        ),
    },
)

__all__ = ["CONDITIONAL", "ConditionalLearner"]
