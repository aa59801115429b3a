"""Leaves of count columns: negative binomial where the rows prefer it, else Poisson.

EM works with Poisson leaves, whose statistics are sums; the leaves of the finished groups are fitted to the
rows anew, weighted by their shares. That is one more step of EM with a wider family, so that it never makes
the rows less likely.
"""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import Builder
from tractable.circuit.leaves.dispersion import CountGroups, count_groups, preferred_counts

LEAST_LOG_MEAN = -700.0  # in place of the logarithm of a mean of zero, so that no count is impossible


def shared_count_params(x: Floats, weight: Floats, smoothing: float, overall: float) -> Floats:
    """Parameters (log mean, log r) for counts `x` (rows,), NaN where missing, of weights (rows, groups).

    `overall` is the mean of the whole column. Shape (groups, 2).
    """
    seen = ~np.isnan(x)
    return _limited(preferred_counts(count_groups(x[seen], weight[seen].T), smoothing, overall))


def grouped_count_params(
    x: Floats, weight: Floats, group: Ints, groups: int, smoothing: float, overall: float
) -> Floats:
    """The same where each row is in one group; rows of others than the first `groups` are left out."""
    seen = ~np.isnan(x) & (group < groups)
    value, place = np.unique(x[seen], return_inverse=True)
    cells = np.bincount(group[seen] * value.size + place, weight[seen], groups * value.size)
    table = cells.astype(np.float64).reshape(groups, value.size)
    return _limited(preferred_counts(CountGroups(value, table), smoothing, overall))


def _limited(params: Floats) -> Floats:
    params[:, 0] = np.maximum(params[:, 0], LEAST_LOG_MEAN)
    return params


def count_leaf(builder: Builder, column: int, params: Floats) -> int:
    """A leaf with parameters (log mean, log r): a Poisson leaf where r is infinite or there is none."""
    if len(params) == 1 or np.isinf(params[1]):
        return builder.leaf("poisson", column, params[:1])
    return builder.leaf("negative-binomial", column, params)
