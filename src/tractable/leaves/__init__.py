"""Families of leaves. To add one: a file with a class, and a line in the table below."""

from tractable.leaves.bernoulli import Bernoulli
from tractable.leaves.categorical import Categorical
from tractable.leaves.constant import Constant
from tractable.leaves.family import Family
from tractable.leaves.gaussian import Gaussian
from tractable.leaves.histogram import Histogram
from tractable.leaves.indicator import Indicator
from tractable.leaves.negative_binomial import NegativeBinomial
from tractable.leaves.piece import Piece
from tractable.leaves.poisson import Poisson
from tractable.leaves.potential import Potential
from tractable.leaves.rounded import Rounded
from tractable.leaves.within import Within

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Indicator(), Bernoulli(), Categorical(), Gaussian(), Poisson(), NegativeBinomial(), Histogram(),
        Piece(), Rounded(Gaussian()), Rounded(Piece()), Constant(), Potential(), Within(),
    )
}  # fmt: skip

__all__ = ["FAMILIES", "Family"]
