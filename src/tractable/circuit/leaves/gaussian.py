"""A leaf with a normal distribution."""

from math import e, log, pi, tau
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.late import special
from tractable.circuit.leaves.counts import pooled_variance, pseudo_means, pseudo_squares, scatter
from tractable.circuit.leaves.family import Density
from tractable.circuit.leaves.finite import overall_shares, quiet_log
from tractable.circuit.leaves.intervals import (
    NEGLIGIBLE,
    POINTS,
    SHARES,
    limits,
    log_normal_around,
    log_normal_between,
)
from tractable.circuit.leaves.moments import LeafMoments, moments_from, plain_moments, weighted_spread
from tractable.circuit.leaves.rounded import CELL_VARIANCE, rounding_step
from tractable.data.evidence import Region
from tractable.data.schema import Variable

MIN_SPREAD = 1e-3  # a fitted sd is at least this part of its column's: no point gets an infinite density
MAX_LOG_SD = 708.0  # beyond this, the sd or its inverse is no double, or has lost digits
LEAST_SCALE = float(np.exp(-MAX_LOG_SD))  # no column is taken to vary by less: that is the least sd
ROUNDING = 1e-12  # values whose sd is this part of their mean differ by rounding only
LEAST_SPREAD = 1e-100  # below this part of the largest value, an sd has no square to divide by
FIRST_UNIFORM = 2.0**-53  # stands for zero, whose quantile is -inf
LARGEST = float(np.finfo(np.float64).max)
FARTHEST_OUT = 1e150  # sd from the mean
FAR = 1e4  # this many sd out, or over an interval of so few sd, the bell is an exponential to all the
SHORT = 1e-4  # digits that a draw needs


