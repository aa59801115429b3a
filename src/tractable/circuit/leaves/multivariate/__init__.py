"""Leaves over several columns together. To add a family: a map in `leaves/maps.py`, and a line below."""

from tractable.circuit.leaves.maps import IdentityMap, PiecewiseLinearMap, YeoJohnsonMap
from tractable.circuit.leaves.multivariate.family import MultivariateGaussian
from tractable.circuit.leaves.multivariate.leaf import Box, GaussianLeaf
from tractable.circuit.leaves.multivariate.stack import GaussianStack

JOINT_FAMILIES: dict[str, MultivariateGaussian] = {
    family.name: family
    for family in (
        MultivariateGaussian(IdentityMap()),
        MultivariateGaussian(YeoJohnsonMap()),
        MultivariateGaussian(PiecewiseLinearMap()),
    )
}

__all__ = ["JOINT_FAMILIES", "Box", "GaussianLeaf", "GaussianStack", "MultivariateGaussian"]
