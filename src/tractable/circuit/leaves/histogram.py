"""A leaf with a density that is constant over each of a few bins."""

from math import ceil
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.leaves.family import Family
from tractable.circuit.leaves.finite import log_total, pick, quiet_log, shares, smooth_counts, state_weights
from tractable.circuit.leaves.intervals import limits
from tractable.circuit.leaves.moments import LeafMoments, moments_from, quadratic_mean, weighted_spread
from tractable.data.evidence import Region
from tractable.data.schema import Variable

MAX_BINS = 64
MARGIN = 0.1  # with smoothing, a bin this part of the range wide is added at either end for unseen values
FINEST = 1e-6  # no bin is narrower than this part of the range, so that no density grows without bound
TOLERANCE = 1e-6  # how far from one a leaf may integrate


@final
class Histogram(Family):
    """A real value; the parameters are the edges of the bins, ascending, and then their log-densities.

    A bin holds its left edge; the last one holds both. The number of bins may differ from column to column.
    """

    name: ClassVar[str] = "histogram"

    def accepts(self, variable: Variable) -> bool:
        """Whether the column is numeric and no count."""
        return variable.is_numeric and variable.kind != "count" and variable.role != "potential"

    def width(self, variable: Variable) -> int:
        """The most parameters that a fitted leaf has."""
        return 2 * MAX_BINS + 1

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless the edges ascend and the density integrates to one."""
        if params.shape[1] < 3 or params.shape[1] % 2 == 0:
            return f"{params.shape[1]} parameters are not the edges and log-densities of bins"
        edges, log_density = _parts(params)
        if not np.isfinite(edges).all() or (np.diff(edges, axis=1) <= 0).any():
            return "the edges of the bins are not finite and ascending"
        if np.isnan(log_density).any() or (log_density == np.inf).any():
            return "a log-density is not a number below infinity"
        total = log_total(_log_masses(params))
        return None if (np.abs(total) <= TOLERANCE).all() else "the density does not integrate to one"

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """Bins that hold equally many of the column's distinct values, and each leaf's weight in them.

        There are twice as many bins as the cube root of the number of distinct values. With smoothing there
        is one more at either end, and the pseudo-count is divided evenly among all bins.
        """
        edges = _fitted_edges(x, widen=smoothing > 0)
        bins = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, edges.size - 2)
        mass = smooth_counts(state_weights(bins, weight, edges.size - 1), smoothing)
        log_density = quiet_log(mass) - np.log(np.diff(edges))
        return np.hstack([np.broadcast_to(edges, (len(weight), edges.size)), log_density])

    def refit(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """Each leaf's weight in the bins that it has; values outside all of them count for none."""
        edges, old = _parts(params)
        bins = _bins(edges, np.broadcast_to(x, (len(edges), x.size)))
        inside = (x >= edges[:, :1]) & (x <= edges[:, -1:])
        mass = np.zeros(old.shape)
        np.add.at(mass, (np.arange(len(edges))[:, None], bins), np.where(inside, weight, 0.0))
        log_density = quiet_log(smooth_counts(mass, smoothing)) - np.log(np.diff(edges, axis=1))
        return np.hstack([edges, log_density])

    def blend(self, params: Floats, towards: Floats, step: float) -> Floats:
        """A mixture of the densities, which have the same bins."""
        edges, old = _parts(params)
        keep, move = quiet_log(np.array([1 - step, step]))
        return np.hstack([edges, np.logaddexp(keep + old, move + _parts(towards)[1])])

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The log-density of the bin that holds the value; -inf outside all bins."""
        edges, log_density = _parts(params)
        inside = (x >= edges[:, :1]) & (x <= edges[:, -1:])
        return np.where(inside, np.take_along_axis(log_density, _bins(edges, x), axis=1), -np.inf)

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The integral over the interval."""
        return log_total(_log_masses(params, region))

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The middle of the densest bin, of the part of it inside the region."""
        low, high = limits(region)
        edges, log_density = _parts(params)
        left, right = np.maximum(edges[:, :-1], low), np.minimum(edges[:, 1:], high)
        best = np.where(_reached_bins(edges, low, high), log_density, -np.inf).argmax(axis=1)[:, None]
        middle = np.take_along_axis(left / 2 + right / 2, best, axis=1)[:, 0]
        return np.clip(middle, low, high)

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """The quantile at `uniform`; a point of the region near the bins where it has no mass."""
        left, length = _overlap(params, region)
        log_mass = _log_masses(params, region)
        bins, into = pick(log_mass, uniform)
        line = np.arange(len(params))
        value = left[line, bins] + into * length[line, bins]
        return np.where(np.isneginf(log_mass).all(axis=1), _nearest(params, region), value)

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """Mean and standard deviation; those of a point of the region near the bins where it has no mass."""
        left, length = _overlap(params, region)
        log_mass = _log_masses(params, region)
        share, point = shares(log_mass), _nearest(params, region)
        origin = np.take_along_axis(left, share.argmax(axis=1)[:, None], axis=1)
        step, between = weighted_spread(share, (left - origin) + length / 2)
        within = quadratic_mean(share, length) / np.sqrt(12)
        impossible = np.isneginf(log_mass).all(axis=1)
        origin = np.where(impossible, point, origin[:, 0])
        return moments_from(origin, np.where(impossible, 0.0, step), np.hypot(between, within))

    def entropy(self, params: Floats) -> Floats:
        """The mean of the negative log-density."""
        log_density = _parts(params)[1]
        mass = np.exp(_log_masses(params))
        return -(mass * np.where(mass > 0, log_density, 0.0)).sum(axis=1)


def _parts(params: Floats) -> tuple[Floats, Floats]:
    """The edges (leaves, bins + 1) and the log-densities (leaves, bins)."""
    bins = params.shape[1] // 2
    return params[:, : bins + 1], params[:, bins + 1 :]


def _overlap(params: Floats, region: Region | None) -> tuple[Floats, Floats]:
    """Where the part of each bin inside the region starts, and how long it is. Shapes (leaves, bins)."""
    low, high = limits(region)
    edges = _parts(params)[0]
    left, right = np.maximum(edges[:, :-1], low), np.minimum(edges[:, 1:], high)
    outside = right <= left
    left = np.where(outside, edges[:, :-1], left)
    return left, np.where(outside, 0.0, right - left)


def _log_masses(params: Floats, region: Region | None = None) -> Floats:
    """The log-probability of the part of each bin inside the region. Shape (leaves, bins)."""
    return _parts(params)[1] + quiet_log(_overlap(params, region)[1])


def _reached_bins(edges: Floats, low: float, high: float) -> Bools:
    """Which bins hold a point of the interval. Shape (leaves, bins)."""
    reached: Bools = (edges[:, :-1] <= high) & (edges[:, 1:] > low)
    reached[:, -1] |= edges[:, -1] == low
    return reached


def _nearest(params: Floats, region: Region | None) -> Floats:
    """A point of the region, among the bins or at its border with them. Shape (leaves,)."""
    return np.clip(params[:, 0], *limits(region))


def _bins(edges: Floats, x: Floats) -> Ints:
    """The bin of each value by bisection, all leaves and rows at once. Shapes (leaves, rows)."""
    if len(x) == 1 and (edges == edges[:1]).all():  # leaves that were fitted together
        bins = np.searchsorted(edges[0, 1:-1], x[0], side="right")
        return np.broadcast_to(bins, (len(edges), bins.size))
    inner = edges[:, :-1]
    flat, start = inner.ravel(), np.arange(0, inner.size, inner.shape[1])[:, None]
    last = start + inner.shape[1] - 1
    bins = np.broadcast_to(start, (len(edges), x.shape[1]))
    for bit in range((inner.shape[1] - 1).bit_length() - 1, -1, -1):
        further = np.minimum(bins + (1 << bit), last)
        bins = np.where(np.take(flat, further) <= x, further, bins)
    return bins - start


def _fitted_edges(x: Floats, widen: bool) -> Floats:
    """The edges, halfway between values, of bins with equally many distinct values. Shape (bins + 1,)."""
    value = np.unique(x)
    if value.size < 2:
        centre = float(value[0]) if value.size else 0.0
        return centre + np.array([-0.5, 0.5]) * (abs(centre) * 1e-3 or 1e-3)
    span = value[-1] - value[0]
    bins = min(ceil(2 * value.size ** (1 / 3)), value.size, MAX_BINS - 2)
    first = np.arange(1, bins) * value.size // bins
    inner = value[first - 1] / 2 + value[first] / 2
    margin = np.array([MARGIN * span] if widen else [])
    return np.concatenate(
        [value[0] - margin, _drop_close_edges(value[0], inner, value[-1]), value[-1] + margin]
    )


def _drop_close_edges(low: float, inner: Floats, high: float) -> Floats:
    """The edges from `low` to `high`, without those too close to the one before."""
    finest = (high - low) * FINEST
    edges = [low]
    for edge in inner.tolist():
        if edge - edges[-1] >= finest and high - edge >= finest:
            edges.append(edge)
    return np.array([*edges, high])
