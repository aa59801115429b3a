"""Numerical integration over intervals of several jointly normal columns by weighted points.

One interval, or two, are integrated by Gauss-Legendre rules that leave nothing but rounding. Three or more
are integrated by Genz's method: one column after another is drawn within its interval given those before it,
from a lattice that is shifted at random a few times; how much the shifts differ tells the error.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.late import special
from tractable.circuit.leaves.intervals import NEGLIGIBLE, log_normal_between
from tractable.circuit.leaves.multivariate.normal import square_root
from tractable.circuit.leaves.random_bits import as_uniform, mix_bits

INNER, OUTER = 64, 48  # points of an interval, and of each of the three parts that the first of two is cut in
HALVINGS = 60  # of a search for the part of an interval that counts
BEYOND = 10.0  # sd from a bound at which hardly any mass is outside
SHIFTS, LATTICE = 8, 1021  # of Genz's method
PROPOSALS = 509  # for a draw within several intervals
LARGEST_OUT = 1e150  # in standard deviations, stands for an infinite bound
_HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)


class BoxNodes(NamedTuple):
    """Weighted points inside the intervals, for each row: sums over them are integrals over the intervals."""

    points: Floats  # (rows, points, columns)
    log_weight: Floats  # (rows, points) their exponentials add up to the probability of the intervals
    error: float  # the relative error of that probability; zero where it is rounding only

    @property
    def log_mass(self) -> Floats:
        """The log-probability of the intervals. Shape (rows,)."""
        return np.asarray(special.logsumexp(self.log_weight, axis=1), dtype=np.float64)

    @property
    def shares(self) -> Floats:
        """The weights of each row, adding up to one. Shape (rows, points)."""
        mass = self.log_mass
        safe = np.where(np.isneginf(mass), 0.0, mass)
        share = np.exp(self.log_weight - safe[:, None])
        total = share.sum(axis=1, keepdims=True)
        return np.where(total > 0, share / np.where(total > 0, total, 1.0), 1.0 / share.shape[1])


def box_nodes(mean: Floats, covariance: Floats, low: Floats, high: Floats) -> BoxNodes:
    """Points for the intervals from `low` to `high`, (columns,), of normal columns.

    `mean` is (rows, columns), one covariance is for all rows.
    """
    columns = low.size
    sd = np.sqrt(np.diag(covariance))
    if columns == 1:
        z, log_weight = _nodes(mean[:, 0], sd[0], low[0], high[0], INNER)
        return BoxNodes(z[:, :, None], log_weight, 0.0)
    order = _most_extreme_first(mean, sd, low, high)
    moved = (mean[:, order], covariance[np.ix_(order, order)], low[order], high[order])
    points, log_weight, error = _two(*moved) if columns == 2 else _several(*moved)
    return BoxNodes(points[:, :, np.argsort(order)], log_weight, error)


def _most_extreme_first(mean: Floats, sd: Floats, low: Floats, high: Floats) -> Ints:
    """The columns with the interval that is furthest out first: it moves where the others lie."""
    out = np.abs(np.clip(mean, low, high) - mean).max(axis=0, initial=0.0) / sd
    width = (np.clip(high, -LARGEST_OUT, LARGEST_OUT) - np.clip(low, -LARGEST_OUT, LARGEST_OUT)) / sd
    return np.lexsort((width, -out))


def _window(mean: Floats, sd: float, low: float, high: float) -> tuple[Floats, Floats, Floats, Floats]:
    """The point of highest density, how far out it is, and where what counts begins and ends, in sd from it.

    Steps from that point, and not from the mean, keep all digits of a short interval far out. Shapes (rows,).
    """
    anchor = np.clip(mean, low, high)
    out = np.clip((anchor - mean) / sd, -LARGEST_OUT, LARGEST_OUT)
    with np.errstate(over="ignore"):
        reach = 2 * NEGLIGIBLE / (np.hypot(out, np.sqrt(2 * NEGLIGIBLE)) + np.abs(out))
        return anchor, out, np.maximum((low - anchor) / sd, -reach), np.minimum((high - anchor) / sd, reach)


def _nodes(mean: Floats, sd: float, low: float, high: float, size: int) -> tuple[Floats, Floats]:
    """Points between two limits, the same for all rows, and their log weights. Shapes (rows, size)."""
    anchor, out, start, end = _window(mean, sd, low, high)
    return _weigh(anchor, out, start[:, None], end[:, None], sd, size)


def _weigh(
    anchor: Floats, out: Floats, start: Floats, end: Floats, sd: float, size: int
) -> tuple[Floats, Floats]:
    """Points of each part from `start` to `end`, (rows, parts), one part after another."""
    x, w = np.polynomial.legendre.leggauss(size)
    length = (end - start)[:, :, None]
    step = (start[:, :, None] + length * (x + 1) / 2).reshape(len(start), -1)
    with np.errstate(divide="ignore"):
        log_share = (np.log(length) + np.log(w / 2)).reshape(len(start), -1)
    out = out[:, None]
    with np.errstate(over="ignore"):
        log_density = -(out + 0.5 * step) * step - 0.5 * out**2 - _HALF_LOG_TAU
    return anchor[:, None] + sd * step, log_density + log_share


def _two(mean: Floats, covariance: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, float]:
    """Points for two intervals: those of the first lie where both intervals together have their mass.

    The first is cut where that mass is densest, and where the second begins to be, or stops being, in reach.
    """
    sd, slope = float(np.sqrt(covariance[0, 0])), float(covariance[0, 1] / covariance[0, 0])
    left = float(np.sqrt(max(covariance[1, 1] - slope * covariance[0, 1], 1e-14 * covariance[1, 1])))
    anchor = np.clip(mean[:, 0], low[0], high[0])
    turns = [_turn(mean, slope, sd, anchor, bound) for bound in (low[1], high[1])]
    pull = slope * sd / left
    ends = [_bound_out(mean, covariance, anchor, bound, left) for bound in (low[1], high[1])]
    profile = _Profile(_sd_out(anchor, mean[:, 0], sd), pull, ends[0], ends[1])
    limits = [(bound - anchor) / sd for bound in (low[0], high[0])]
    start, mode, end = profile.window(limits[0], limits[1])
    edges = np.sort(
        np.clip(np.stack([start, mode, *turns, end], axis=1), start[:, None], end[:, None]), axis=1
    )
    first, log_first = _weigh(anchor, profile.out, edges[:, :-1], edges[:, 1:], sd, OUTER)
    given = mean[:, 1:] + slope * (first - mean[:, :1])
    second, log_second = _nodes(given.ravel(), left, float(low[1]), float(high[1]), INNER)
    shape = (*first.shape, INNER)
    points = np.stack([np.broadcast_to(first[:, :, None], shape), second.reshape(shape)], axis=-1)
    log_weight = log_first[:, :, None] + log_second.reshape(shape)
    return points.reshape(len(mean), -1, 2), log_weight.reshape(len(mean), -1), 0.0


def _sd_out(anchor: Floats, mean: Floats, sd: float) -> Floats:
    return np.clip((anchor - mean) / sd, -LARGEST_OUT, LARGEST_OUT)


def _bound_out(mean: Floats, covariance: Floats, anchor: Floats, bound: float, left: float) -> Floats:
    """How many sd a bound of the second column is from its mean once the first is at the anchor. (rows,)."""
    slope = covariance[0, 1] / covariance[0, 0]
    return np.asarray((bound - mean[:, 1] - slope * (anchor - mean[:, 0])) / left)


class _Profile(NamedTuple):
    """The log-mass of a line of two intervals by its step, in sd, from the anchor of the first column.

    It is concave, since it is what an integral leaves of a concave log-density.
    """

    out: Floats  # (rows,) sd of the anchor from the mean
    pull: float  # sd by which a step of one sd moves the second column
    low: Floats  # (rows,) sd of the second column's bounds from its mean at the anchor
    high: Floats

    def __call__(self, step: Floats) -> Floats:
        """Up to a constant for each row. Shape (rows,)."""
        moved = self.pull * step
        return log_normal_between(self.low - moved, self.high - moved) - (self.out + 0.5 * step) * step

    def window(self, first: Floats, last: Floats) -> tuple[Floats, Floats, Floats]:
        """Where what counts begins, where it is densest and where it ends. Shapes (rows,)."""
        mode = self._mode(first, last)
        top = self(mode)
        depth = NEGLIGIBLE - np.where(np.isfinite(top), top, 0.0)  # no step beyond this counts
        with np.errstate(over="ignore"):
            reach = 2 * depth / (np.hypot(self.out, np.sqrt(2 * depth)) + np.abs(self.out))
        ends = []
        for limit in (np.maximum(first, -reach), np.minimum(last, reach)):
            inner, outer = mode, limit
            for _ in range(HALVINGS):
                middle = (inner + outer) / 2
                counts = self(middle) > top - NEGLIGIBLE
                inner, outer = np.where(counts, middle, inner), np.where(counts, outer, middle)
            ends.append(np.where(self(limit) > top - NEGLIGIBLE, limit, outer))
        return np.minimum(ends[0], mode), mode, np.maximum(ends[1], mode)

    def _mode(self, first: Floats, last: Floats) -> Floats:
        """The densest step: between the anchor and where the second interval has nearly all the mass."""
        if self.pull == 0.0:
            return np.zeros_like(self.out)
        ahead = np.where(self.low > 0, self.low, np.where(self.high < 0, self.high, 0.0))
        ahead = (ahead + np.sign(ahead) * BEYOND) / self.pull
        start = np.clip(np.minimum(ahead, 0.0), first, last)
        end = np.clip(np.maximum(ahead, 0.0), first, last)
        for _ in range(HALVINGS):
            third = (end - start) / 3
            rises = self(start + third) < self(end - third)
            start, end = np.where(rises, start + third, start), np.where(rises, end, end - third)
        return (start + end) / 2


def _turn(mean: Floats, slope: float, sd: float, anchor: Floats, bound: float) -> Floats:
    """Where, in sd from the anchor, the second column's mean given the first passes a bound. (rows,)."""
    if not np.isfinite(bound) or slope == 0.0:
        return np.full(len(mean), -np.inf)
    with np.errstate(over="ignore"):
        at = mean[:, 0] + (bound - mean[:, 1]) / slope
    return np.asarray((at - anchor) / sd, dtype=np.float64)


