"""From a table with targets and inputs to a circuit of P(targets | inputs).

To add a learner: a file with a class that declares its settings, and a line in the table below. Its
command-line settings, its entry of the reference page and the contract tests follow from these two.
"""

from tractable.conditional.learner import ConditionalLearner
from tractable.settings import Home, Registry

CONDITIONAL: Registry[ConditionalLearner] = Registry(
    "learner",
    {
        "daclearn": Home("tractable.conditional.daclearn.learner", "DACLearnLearner", "DACLearn"),
        "cacmn": Home("tractable.conditional.cacmn.learner", "CACMNLearner", "CACMN"),
        "mctbn": Home("tractable.conditional.mctbn.learner", "MCTBNLearner", "MCTBN"),
        "gaclearn": Home("tractable.conditional.gaclearn.learner", "GACLearnLearner", "GACLearn"),
        "conditional-spn": Home(
            "tractable.conditional.spn.learner", "ConditionalSPNLearner", "ConditionalSPN"
        ),
        "conditional-mixture": Home(
            "tractable.conditional.mixture.learner", "ConditionalMixtureLearner", "ConditionalMixture"
        ),
        "dspn-svd": Home(
            "tractable.conditional.dspn_svd.learner", "DSPNSVDLearner", "DSPNSVD", is_made=False
        ),
    },
)

__all__ = ["CONDITIONAL", "ConditionalLearner"]
