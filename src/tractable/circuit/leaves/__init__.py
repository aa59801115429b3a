"""Families of leaves. To add one: a file with a class, and a line in the table below.

Learners give a column leaves of the first family of the table that is declared as learned and accepts it.
"""

from tractable.circuit.leaves.factor import FACTORS, Factor
from tractable.circuit.leaves.family import Family
from tractable.circuit.leaves.gaussian import Gaussian
from tractable.circuit.leaves.histogram import Histogram
from tractable.circuit.leaves.indicator import Indicator
from tractable.circuit.leaves.negative_binomial import NegativeBinomial
from tractable.circuit.leaves.piece import Piece
from tractable.circuit.leaves.poisson import Poisson
from tractable.circuit.leaves.rounded import Rounded
from tractable.circuit.leaves.states import Bernoulli, Categorical, state_family
from tractable.data.schema import Variable

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Indicator(), Bernoulli(), Categorical(), Rounded(Gaussian()), Gaussian(), NegativeBinomial(),
        Poisson(), Histogram(), Rounded(Piece()), Piece(),
    )
}  # fmt: skip


def leaf_family(variable: Variable) -> Family:
    """The family of the leaves that learners use for a column."""
    return next(family for family in FAMILIES.values() if family.is_learned and family.accepts(variable))


__all__ = [
    "FACTORS", "FAMILIES", "Bernoulli", "Categorical", "Factor", "Family", "Gaussian", "Indicator",
    "NegativeBinomial", "Piece", "Poisson", "Rounded", "leaf_family", "state_family",
]  # fmt: skip
