"""A leaf limited to one interval, with an exponential density inside it."""

from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.leaves.family import Density
from tractable.circuit.leaves.intervals import NEGLIGIBLE, limits
from tractable.circuit.leaves.moments import LeafMoments, moments_from
from tractable.circuit.leaves.tilt import (
    TINY,
    distance_moments,
    log_integral,
    mean_share,
    piece_values,
    quantile,
    tilt_of_mean,
)
from tractable.data.evidence import Region
from tractable.data.schema import Variable

MARGIN = 1e-3  # a constant column gets an interval of this part of its value
LAST_UNIFORM = 1 - 2.0**-53
STEEPEST = 1e9  # the inverse of the least mean distance of whole numbers from the end of an open interval
STEPS = 100  # of the search for the slope of whole numbers, at most


@final
class Piece(Density):
    """A number in the interval [low, high); the parameters are low, high and the slope of the log-density.

    A slope of zero is a uniform density. Where an end is infinite the density falls towards it.
    """

    name: ClassVar[str] = "piece"
    can_be_bounded: ClassVar[bool] = True

    def accepts(self, variable: Variable) -> bool:
        """Whether the column is numeric and has densities."""
        return variable.is_numeric and not variable.is_whole and variable.role != "potential"

    def width(self, variable: Variable) -> int:
        """Three: the two ends and the slope."""
        return 3

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless the ends ascend and the density has a finite integral."""
        if params.shape[1] != 3:
            return f"{params.shape[1]} parameters, not low, high and slope"
        low, high, slope = params.T
        if np.isnan(params).any() or not np.isfinite(slope).all():
            return "an end is not a number, or a slope is not finite"
        if not (low < high).all() or np.isposinf(low).any() or np.isneginf(high).any():
            return "the ends of an interval do not ascend"
        open_left, open_right = np.isneginf(low), np.isposinf(high)
        fine = (~open_left | (slope > 0)) & (~open_right | (slope < 0))
        return None if fine.all() else "a density does not fall towards an end that is infinite"

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """The range of the rows for all leaves, and the slopes of maximum likelihood.

        Pseudo-counts are spread evenly over the interval.
        """
        low, high = _range(x)
        if not low < high:
            margin = abs(low) * MARGIN or MARGIN
            low, high = low - margin / 2, high + margin / 2
        return self.refit(_flat(low, np.nextafter(high, np.inf), weight), x, weight, variable, smoothing)

    def refit(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """The slopes of maximum likelihood in the intervals that the leaves have.

        Values outside a leaf's interval count for nothing. Pseudo-counts are spread evenly over the interval;
        those of an open interval have the mean that it has.
        """
        return tilted(params, *_sums(params, x, weight), smoothing)

    def fit_whole(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """The cells of the range of the rows, and slopes."""
        low, high = _range(x)
        params = _flat(np.floor(low) - 0.5, np.ceil(high) + 0.5, weight)
        return self.refit_whole(params, x, weight, variable, smoothing)

    def refit_whole(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """The slopes at which the probabilities of whole numbers, a geometric sequence, are likeliest."""
        return tilted(params, *_sums(params, x, weight), smoothing, whole=True)

    def check_whole(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless the ends are halfway between whole numbers that the column can hold."""
        ends = params[:, :2][np.isfinite(params[:, :2])] + 0.5
        if not (ends == np.floor(ends)).all():
            return "an end is not halfway between whole numbers"
        wrong = variable.kind == "count" and (params[:, 0] < -0.5).any()
        return "a piece of counts begins below zero" if wrong else None

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The log-density; -inf outside the interval."""
        return _values(params, x, log_integral(np.abs(params[:, 2]), params[:, 1] - params[:, 0]))

    def log_cells(self, params: Floats, middle: Floats) -> Floats:
        """The density in the middle of the cell, times what is the same for all cells of a leaf."""
        rate = np.abs(params[:, 2])
        cell = log_integral(rate, np.ones(rate.size)) + rate / 2
        return _values(params, middle, log_integral(rate, params[:, 1] - params[:, 0]) - cell)

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The integral over the interval."""
        low, high = limits(region)
        return self.log_between(params, np.full((len(params), 1), low), np.full((len(params), 1), high))[:, 0]

    def log_between(self, params: Floats, low: Floats, high: Floats) -> Floats:
        """The log-probability of each of many intervals. Shapes (leaves, intervals) or (1, intervals)."""
        start, width = _distances(params, low, high)
        rate = np.broadcast_to(np.abs(params[:, 2:]), width.shape)
        whole = log_integral(np.abs(params[:, 2]), params[:, 1] - params[:, 0])[:, None]
        with np.errstate(invalid="ignore", over="ignore"):
            return np.minimum(
                np.where(width > 0, log_integral(rate, width) - rate * start - whole, -np.inf), 0.0
            )

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The denser end of the interval, or of the part of it in the region; the middle if it is uniform."""
        low, high = limits(region)
        first, last = self.support(params)
        last = np.nextafter(last, -np.inf)
        first, last = np.clip(first, low, high), np.clip(last, low, high)
        with np.errstate(invalid="ignore"):
            middle = np.clip(first / 2 + last / 2, first, last)
        slope = params[:, 2]
        return np.where(slope > 0, last, np.where(slope < 0, first, middle))

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """The quantile at `uniform`; the point of the region nearest the interval where they do not meet."""
        uniform = np.clip(uniform, 1 - LAST_UNIFORM, LAST_UNIFORM)
        low, high = (np.full((1, 1), end) for end in limits(region))
        start, width = (part[:, 0] for part in _distances(params, low, high))
        rising = params[:, 2] > 0
        away = start + quantile(np.abs(params[:, 2]), width, np.where(rising, 1 - uniform, uniform))
        with np.errstate(invalid="ignore"):  # of the end that may be infinite
            value = np.where(rising, params[:, 1] - away, params[:, 0] + away)
        first, last = self.support(params)
        value = np.clip(value, first, np.nextafter(last, -np.inf))
        return np.clip(value, low[0], high[0])

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """Mean and standard deviation; the point nearest the interval where the region is elsewhere."""
        low, high = (np.full((1, 1), end) for end in limits(region))
        start, width = (part[:, 0] for part in _distances(params, low, high))
        mean, sd = distance_moments(np.abs(params[:, 2]), np.maximum(width, 0.0))
        rising = params[:, 2] > 0
        with np.errstate(invalid="ignore", over="ignore"):
            origin = np.where(rising, params[:, 1], params[:, 0])
            found = moments_from(origin, np.where(rising, -1.0, 1.0) * (start + mean), sd)
        inside = (found.mean >= low[0]) & (found.mean <= high[0]) & (width > 0)
        mean = np.clip(found.mean, low[0], high[0])
        return LeafMoments(mean, np.where(width > 0, sd, 0.0), np.where(inside, found.rest, 0.0))

    def entropy(self, params: Floats) -> Floats:
        """The log of the integral, and the rate times the mean distance from the denser end."""
        rate, width = np.abs(params[:, 2]), params[:, 1] - params[:, 0]
        return log_integral(rate, width) + rate * distance_moments(rate, width)[0]

    def support(self, params: Floats) -> tuple[Floats, Floats]:
        """The ends of the interval."""
        return params[:, 0], params[:, 1]

    def window(self, params: Floats, region: Region | None = None) -> tuple[Floats, Floats]:
        """The part of the interval in the region outside of which the density is negligible."""
        low, high = limits(region)
        first, last = np.clip(params[:, 0], low, high), np.clip(params[:, 1], low, high)
        slope = params[:, 2]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            reach = np.where(slope == 0, np.inf, NEGLIGIBLE / np.abs(slope))
            return (
                np.where(slope > 0, np.fmax(first, last - reach), first),
                np.where(slope < 0, np.fmin(last, first + reach), last),
            )

    def blend(self, params: Floats, towards: Floats, step: float) -> Floats:
        """The pieces with weighted means of slopes."""
        slope = (1 - step) * params[:, 2] + step * towards[:, 2]
        return np.column_stack([params[:, :2], slope])


def _values(params: Floats, x: Floats, norm: Floats) -> Floats:
    """The log-densities less `norm`, (leaves,); -inf outside the intervals. Shape (leaves, rows)."""
    value = np.empty((len(params), x.shape[1]))
    dense = np.where(params[:, 2] > 0, params[:, 1], params[:, 0])
    piece_values(np.ascontiguousarray(params), dense, norm, np.ascontiguousarray(x), value)
    return value


def tilted(params: Floats, seen: Floats, total: Floats, smoothing: float, *, whole: bool = False) -> Floats:
    """Pieces with the slopes of maximum likelihood for rows of weight `seen`, (leaves,).

    `total` is the weighted sum of the distances from the low end, or from the high one if the low end is
    open. If the rows are `whole` numbers, those distances are to the middles of their cells.
    """
    low, high, slope = params.T
    is_open = np.isinf(high - low)
    width = np.where(is_open, 1.0, high - low)
    usual = np.where(is_open, 1 / np.maximum(np.abs(slope), TINY), width / 2)
    weight = seen + smoothing
    empty = weight <= 0
    rows = np.where(empty, 1.0, weight)
    distance = np.where(empty, usual, total / rows + smoothing / rows * usual)
    closed = _closed_slopes(width, distance, whole)
    steep = (
        np.log1p(1 / np.maximum(distance - 0.5, 1 / STEEPEST)) if whole else 1 / np.maximum(distance, TINY)
    )
    opened = np.where(np.isneginf(low), 1.0, -1.0) * np.where(empty, np.abs(slope), steep)
    return np.column_stack([low, high, np.where(is_open, opened, closed)])


def _closed_slopes(width: Floats, distance: Floats, whole: bool) -> Floats:
    """The slopes at which the mean is so far from the low end of intervals. Shape (leaves,).

    Within its cell the density leans to one side: the mean of whole numbers is that of the density less this
    lean, and the slope with that lean is found by repetition.
    """
    slope = _signed_tilt(distance / width) / width
    for _ in range(STEPS if whole else 0):
        lean = np.sign(slope) * (0.5 - mean_share(np.abs(slope)))
        before, slope = slope, np.where(width > 1, _signed_tilt((distance + lean) / width) / width, 0.0)
        if (np.abs(slope - before) <= 1e-14 * (1 + np.abs(slope))).all():
            break
    return slope


def _signed_tilt(share: Floats) -> Floats:
    """The slope times the width at which the mean is at this share of the interval."""
    return np.where(share > 0.5, 1.0, -1.0) * tilt_of_mean(np.minimum(share, 1 - share))


def _range(x: Floats) -> tuple[float, float]:
    """The least and the greatest value."""
    return (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)


def _flat(low: float, high: float, weight: Floats) -> Floats:
    """Uniform leaves on one interval. Shape (leaves, 3)."""
    return np.broadcast_to(np.array([low, high, 0.0]), (len(weight), 3))


def _sums(params: Floats, x: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The weight inside each interval, and the weighted distances from its closed end. Shapes (leaves,).

    Distances, and not values, keep the digits of a short interval far from zero.
    """
    inside = np.where((x >= params[:, :1]) & (x < params[:, 1:2]), weight, 0.0)
    origin = np.where(np.isneginf(params[:, :1]), params[:, 1:2], params[:, :1])
    away = np.abs(np.where(inside > 0, x - origin, 0.0))
    return inside.sum(axis=1), (inside * away).sum(axis=1)


def _distances(params: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Where the part of each interval inside the limits starts, from its denser end, and how wide it is.

    Shapes (leaves, intervals); a width below zero where there is no such part.
    """
    first, last = np.maximum(params[:, :1], low), np.minimum(params[:, 1:2], high)
    rising = params[:, 2:] > 0
    with np.errstate(invalid="ignore"):
        start = np.where(rising, params[:, 1:2] - last, first - params[:, :1])
        width = last - first
    return np.where(width >= 0, start, 0.0), width
