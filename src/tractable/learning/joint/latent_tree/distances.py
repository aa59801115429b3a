"""Information distances between columns, which are additive along the paths of a latent tree.

Two columns with joint probabilities J and own probabilities p and q have the normalised joint J[a, b] /
sqrt(p[a] q[b]). Its greatest singular value is one; the others tell how dependent the columns are, and the
distance is less the sum of their logarithms. Where all columns and hidden nodes have equally many states,
this is -log(|det J| / sqrt(det diag p det diag q)); for two states it is -log |correlation|. Columns with
more states than the hidden nodes between them have a joint of that lower rank: only the `rank` largest
singular values are used, or all if the smaller column has fewer. Distances then add up where every column on
the path has at least `rank` states and every hidden node exactly as many.

The distance of nearly independent columns, whose singular values do not exceed the level of chance, is
infinite.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.learning.statistics.encoding import Encoding


class Pairs(NamedTuple):
    """The joint counts of the states of all pairs of categorical columns."""

    states: Ints  # (columns,)
    first: Ints  # (columns,) where the states of each begin
    counts: Floats  # (all states, all states)

    def table(self, one: int, other: int) -> Floats:
        """The counts of two columns. Shape (states of one, states of the other)."""
        line, column = self.first[one], self.first[other]
        return self.counts[line : line + self.states[one], column : column + self.states[other]]


def pair_counts(encoding: Encoding) -> Pairs:
    """The counts of the rows in which both columns are known."""
    layout, states = encoding.layout, encoding.schema.cardinalities
    states = states[layout.categorical]
    matrix = encoding.matrix
    if isinstance(matrix, np.ndarray):
        gram = matrix.T @ (matrix * encoding.weights[:, None])
    else:
        gram = (matrix.T @ sparse.diags_array(encoding.weights) @ matrix).toarray()
    first = np.cumsum(states) - states
    read = _readings(encoding, states, first)
    counts = np.maximum(read @ (read @ np.nan_to_num(gram)).T, 0.0)
    return Pairs(states, first, counts)


def _readings(encoding: Encoding, states: Ints, first: Ints) -> "sparse.csr_array":
    """How features add up to states, the first being what the others leave. Shape (all states, features)."""
    layout = encoding.layout
    feature = np.arange(layout.states.start, layout.states.stop)
    line = np.concatenate([first[layout.owner] + layout.state, first, first[layout.owner]])
    column = np.concatenate([feature, layout.seen[layout.categorical], feature])
    sign = np.repeat([1.0, 1.0, -1.0], [feature.size, first.size, feature.size])
    return sparse.csr_array((sign, (line, column)), shape=(int(states.sum()), layout.features))


def usual_states(pairs: Pairs) -> int:
    """The most frequent number of states above one; two if all columns have a single state."""
    sizes, times = np.unique(pairs.states[pairs.states > 1], return_counts=True)
    return int(sizes[times.argmax()]) if sizes.size else 2


def information_distances(pairs: Pairs, rank: int, watch: Watch | None = None) -> Floats:
    """The distances of all pairs of columns, infinite if nearly independent. Shape (columns, columns).

    Distances that were not computed when the watch said to stop are infinite.
    """
    distance = np.full((pairs.states.size, pairs.states.size), np.inf)
    sizes = np.unique(pairs.states[pairs.states > 1])
    for larger in sizes.tolist():
        for smaller in sizes[sizes <= larger].tolist():
            one, other = np.flatnonzero(pairs.states == larger), np.flatnonzero(pairs.states == smaller)
            for column in one.tolist():
                if watch is not None and watch.should_stop():
                    break
                tables = _tables(pairs, column, other)
                distance[column, other] = distance[other, column] = _distances(tables, rank)
    np.fill_diagonal(distance, 0.0)
    return distance


def _tables(pairs: Pairs, column: int, others: Ints) -> Floats:
    """The joint counts of a column and several others with equal numbers of states."""
    start, size = pairs.first[column], pairs.states[column]
    place = pairs.first[others][:, None] + np.arange(pairs.states[others[0]])
    return pairs.counts[start : start + size][:, place].transpose(1, 0, 2)


def _distances(tables: Floats, rank: int) -> Floats:
    total = tables.sum(axis=(1, 2), keepdims=True)
    joint = tables / np.where(total > 0, total, 1.0)
    one, other = joint.sum(axis=2), joint.sum(axis=1)
    scale = np.sqrt(one[:, :, None] * other[:, None, :])
    values = _singular_values(joint / np.where(scale > 0, scale, 1.0))
    seen = np.minimum((one > 0).sum(axis=1), (other > 0).sum(axis=1))
    chance = _chance(one, other, total[:, 0, 0])
    used = np.arange(values.shape[1]) < (np.minimum(seen, rank) - 1)[:, None]
    length = -np.where(used, np.log(np.clip(values, chance[:, None], 1.0)), 0.0).sum(axis=1)
    return np.where((seen > 1) & (values[:, 0] > chance), length, np.inf)


def _chance(one: Floats, other: Floats, total: Floats) -> Floats:
    """An approximate upper bound of the singular values of independent columns, at most one."""
    freedom = sum(np.sqrt(np.maximum((own > 0).sum(axis=1) - 1.0, 0.0)) for own in (one, other))
    chance: Floats = np.clip(freedom / np.sqrt(np.maximum(total, 1e-9)), 1e-12, 1.0)
    return chance


def _singular_values(normalised: Floats) -> Floats:
    """All singular values but the largest, which is one. Shape (tables, smaller number of states - 1)."""
    if normalised.shape[2] == 2:  # there is one other, and all squares add up to the squared entries
        rest: Floats = np.maximum((normalised**2).sum(axis=(1, 2), keepdims=True)[:, 0] - 1.0, 0.0)
        return np.sqrt(rest)
    return np.linalg.svd(normalised, compute_uv=False)[:, 1:].astype(np.float64)