def _several(mean: Floats, covariance: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, float]:
    """Points for many intervals by Genz's method, and the relative error."""
    factor = square_root(covariance)
    points, log_weight = _walk(mean, factor, low, high, _lattice(low.size))
    parts = special.logsumexp(log_weight.reshape(len(mean), SHIFTS, LATTICE), axis=2)
    ratio = np.exp(parts - np.where(np.isneginf(parts.max(axis=1)), 0.0, parts.max(axis=1))[:, None])
    error = ratio.std(axis=1, ddof=1) / np.maximum(ratio.mean(axis=1), 1e-300) / np.sqrt(SHIFTS)
    return points, log_weight, float(error.max(initial=0.0))


def draw_in_box(mean: Floats, covariance: Floats, low: Floats, high: Floats, uniform: Floats) -> Floats:
    """One point in the intervals for each row, from numbers uniform in [0, 1), (rows, columns).

    Exact for one interval. For several, one of many proposals is picked by weight: they are drawn column
    after column as in Genz's method, from a lattice that each row shifts by its own numbers.
    """
    if low.size == 1:
        sd = float(np.sqrt(covariance[0, 0]))
        first, last = ((bound - mean) / sd for bound in (low, high))
        return np.clip(mean + sd * truncated_quantile(first, last, _inner(uniform)), low, high)
    factor = square_root(covariance)
    number = np.arange(PROPOSALS)[None, :, None] * _roots(low.size)
    points, log_weight = _walk(mean, factor, low, high, _inner((number + uniform[:, None, :]) % 1.0))
    below = np.cumsum(BoxNodes(points, log_weight, 0.0).shares, axis=1)
    pick = np.minimum((below < _another(uniform)[:, None]).sum(axis=1), PROPOSALS - 1)
    chosen: Floats = points[np.arange(pick.size), pick]
    return chosen


