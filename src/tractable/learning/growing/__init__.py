"""Growing circuits, and the search for the best splits.

A `Structure` has the items that can be split, the growing circuit of their features and the history of
splits. An `Objective` of a structure has rows, a weight for each feature, and the gains of splits.
`SplitSearch` uses only these two interfaces and makes the best split first. To add an objective: one file
with a subclass of `Objective`.
"""

from tractable.learning.growing.candidates import CandidateTable
from tractable.learning.growing.circuit import GrowingCircuit
from tractable.learning.growing.gains import Priors
from tractable.learning.growing.joint_likelihood import JointLikelihood
from tractable.learning.growing.objective import Objective, Snapshot
from tractable.learning.growing.quasi_newton import FitEffort
from tractable.learning.growing.search import SplitCosts, SplitSearch, search_splits
from tractable.learning.growing.structure import Conditions, FeatureStructure, Structure
from tractable.learning.growing.sweep import Evaluator, FeatureExpectations

__all__ = [
    "CandidateTable",
    "Conditions",
    "Evaluator",
    "FeatureExpectations",
    "FeatureStructure",
    "FitEffort",
    "GrowingCircuit",
    "JointLikelihood",
    "Objective",
    "Priors",
    "Snapshot",
    "SplitCosts",
    "SplitSearch",
    "Structure",
    "search_splits",
]
