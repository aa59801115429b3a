"""The family of multivariate Gaussian leaves: layout and validation of parameters."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.leaves.maps import LARGEST, MonotoneMap
from tractable.circuit.leaves.multivariate.leaf import GaussianLeaf
from tractable.data.schema import Variable

LEAST_DIAGONAL = 1e-150  # of a Cholesky factor, so that its square and its inverse are doubles
LARGEST_ENTRY = 1e150  # of a Cholesky factor, so that products of entries are doubles


@dataclass(frozen=True)
class MultivariateGaussian:
    """Several numeric columns, each through a monotone map, that are jointly normal.

    With z = T(x) column by column, the density at x is that of a normal distribution at z times the slopes of
    the maps. The parameters of a leaf over d columns are the mean of z (d numbers), the rows of the lower
    Cholesky factor of its covariance (d (d + 1) / 2 numbers), and the parameters of each column's map.
    """

    map: MonotoneMap

    @property
    def name(self) -> str:
        """The family's name, as files write it."""
        return "multivariate-gaussian" + ("" if self.is_straight else f"-{self.map.name}")

    @property
    def is_straight(self) -> bool:
        """Whether the columns stand as they are, without a map: then modes are exact."""
        return self.map.name == "identity"

    def accepts(self, variable: Variable) -> bool:
        """Whether such a leaf can stand over the column: one of numbers."""
        return variable.is_numeric and variable.role != "potential"

    def leaf(self, params: Floats, whole: Bools) -> GaussianLeaf:
        """The distribution behind one line of parameters; `whole` are the columns of whole numbers."""
        mean, factor, maps = self.parts(params, whole.size)
        return GaussianLeaf(self.map, mean, factor, maps, whole)

    def params(self, leaf: GaussianLeaf) -> Floats:
        """The line of parameters of a distribution. Shape (width,)."""
        return np.concatenate([leaf.mean, leaf.factor[_lower(leaf.mean.size)], leaf.maps.ravel()])

    def parts(self, params: Floats, columns: int) -> tuple[Floats, Floats, Floats]:
        """Mean (columns,), Cholesky factor (columns, columns) and maps (columns, width) of one line."""
        triangle = columns * (columns + 1) // 2
        factor = np.zeros((columns, columns))
        factor[_lower(columns)] = params[columns : columns + triangle]
        return params[:columns], factor, params[columns + triangle :].reshape(columns, -1)

    def check(self, params: Floats, columns: int) -> str | None:
        """The problem with the parameters (leaves, width) of leaves over a number of columns, or None.

        The text does not name the leaf.
        """
        straight = columns + columns * (columns + 1) // 2
        width = params.shape[1] - straight
        if width < 0 or width % columns:
            return f"{params.shape[1]} parameters are not those of {columns} columns"
        if not np.isfinite(params[:, :straight]).all():
            return "a mean or an entry of a Cholesky factor is not finite"
        if (np.abs(params[:, columns:straight]) > LARGEST_ENTRY).any():
            return f"an entry of a Cholesky factor is beyond {LARGEST_ENTRY:g} either way"
        if (np.abs(params[:, :columns]) > LARGEST).any():
            return f"a mean is beyond {LARGEST:g} either way"
        place = np.cumsum(np.arange(1, columns + 1)) - 1 + columns
        if (params[:, place] < LEAST_DIAGONAL).any():
            return f"the diagonal of a Cholesky factor is not at least {LEAST_DIAGONAL:g}"
        return self.map.check(params[:, straight:].reshape(len(params), columns, -1))

    def describe(self, columns: list[Variable]) -> str:
        """One leaf in a few words, for pictures."""
        return f"{', '.join(v.name for v in columns)} ~ {self.name}"


def _lower(columns: int) -> tuple[Ints, Ints]:
    """Where the entries of a lower triangle are, row by row."""
    rows, places = np.tril_indices(columns)
    return rows, places
