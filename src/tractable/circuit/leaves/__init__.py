"""Families of leaves. To add one: a file with a class, and a line in the table below."""

from tractable.circuit.leaves.bernoulli import Bernoulli
from tractable.circuit.leaves.categorical import Categorical
from tractable.circuit.leaves.constant import Constant
from tractable.circuit.leaves.family import Family
from tractable.circuit.leaves.gaussian import Gaussian
from tractable.circuit.leaves.histogram import Histogram
from tractable.circuit.leaves.indicator import Indicator
from tractable.circuit.leaves.negative_binomial import NegativeBinomial
from tractable.circuit.leaves.piece import Piece
from tractable.circuit.leaves.poisson import Poisson
from tractable.circuit.leaves.potential import Potential
from tractable.circuit.leaves.rounded import Rounded
from tractable.circuit.leaves.within import Within

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Indicator(), Bernoulli(), Categorical(), Gaussian(), Poisson(), NegativeBinomial(), Histogram(),
        Piece(), Rounded(Gaussian()), Rounded(Piece()), Constant(), Potential(), Within(),
    )
}  # fmt: skip

__all__ = ["FAMILIES", "Family"]
