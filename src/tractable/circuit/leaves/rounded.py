"""Leaves over whole numbers, which are masses of the cells of a density, and the step of rounded numbers."""

from typing import final

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.leaves.counts import whole_points
from tractable.circuit.leaves.family import Density, Family
from tractable.circuit.leaves.finite import quiet_log, shares
from tractable.circuit.leaves.intervals import limits
from tractable.circuit.leaves.moments import LeafMoments, moments_from, weighted_spread
from tractable.data.evidence import Interval, Region
from tractable.data.schema import Variable

SAMPLE = 4096  # numbers that are looked at
REPEATED = 0.5  # of the weight: with fewer distinct values than that, numbers count as rounded
EQUAL = 1e-12  # a difference that is a smaller part of the largest number is rounding of doubles
CELL_VARIANCE = 1 / 12  # the variance within a cell of width one
LARGEST = 2.0**52  # beyond, not every number halfway between whole numbers is a double


@final
class Rounded(Family):
    """A whole number: the nearest one to a number with a density, whose parameters are the leaf's.

    The probability of k is the mass of the cell from k - 1/2 to k + 1/2, so that whole numbers have true
    probabilities, which sum to one.
    """

    def __init__(self, inner: Density) -> None:
        self.inner = inner
        self.name = f"rounded-{inner.name}"  # type: ignore[misc]
        self.is_learned = inner.is_learned  # type: ignore[misc]

    def accepts(self, variable: Variable) -> bool:
        """Whether the column holds whole numbers; counts only if the density can keep above zero."""
        fits = variable.kind != "count" or self.inner.can_be_bounded
        return variable.is_whole and variable.role != "potential" and fits

    def width(self, variable: Variable) -> int:
        """That of the density."""
        return self.inner.width(variable)

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint of the density, or one about whole numbers."""
        return self.inner.check(params, variable) or self.inner.check_whole(params, variable)

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """The density for which its roundings are likeliest, to a good approximation."""
        return self.inner.fit_whole(x, weight, variable, smoothing)

    def refit(
        self, params: Floats, x: Floats, weight: Floats, variable: Variable, smoothing: float
    ) -> Floats:
        """The parameters fitted to rounded values; entries that are not parameters are unchanged."""
        return self.inner.refit_whole(params, x, weight, variable, smoothing)

    def blend(self, params: Floats, towards: Floats, step: float) -> Floats:
        """As the density blends."""
        return self.inner.blend(params, towards, step)

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """The log-probability, which is -inf for values that are not whole numbers."""
        whole = np.floor(x)
        log_p = self._of_whole(params, whole)
        return log_p if (whole == x).all() else np.where(whole == x, log_p, -np.inf)

    def _of_whole(self, params: Floats, x: Floats) -> Floats:
        """The log-probabilities; looked up where there are fewer whole numbers than cells."""
        if x.size:
            first, last = float(x.min()), float(x.max())
            if last - first < x.shape[1] / 2 and max(-first, last) < LARGEST:
                table = self._of_cells(params, np.arange(first, last + 1)[None, :])
                place = (x - first).astype(np.int64)
                return table[:, place[0]] if len(place) == 1 else np.take_along_axis(table, place, axis=1)
        return self._of_cells(params, x)

    def _of_cells(self, params: Floats, middle: Floats) -> Floats:
        """The log-mass of the cells around some numbers. Shape (leaves, numbers)."""
        return self.inner.log_cells(params, middle)

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """The mass of the cells of the whole numbers in the interval."""
        first, last = _whole_limits(region)
        if last < first:
            return np.full(len(params), -np.inf)
        if first == last:  # the cell of a huge number may have no two ends
            return self._of_cells(params, np.full((1, 1), first))[:, 0]
        return self.inner.log_mass(params, Interval(first - 0.5, last + 0.5))

    def mode(self, params: Floats, region: Region | None = None) -> Floats:
        """The most probable whole number, which is next to the mode of the density."""
        first, last = _whole_limits(region)
        near = np.floor(self.inner.mode(params, _cells(region)) + 0.5)
        tried = np.clip(near[:, None] + np.array([0.0, -1.0, 1.0]), first, max(first, last))
        best = self.log_prob(params, tried).argmax(axis=1)
        return tried[np.arange(len(tried)), best]

    def draw(self, params: Floats, uniform: Floats, region: Region | None = None) -> Floats:
        """The rounded quantile of the density."""
        first, last = _whole_limits(region)
        low, high = self.support(params)
        value = np.floor(self.inner.draw(params, uniform, _cells(region)) + 0.5)
        return np.clip(np.clip(value, low, high - 1), first, max(first, last))

    def moments(self, params: Floats, region: Region | None = None) -> LeafMoments:
        """Mean and standard deviation of the whole numbers themselves, not of the density."""
        nearest = self.mode(params, region)
        step, log_p = self._points(params, nearest, region)
        return moments_from(nearest, *weighted_spread(shares(log_p), step))

    def entropy(self, params: Floats) -> Floats:
        """The sum over whole numbers."""
        nearest = self.mode(params)
        step, log_p = self._points(params, nearest, None)
        log_cell = self._of_cells(params, nearest[:, None] + step)
        share = shares(log_p)
        return -(share * np.where(share > 0, log_cell, 0.0)).sum(axis=1)

    def _points(self, params: Floats, nearest: Floats, region: Region | None) -> tuple[Floats, Floats]:
        """Points that stand for all whole numbers of a region, as steps from `nearest`, and their log-masses.

        Shapes (leaves, points).
        """
        low, high = self.inner.window(params, _cells(region))
        first, last = _whole_limits(region)
        first = np.minimum(np.clip(np.floor(low + 0.5), first, None), nearest)
        last = np.maximum(np.clip(np.ceil(high - 0.5), None, last), nearest)
        first, last = np.maximum(first, nearest - LARGEST), np.minimum(last, nearest + LARGEST)
        step, count = whole_points(nearest, first, last)
        return step, self._of_cells(params, nearest[:, None] + step) + quiet_log(count)

    def support(self, params: Floats) -> tuple[Floats, Floats]:
        """The first whole number whose cell has a mass, and the one after the last."""
        low, high = self.inner.support(params)
        return np.floor(low + 0.5), np.ceil(high - 0.5) + 1


def _whole_limits(region: Region | None) -> tuple[float, float]:
    """The first and last whole number of a region."""
    low, high = limits(region)
    return float(np.ceil(low)), float(np.floor(high))


def _cells(region: Region | None) -> Interval | None:
    """The cells of the whole numbers in a region; a single cell if it has no whole number."""
    if region is None:
        return None
    first, last = _whole_limits(region)
    return Interval(first - 0.5, max(first, last) + 0.5)


def rounding_step(x: Floats, weight: Floats) -> float:
    """The least difference of two of the numbers where values repeat; zero where they do not.

    A leaf much narrower than that would tell of the rounding and not of the column.
    """
    every = max(1, x.size // SAMPLE)
    some, total = x[::every], float(weight[::every].sum())
    distinct = np.unique(some)
    if not 1 < distinct.size < REPEATED * total:
        return 0.0
    with np.errstate(over="ignore"):
        gap = np.diff(distinct)
    least = float(gap[gap > EQUAL * np.abs(distinct).max()].min(initial=np.inf))
    return least if np.isfinite(least) else 0.0
