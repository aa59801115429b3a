"""Multivariate Gaussians over the numeric columns of a block of rows."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import Builder
from tractable.circuit.leaves.gaussian import MIN_SPREAD
from tractable.circuit.leaves.maps import IdentityMap
from tractable.circuit.leaves.multivariate import JOINT_FAMILIES, GaussianLeaf
from tractable.circuit.leaves.multivariate.fit import weighted_moments
from tractable.circuit.leaves.multivariate.normal import square_root
from tractable.learning.statistics.encoding import Encoding

FAMILY = "multivariate-gaussian"
STRENGTH = 5.0  # pseudo-rows without correlation: a few rows do not tell one
STEPS = 12  # of EM where cells are missing
LARGEST = 1e100  # columns of larger numbers are kept apart, and so are those of a deviation below its inverse
CELL = 1 / 12  # the variance within the cell of a whole number


class GaussianBlock(NamedTuple):
    """A multivariate Gaussian over some columns."""

    columns: Ints  # positions in the encoding
    params: Floats  # (width,) of a leaf
    gain: float  # its log-likelihood in nats less that of independent Gaussians and of its parameters' price

    def node(self, builder: Builder, columns: Ints) -> int:
        """The leaf, position j of the encoding being column `columns[j]` of the builder."""
        return builder.joint_leaf(FAMILY, columns[self.columns], self.params)


def gaussian_block(encoding: Encoding) -> GaussianBlock | None:
    """The Gaussian over all numeric columns except counts, or None if there are fewer than two.

    Columns whose squared values or deviations overflow are excluded.
    """
    columns = _moderate_columns(encoding)
    if columns.size < 2 or encoding.total <= 0:
        return None
    centre, scale = encoding.centre[columns], encoding.scale[columns]
    x = encoding.table.values[:, columns] / scale - centre / scale
    whole = np.array([encoding.schema[c].is_whole for c in columns.tolist()], dtype=np.bool_)
    cell = whole * CELL / np.where(whole, scale, 1.0) ** 2
    size = columns.size
    leaf = GaussianLeaf(IdentityMap(), np.zeros(size), np.eye(size), np.zeros((size, 0)), cell > 0)
    for _ in range(STEPS if np.isnan(x).any() else 1):
        mean, covariance = weighted_moments(leaf, x, encoding.weights)
        factor = square_root(_shrunk(covariance, encoding.total, cell))
        leaf = GaussianLeaf(leaf.map, mean, factor, leaf.maps, leaf.whole)
    raw = GaussianLeaf(leaf.map, mean * scale + centre, factor * scale[:, None], leaf.maps, leaf.whole)
    price = 0.25 * size * (size - 1) * np.log(max(encoding.total, 1.0))
    return GaussianBlock(
        columns, JOINT_FAMILIES[FAMILY].params(raw), _correlation_gain(leaf, encoding) - price
    )


def _moderate_columns(encoding: Encoding) -> Ints:
    real = encoding.layout.real
    centre, scale = np.abs(encoding.centre[real]), encoding.scale[real]
    return real[(centre <= LARGEST) & (scale <= LARGEST) & (scale >= 1 / LARGEST)]


def _shrunk(covariance: Floats, rows: float, cell: Floats) -> Floats:
    """The covariance with correlations shrunk for few rows, and positive variances."""
    variance = np.diag(np.diag(covariance))
    mixed = (rows * covariance + STRENGTH * variance) / (rows + STRENGTH)
    return mixed + np.diag(cell + MIN_SPREAD**2)


def _correlation_gain(leaf: GaussianLeaf, encoding: Encoding) -> float:
    """The gain in log-likelihood due to the correlations over all rows, in nats."""
    spread = np.sqrt(np.diag(leaf.covariance))
    return -encoding.total * float(np.log(np.diag(leaf.factor) / spread).sum())