@final
class Gaussian(Density):
    """A real value; the parameters are (mean, log of the standard deviation)."""

    name: ClassVar[str] = "gaussian"
    is_learned: ClassVar[bool] = True

    def accepts(self, variable: Variable) -> bool:
        """Whether the column is numeric and no count."""
        return variable.is_numeric and variable.kind != "count" and variable.role != "potential"

    def width(self, variable: Variable) -> int:
        """Two: mean and log sd."""
        return 2

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless mean, log sd and sd are finite."""
        if params.shape[1] != 2:
            return f"{params.shape[1]} parameters, not mean and log sd"
        if not np.isfinite(params).all():
            return "a mean or log sd is not finite"
        fine = (np.abs(params[:, 1]) <= MAX_LOG_SD * (1 + 1e-12)).all()  # blending rounds
        return None if fine else f"a log sd is beyond {MAX_LOG_SD:g}"

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """Weighted mean and sd; `pseudo_rows` says how they are smoothed.

        No leaf is narrower than the step to which the values were rounded.
        """
        row_share = overall_shares(weight)
        z, centre, scale = _standardise(x, row_share)
        overall = float(row_share @ z**2) if z.size else 1.0
        seen, total, square = weight.sum(axis=1), weight @ z, weight @ z**2
        near = pseudo_means(seen, total, smoothing, 0.0)
        within = pooled_variance(seen, scatter(seen, total, square))
        around = pseudo_squares(seen, near, within, smoothing, overall)
        rows = seen + smoothing
        empty = rows == 0
        rows = np.where(empty, 1.0, rows)
        mean = (total + smoothing * near) / rows
        square = np.where(empty, overall, (square + smoothing * around) / rows)
        cell = CELL_VARIANCE * (rounding_step(x, weight.sum(axis=0)) / scale) ** 2
        variance = np.maximum(square - mean**2, max(MIN_SPREAD**2, cell))
        log_sd = np.clip(0.5 * np.log(variance) + log(scale), -MAX_LOG_SD, MAX_LOG_SD)
        return np.stack([unstandardised(mean, centre, scale), log_sd], axis=1)

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The log-density."""
        mean, log_sd = params[:, :1], params[:, 1:]
        inverse, scale = np.exp(-log_sd), log_sd + 0.5 * log(tau)
        with np.errstate(over="ignore"):
            value = -0.5 * ((x - mean) * inverse) ** 2 - scale
            if np.isfinite(value.min(initial=0.0)):
                return value
            return -0.5 * sd_away(x, mean, inverse) ** 2 - scale

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The integral over the interval, accurate in the tails and over short intervals alike."""
        anchor, start, length = _window(params, region)
        out = _sd_out(params, anchor)
        with np.errstate(over="ignore"):
            density = _relative_density(out, start, length)
            inside = quiet_log(length) + np.log(density @ SHARES)
            return np.minimum(inside - 0.5 * out**2 - 0.5 * log(tau), 0.0)

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The point of the region nearest the mean."""
        low, high = limits(region)
        return np.clip(params[:, 0], low, high)

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """The quantile at `uniform`."""
        uniform = np.clip(uniform, FIRST_UNIFORM, 1 - FIRST_UNIFORM)
        with np.errstate(over="ignore"):
            if region is None:
                value = params[:, 0] + np.exp(params[:, 1]) * special.ndtri(uniform)
                return np.clip(value, -LARGEST, LARGEST)
            return _draw_within(params, uniform, *limits(region))

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """Mean and standard deviation of the part of the bell over the region."""
        sd = np.exp(params[:, 1])
        if region is None:
            return plain_moments(params[:, 0].copy(), sd)
        with np.errstate(over="ignore"):
            anchor, start, length = _window(params, region)
            share = _relative_density(_sd_out(params, anchor), start, length) * SHARES
            share /= share.sum(axis=1, keepdims=True)
            step, spread = weighted_spread(share, start[:, None] + length[:, None] * POINTS)
            return moments_from(anchor, sd * step, sd * spread)

    def entropy(self, params: Floats) -> Floats:
        """The log sd plus a constant."""
        return params[:, 1] + 0.5 * log(2 * pi * e)

    def log_between(self, params: Floats, low: Floats, high: Floats) -> Floats:
        """The mass between the bounds in sd from the mean."""
        mean, inverse = params[:, :1], np.exp(-params[:, 1:])
        with np.errstate(over="ignore", invalid="ignore"):
            return log_normal_between(sd_away(low, mean, inverse), sd_away(high, mean, inverse))

    def log_cells(self, params: Floats, middle: Floats) -> Floats:
        """The mass around the numbers in sd from the mean, so that cells of huge numbers have a length."""
        mean, inverse = params[:, :1], np.exp(-params[:, 1:])
        with np.errstate(over="ignore", invalid="ignore"):
            return log_normal_around(sd_away(middle, mean, inverse), 0.5 * inverse)

    def window(self, params: Floats, region: Region | None = None) -> tuple[Floats, Floats]:
        """The ends of what counts around the point of the region nearest the mean."""
        anchor, start, length = _window(params, region)
        sd = np.exp(params[:, 1])
        return anchor + sd * start, anchor + sd * (start + length)

    def fit_whole(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """Mean and sd before rounding, which adds 1/12 to the variance (Sheppard's correction)."""
        return unrounded(self.fit(x, weight, variable, smoothing))

    def refit_whole(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """The parameters fitted to whole numbers, like those of `fit_whole`."""
        return self.fit_whole(x, weight, variable, smoothing)


def unrounded(params: Floats) -> Floats:
    """Gaussians of numbers whose roundings have the given mean and sd; the variance is at least 1/12.

    A narrower bell would put all its mass into one whole number.
    """
    variance = np.exp(2 * np.minimum(params[:, 1], MAX_LOG_SD / 2)) - CELL_VARIANCE
    log_sd = 0.5 * np.log(np.maximum(variance, CELL_VARIANCE))
    return np.column_stack([params[:, 0], np.where(params[:, 1] > MAX_LOG_SD / 2, params[:, 1], log_sd)])


def _standardise(x: Floats, row_share: Floats) -> tuple[Floats, float, float]:
    """Values with mean zero and sd one, and the mean and sd they had; a constant column gets a sd of its own.

    Dividing by the largest value first keeps the squares of huge values finite. Rows that weigh nothing
    take no part.
    """
    x = np.where(row_share > 0, x, 0.0)
    largest = float(np.abs(x).max(initial=0.0)) or 1.0
    z = x / largest
    centre = float(row_share @ z)
    z = np.where(row_share > 0, z - centre, 0.0)
    spread = float(np.sqrt(row_share @ z**2)) if z.size else 1.0
    if spread <= max(ROUNDING * abs(centre), LEAST_SPREAD):
        size = abs(centre) if abs(centre) > ROUNDING else 1.0  # zero beside other values that hardly weigh
        return np.zeros_like(x), centre * largest, max(size * largest, LEAST_SCALE)
    if spread * largest < LEAST_SCALE:
        return z * (largest / LEAST_SCALE), centre * largest, LEAST_SCALE
    return z / spread, centre * largest, spread * largest


def unstandardised(z: Floats, centre: Floats | float, scale: Floats | float) -> Floats:
    """The numbers whose standardised values these are; none is beyond the largest double."""
    return 4 * np.clip(z * (scale / 4) + centre / 4, -LARGEST / 4, LARGEST / 4)


def sd_away(x: Floats, mean: Floats, inverse: Floats) -> Floats:
    """(x - mean) / sd from the inverse of the sd, without overflow for huge numbers.

    Finite values are limited to 1e150, whose square is a double, so that no density is zero.
    """
    with np.errstate(over="ignore"):
        away = (x / 4 - mean / 4) * inverse
        return np.where(np.isinf(x), x, np.clip(away, -FARTHEST_OUT / 4, FARTHEST_OUT / 4) * 4)


def _sd_out(params: Floats, anchor: Floats) -> Floats:
    """How many sd the anchor lies above the mean. Shape (leaves,)."""
    return sd_away(anchor, params[:, 0], np.exp(-params[:, 1]))


def _window(params: Floats, region: Region | None) -> tuple[Floats, Floats, Floats]:
    """Where the density over the region is highest, and the start and length in sd of what counts around it.

    Steps from that point, and not from the mean, keep all digits of a short interval far out.
    """
    low, high = limits(region)
    anchor = np.clip(params[:, 0], low, high)
    out = _sd_out(params, anchor)
    with np.errstate(over="ignore"):
        reach = 2 * NEGLIGIBLE / (np.hypot(out, np.sqrt(2 * NEGLIGIBLE)) + np.abs(out))
        inverse = np.exp(-params[:, 1])
        start = np.maximum((low - anchor) * inverse, -reach)
        end = np.minimum((high - anchor) * inverse, reach)
    return anchor, start, end - start


def _relative_density(out: Floats, start: Floats, length: Floats) -> Floats:
    """The density over that of the anchor at the points of the window. Shape (leaves, points)."""
    step = start[:, None] + length[:, None] * POINTS
    return np.exp(-(out[:, None] + 0.5 * step) * step)


def _draw_within(params: Floats, uniform: Floats, low: float, high: float) -> Floats:
    """Quantiles of the part of the bell between two limits; a right tail is drawn as a left one, mirrored."""
    anchor, sd = np.clip(params[:, 0], low, high), np.exp(params[:, 1])
    out = _sd_out(params, anchor)
    side = np.where(out > 0, -1.0, 1.0)
    first = np.where(side < 0, anchor - high, low - anchor) / sd
    last = np.where(side < 0, anchor - low, high - anchor) / sd
    uniform = np.where(side < 0, 1 - uniform, uniform)
    straight = (np.abs(out) > FAR) | (last - first < SHORT)
    steps = np.where(
        straight, last + _straight_steps(out, last - first, uniform), _steps(side * out, first, last, uniform)
    )
    return np.clip(anchor + side * steps * sd, low, high)


def _steps(out: Floats, first: Floats, last: Floats, uniform: Floats) -> Floats:
    """Quantiles between two limits, in sd from the anchor, which lies `out` <= 0 sd above the mean."""
    near = np.maximum(out, -FAR)  # those further out are drawn another way
    below = special.log_ndtr(near + first) + np.log1p(-uniform)
    above = special.log_ndtr(near + last) + np.log(uniform)
    return special.ndtri_exp(np.logaddexp(below, above)) - near


def _straight_steps(out: Floats, length: Floats, uniform: Floats) -> Floats:
    """Steps from the upper limit, near which the log-density is practically linear."""
    rate = np.maximum(np.abs(out), SHORT)
    return np.log1p((1 - uniform) * np.expm1(-rate * length)) / rate
