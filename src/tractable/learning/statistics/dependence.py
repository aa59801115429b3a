"""Which columns depend on each other, by independence tests of all pairs at once."""

import numpy as np
from scipy.sparse import csgraph
from scipy.stats import chi2

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.link_gains import link_gains, link_parameters

MOST_EXPLAINED = 1 - 1e-12  # share of a variance that another column explains, so that no gain is infinite


def pair_gains(encoding: Encoding, smoothing: float, watch: Watch | None = None) -> Floats:
    """The gain of each column given another in nats, pairs of numeric columns included. (columns, columns).

    Like `link_gains`, with the gain of the linear correlation for two numeric columns.
    """
    gain = link_gains(encoding, smoothing, watch)
    numbers = np.concatenate([encoding.layout.real, encoding.layout.counted])
    if numbers.size:
        gain[np.ix_(numbers, numbers)] = _correlation_gains(encoding, numbers)
        np.fill_diagonal(gain, 0.0)
    return gain


def _correlation_gains(encoding: Encoding, numbers: Ints) -> Floats:
    """The symmetric matrix of -n/2 log(1 - r^2), over the rows in which both columns are observed."""
    values = encoding.table.values[:, numbers]
    seen = ~np.isnan(values)
    x = np.where(
        seen, values / encoding.scale[numbers] - encoding.centre[numbers] / encoding.scale[numbers], 0.0
    )
    weighed = seen * encoding.weights[:, None]
    n = np.maximum(weighed.T @ seen, 1e-300)
    mean = (x.T @ weighed) / n
    variance = np.maximum(((x**2).T @ weighed) / n - mean**2, 0.0)
    both = ((x * encoding.weights[:, None]).T @ x) / n - mean * mean.T
    spread = variance * variance.T
    explained = np.divide(both**2, spread, out=np.zeros_like(both), where=spread > 1e-24)
    gain: Floats = -0.5 * n * np.log1p(-np.minimum(explained, MOST_EXPLAINED))
    return gain


def dependent_groups(encoding: Encoding, gain: Floats, threshold: float) -> list[Ints]:
    """The connected components of dependent columns by G-tests, ordered by their smallest column.

    The threshold is for two binary columns; other pairs are tested at the same significance.
    """
    linked = 2.0 * np.maximum(gain, gain.T) > _critical(threshold, _freedom(encoding))
    _, label = csgraph.connected_components(linked, directed=False)
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return sorted(groups, key=lambda group: int(group[0]))


def _freedom(encoding: Encoding) -> Floats:
    """The degrees of freedom of each pair, counting the states that occur. Shape (columns, columns)."""
    parameters = link_parameters(encoding.schema)
    widest = np.maximum(encoding.schema.cardinalities - 1.0, 1.0)
    share = np.maximum(_states_seen(encoding) - 1.0, 1.0) / widest
    freedom: Floats = np.maximum(np.maximum(parameters, parameters.T) * np.outer(share, share), 1.0)
    return freedom


def _states_seen(encoding: Encoding) -> Floats:
    """The number of states of each column that occur, two for numeric columns. Shape (columns,)."""
    layout = encoding.layout
    sums = encoding.sums(np.ones((len(encoding.weights), 1)))[:, 0]
    states = sums[layout.states]
    first = sums[layout.seen[layout.categorical]] - layout.by_column(states) > 1e-9
    answer = np.full(len(encoding.schema), 2.0)
    answer[layout.categorical] = layout.by_column((states > 0).astype(np.float64)) + first
    return answer


def _critical(threshold: float, freedom: Floats) -> Floats:
    """The threshold at the same significance for each number of degrees of freedom."""
    different, place = np.unique(freedom, return_inverse=True)
    bounds = np.asarray(chi2.isf(chi2.sf(threshold, 1), different), dtype=np.float64)
    bounds[different == 1] = threshold
    return bounds[place].reshape(freedom.shape)
