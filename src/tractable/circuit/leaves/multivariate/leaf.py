"""One multivariate Gaussian leaf: its answers for rows of which some cells are missing."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.late import linalg, special
from tractable.circuit.leaves.intervals import POINTS, SHARES, log_normal_around
from tractable.circuit.leaves.maps import MonotoneMap
from tractable.circuit.leaves.moments import quadratic_mean, weighted_spread
from tractable.circuit.leaves.multivariate.boxes import BoxNodes, box_nodes, draw_in_box
from tractable.circuit.leaves.multivariate.normal import (
    given_seen,
    log_normal,
    log_normal_by_factor,
    patterns,
    square_root,
)

TOGETHER = 1 << 19  # points of intervals that are held at once
TAIL = 2.0**-53  # stands for a uniform number of zero, whose quantile is -inf


class Box(NamedTuple):
    """The intervals in which missing cells lie, infinite where nothing is known. Shapes (columns,)."""

    low: Floats
    high: Floats

    @property
    def limited(self) -> Bools:
        """The columns of which something is known."""
        limited: Bools = np.isfinite(self.low) | np.isfinite(self.high)
        return limited


@dataclass(frozen=True, eq=False)
class GaussianLeaf:
    """Columns that are jointly normal once each went through its map.

    A whole number stands for the cell of width one around it. Its probability is the mass of the cell, given
    the other cells seen: real numbers first, then whole ones from left to right, each given the middles of
    those before it. So the probabilities of all whole numbers add up to one; of several together they are off
    by a part of about 1 / (24 sd^2). Intervals reach half a unit further, and draws are rounded.
    """

    map: MonotoneMap
    mean: Floats  # (columns,) of the mapped values
    factor: Floats  # (columns, columns) the lower Cholesky factor of their covariance
    maps: Floats  # (columns, width) the parameters of the maps
    whole: Bools  # (columns,) which columns hold whole numbers

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the mapped values. Shape (columns, columns)."""
        return self.factor @ self.factor.T

    def log_value(self, x: Floats, box: Box) -> tuple[Floats, float]:
        """The log-density of the cells seen together with the intervals of the others, and its error.

        `x` is (rows, columns), NaN where a cell is missing; the first answer is (rows,), the second the
        largest relative error of numerical integration.
        """
        answer, error = np.empty(len(x)), 0.0
        for seen, rows in patterns(x):
            z = self.mapped(x[rows], seen)
            answer[rows] = self._log_density(z, x[rows], seen)
            limited = box.limited & ~seen
            if limited.any():
                answer[rows], error = self._add_box(z, seen, limited, box, answer[rows], error)
        return answer, error

    def moments(self, x: Floats, box: Box) -> tuple[Floats, Floats]:
        """Mean and standard deviation of every cell given the row; that of a cell that is seen is zero.

        Shapes (rows, columns).
        """
        mean, spread = x.copy(), np.zeros(x.shape)
        for seen, rows in patterns(x):
            open_, limited = np.flatnonzero(~seen), box.limited & ~seen
            if not open_.size:
                continue
            z = self.mapped(x[rows], seen)
            place = np.ix_(rows, open_)
            if limited.any():
                mean[place], spread[place] = self._moments_within(z, seen, limited, box)
                continue
            given = given_seen(z, self.mean, self.covariance, seen)
            sd = np.broadcast_to(np.sqrt(np.diag(given.covariance)), given.mean.shape)
            mean[place], spread[place] = self.map.moments(
                self.maps[open_], given.mean, sd, np.full(sd.shape, -np.inf), np.full(sd.shape, np.inf)
            )
        return mean, spread

    def draw(self, x: Floats, box: Box, uniform: Floats) -> Floats:
        """The rows with missing cells drawn given the others, from a number in [0, 1) for each cell."""
        answer = x.copy()
        score = special.ndtri(np.clip(uniform, TAIL, 1 - TAIL))
        for seen, rows in patterns(x):
            z = self.mapped(x[rows], seen)
            limited = box.limited & ~seen
            if limited.any():
                z[:, limited] = self._draw_within(z, seen, limited, box, uniform[rows])
            known = seen | limited
            open_ = np.flatnonzero(~known)
            if open_.size:
                given = given_seen(z, self.mean, self.covariance, known)
                z[:, open_] = given.mean + score[np.ix_(rows, open_)] @ square_root(given.covariance).T
            self._fill(answer, z, rows, ~seen, box)
        return answer

    def complete(self, x: Floats, box: Box, best: Bools) -> Floats:
        """The rows with the missing cells of the columns in `best` at the mode of the mapped values.

        That is the mode itself if the maps are straight and no column holds whole numbers.
        """
        answer = x.copy()
        for seen, rows in patterns(x):
            fill = best & ~seen
            if not fill.any():
                continue
            z = self.mapped(x[rows], seen)
            given = given_seen(z, self.mean, self.covariance, seen)
            own = np.flatnonzero(fill[~seen])
            mode = np.array(given.mean[:, own])
            if (box.limited & fill).any():
                low, high = self._mapped_box(box, fill)
                mode = _nearest_in_box(mode, given.covariance[np.ix_(own, own)], low, high)
            z[:, fill] = mode
            self._fill(answer, z, rows, fill, box)
        return answer

    def part(self, keep: Ints) -> "GaussianLeaf":
        """The leaf over some of the columns, the others summed out."""
        factor = square_root(self.covariance[np.ix_(keep, keep)])
        return GaussianLeaf(self.map, self.mean[keep], factor, self.maps[keep], self.whole[keep])

    def given(self, x: Floats) -> tuple["GaussianLeaf", float]:
        """The leaf over the missing cells of one row, and the log-density of those that are seen."""
        seen = ~np.isnan(x)
        z = self.mapped(x[None, :], seen)
        rest = given_seen(z, self.mean, self.covariance, seen)
        leaf = GaussianLeaf(
            self.map, rest.mean[0].copy(), square_root(rest.covariance), self.maps[~seen], self.whole[~seen]
        )
        return leaf, float(self._log_density(z, x[None, :], seen)[0])

    @property
    def entropy(self) -> float:
        """The differential entropy in nats."""
        size = self.mean.size
        normal = float(np.log(np.diag(self.factor)).sum()) + 0.5 * size * np.log(2 * np.pi * np.e)
        sd = np.sqrt(np.diag(self.covariance))
        out = (2 * POINTS - 1) * 9.0
        z = self.mean[:, None] + sd[:, None] * out
        x = self.map.inverse(self.maps[:, None, :], z)
        share = np.exp(-0.5 * out**2) * SHARES
        return normal - float((self.map.log_slope(self.maps[:, None, :], x) @ (share / share.sum())).sum())

    def mapped(self, x: Floats, seen: Bools) -> Floats:
        """The mapped values of the cells seen, NaN elsewhere."""
        z = np.full(x.shape, np.nan)
        z[:, seen] = self.map.forward(self.maps[seen], x[:, seen])
        cells = seen & self.whole
        if cells.any() and self.maps.size:
            z[:, cells] = self.map.cell(self.maps[cells], x[:, cells])[0]
        return z

    def _fill(self, answer: Floats, z: Floats, rows: Ints, fill: Bools, box: Box) -> None:
        """Put the values behind the mapped values of some columns into the answer, inside their intervals."""
        x = self.map.inverse(self.maps[fill], z[:, fill])
        x = np.where(self.whole[fill], np.rint(x), x)
        answer[np.ix_(rows, np.flatnonzero(fill))] = np.clip(x, box.low[fill], box.high[fill])

    def _log_density(self, z: Floats, x: Floats, seen: Bools) -> Floats:
        """The log-density of the cells seen. Shape (rows,)."""
        if (seen & self.whole).any():
            return self._log_cells(z, x, seen)
        if seen.all():
            value = log_normal_by_factor(z, self.mean, self.factor)
        else:
            known = np.flatnonzero(seen)
            value = log_normal(z[:, known], self.mean[known], self.covariance[np.ix_(known, known)])
        slope: Floats = self.map.log_slope(self.maps[seen], x[:, seen]).sum(axis=1)
        return value + slope

    def _log_cells(self, z: Floats, x: Floats, seen: Bools) -> Floats:
        """The log-density of the real cells seen, times the mass of the cells of whole numbers. (rows,)."""
        points, cells = np.flatnonzero(seen & ~self.whole), np.flatnonzero(seen & self.whole)
        order = np.concatenate([points, cells])
        factor = square_root(self.covariance[np.ix_(order, order)])
        score = np.empty((len(z), order.size))
        away = z[:, order] - self.mean[order]
        known = points.size
        if known:
            score[:, :known] = linalg.solve_triangular(
                factor[:known, :known], away[:, :known].T, lower=True
            ).T
        value = log_normal_by_factor(z[:, points], self.mean[points], factor[:known, :known])
        value = value + self.map.log_slope(self.maps[points], x[:, points]).sum(axis=1)
        half = self.map.cell(self.maps[cells], x[:, cells])[1]
        for i in range(known, order.size):
            sd = factor[i, i]
            score[:, i] = (away[:, i] - score[:, :i] @ factor[i, :i]) / sd
            value += log_normal_around(score[:, i], half[:, i - known] / sd)
        return value

    def _mapped_box(self, box: Box, columns: Bools) -> tuple[Floats, Floats]:
        """The limits of some columns' mapped values; whole numbers reach half a unit further."""
        low = np.where(self.whole, np.ceil(box.low) - 0.5, box.low)[columns]
        high = np.where(self.whole, np.floor(box.high) + 0.5, box.high)[columns]
        maps = self.maps[columns]
        bottom = np.where(np.isinf(low), low, self.map.forward(maps, np.where(np.isinf(low), 0.0, low)))
        top = np.where(np.isinf(high), high, self.map.forward(maps, np.where(np.isinf(high), 0.0, high)))
        return bottom, top

    def _box_parts(self, z: Floats, seen: Bools, limited: Bools, box: Box) -> list[tuple[slice, BoxNodes]]:
        """Points for the intervals given the cells seen, some rows at a time."""
        given = given_seen(z, self.mean, self.covariance, seen)
        own = np.flatnonzero(limited[~seen])
        low, high = self._mapped_box(box, limited)
        covariance = given.covariance[np.ix_(own, own)]
        step = max(1, TOGETHER // (8192 * own.size)) if own.size > 1 else 4096
        parts = [slice(i, min(i + step, len(z))) for i in range(0, len(z), step)]
        return [(part, box_nodes(given.mean[part][:, own], covariance, low, high)) for part in parts]

    def _add_box(
        self, z: Floats, seen: Bools, limited: Bools, box: Box, value: Floats, error: float
    ) -> tuple[Floats, float]:
        answer = value.copy()
        for part, nodes in self._box_parts(z, seen, limited, box):
            answer[part] += np.minimum(nodes.log_mass, 0.0)
            error = max(error, nodes.error)
        return answer, error

    def _moments_within(self, z: Floats, seen: Bools, limited: Bools, box: Box) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the open cells, some of them in intervals. Shapes (rows, open)."""
        shape = (len(z), int((~seen).sum()))
        mean, spread = np.empty(shape), np.empty(shape)
        own, rest = np.flatnonzero(limited[~seen]), np.flatnonzero(~limited[~seen])
        for part, nodes in self._box_parts(z, seen, limited, box):
            inner, share = nodes.points, nodes.shares
            x = self.map.inverse(self.maps[limited], inner)
            x = np.clip(x, box.low[limited], box.high[limited])
            origin = x[:, 0]  # distances from it keep their digits far from zero
            step, spread[part, own] = weighted_spread(share[:, None], np.moveaxis(x - origin[:, None], 1, 2))
            mean[part, own] = origin + step
            if rest.size:
                mean[part, rest], spread[part, rest] = self._beside(z[part], seen, limited, inner, share)
        return mean, spread

    def _beside(
        self, z: Floats, seen: Bools, limited: Bools, inner: Floats, share: Floats
    ) -> tuple[Floats, Floats]:
        """Moments of the cells without intervals, as mixtures over the points of cells with intervals."""
        rows, points, _ = inner.shape
        full = np.repeat(z, points, axis=0)
        full[:, limited] = inner.reshape(rows * points, -1)
        known = seen | limited
        given = given_seen(full, self.mean, self.covariance, known)
        sd = np.broadcast_to(np.sqrt(np.diag(given.covariance)), given.mean.shape)
        free = np.full(sd.shape, np.inf)
        m, s = (
            np.moveaxis(a.reshape(rows, points, -1), 1, 2)
            for a in self.map.moments(self.maps[~known], given.mean, sd, -free, free)
        )
        origin = m[:, :, :1]
        step, between = weighted_spread(share[:, None], m - origin)
        return origin[:, :, 0] + step, np.hypot(between, quadratic_mean(share[:, None], s))

    def _draw_within(self, z: Floats, seen: Bools, limited: Bools, box: Box, uniform: Floats) -> Floats:
        """Mapped values drawn inside the intervals. Shape (rows, limited columns)."""
        given = given_seen(z, self.mean, self.covariance, seen)
        own = np.flatnonzero(limited[~seen])
        low, high = self._mapped_box(box, limited)
        covariance = given.covariance[np.ix_(own, own)]
        parts = [slice(i, i + 512) for i in range(0, len(z), 512)]
        drawn = [
            draw_in_box(given.mean[part][:, own], covariance, low, high, uniform[part][:, limited])
            for part in parts
        ]
        return np.concatenate(drawn)


def _nearest_in_box(mode: Floats, covariance: Floats, low: Floats, high: Floats) -> Floats:
    """The points of highest density inside a box, for normal columns with these modes. (rows, columns)."""
    from scipy.optimize import lsq_linear  # slow to import, and seldom needed

    weights = np.linalg.inv(square_root(covariance))
    answer = np.clip(mode, low, high)
    for row in np.flatnonzero((answer != mode).any(axis=1)).tolist():
        solution = lsq_linear(
            weights, weights @ mode[row], (low, np.maximum(high, np.nextafter(low, np.inf)))
        )
        answer[row] = np.clip(solution.x, low, high)
    return answer