def _walk(mean: Floats, factor: Floats, low: Floats, high: Floats, uniform: Floats) -> tuple[Floats, Floats]:
    """Points inside the intervals, column after column, and their log weights; see Genz's method.

    `uniform` is (points, columns) or (rows, points, columns).
    """
    columns = low.size
    points = np.empty((len(mean), *uniform.shape[-2:]))
    score = np.empty_like(points)
    log_weight = np.full(points.shape[:2], -np.log(points.shape[1]))
    for i in range(columns):
        centre = mean[:, i, None] + score[:, :, :i] @ factor[i, :i]
        first, last = (low[i] - centre) / factor[i, i], (high[i] - centre) / factor[i, i]
        log_weight += log_normal_between(first, last)
        score[:, :, i] = truncated_quantile(first, last, uniform[..., i])
        points[:, :, i] = np.clip(centre + factor[i, i] * score[:, :, i], low[i], high[i])
    return points, log_weight


def _another(uniform: Floats) -> Floats:
    """One more uniform number for each row, mixed from the bits of those that it has. Shape (rows,)."""
    word = np.bitwise_xor.reduce(
        np.ascontiguousarray(uniform).view(np.uint64)
        * np.arange(1, 2 * uniform.shape[1], 2, dtype=np.uint64),
        axis=1,
    )
    return as_uniform(mix_bits(word))


def _inner(uniform: Floats) -> Floats:
    return np.clip(uniform, 1e-15, 1 - 1e-15)


def _roots(columns: int) -> Floats:
    """Steps of a lattice, one a column, no two of which are in proportion."""
    root: Floats = np.sqrt(np.resize(np.array(_PRIMES, dtype=np.float64), columns))
    return root * (1 + np.arange(columns) // len(_PRIMES))


def _lattice(columns: int) -> Floats:
    """Numbers in (0, 1) that fill the cube evenly, shifted in a few ways. Shape (points, columns)."""
    rng = np.random.default_rng(20020628)
    number = np.arange(1, LATTICE + 1)[:, None] * _roots(columns)
    shifted = [(number + rng.random(columns)) % 1.0 for _ in range(SHIFTS)]
    folded = np.abs(2 * np.concatenate(shifted) - 1)  # a periodic integrand converges faster
    return _inner(folded)


def truncated_quantile(first: Floats, last: Floats, uniform: Floats) -> Floats:
    """The quantile at `uniform` of a standard normal number between two bounds."""
    flip = first > 0
    low, high = np.where(flip, -last, first), np.where(flip, -first, last)
    part = np.where(flip, 1 - uniform, uniform)
    with np.errstate(divide="ignore"):
        log_p = np.logaddexp(special.log_ndtr(low) + np.log1p(-part), special.log_ndtr(high) + np.log(part))
    z = np.clip(special.ndtri_exp(np.minimum(log_p, -1e-300)), low, high)
    return np.where(flip, -z, z)
