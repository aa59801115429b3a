"""Multivariate Gaussian leaves over the same columns, side by side: their answers for many rows at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.leaves.maps import MonotoneMap
from tractable.circuit.leaves.multivariate.kernels import (
    TILE,
    Completed,
    Normals,
    Patterns,
    Room,
    given_seen,
    log_densities,
)
from tractable.circuit.leaves.multivariate.leaf import GaussianLeaf
from tractable.circuit.leaves.multivariate.normal import LARGEST, LEAST_VARIANCE
from tractable.circuit.leaves.multivariate.normal import patterns as patterns_of

MOST_NUMBERS = 1 << 22  # of the maps of leaves and rows that are looked at together


class Grouped(NamedTuple):
    """Rows by the cells that they have."""

    row: Ints  # (rows,) the rows, those of the same pattern side by side
    patterns: Patterns
    missing: Bools  # (rows, columns) of the rows in this order


@dataclass(frozen=True, eq=False)
class GaussianStack:
    """Leaves over the same columns through the same kind of map; see `GaussianLeaf`, which is one of them.

    `maps` has a single line if all leaves have the same maps.
    """

    map: MonotoneMap
    mean: Floats  # (leaves, columns)
    factor: Floats  # (leaves, columns, columns)
    maps: Floats  # (leaves or 1, columns, width)
    whole: Bools  # (columns,)

    @classmethod
    def of(cls, leaves: Sequence[GaussianLeaf]) -> "GaussianStack":
        """The stack of some leaves."""
        maps = np.stack([leaf.maps for leaf in leaves])
        shared = bool((maps == maps[:1]).all())
        return cls(
            leaves[0].map,
            np.stack([leaf.mean for leaf in leaves]),
            np.stack([leaf.factor for leaf in leaves]),
            maps[:1] if shared else maps,
            leaves[0].whole,
        )

    @cached_property
    def normals(self) -> Normals:
        """The distributions as the kernels want them."""
        covariance = self.factor @ np.swapaxes(self.factor, 1, 2)
        spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        correlation = covariance / spread[:, :, None] / spread[:, None, :]
        diagonal = np.arange(self.whole.size)
        correlation[:, diagonal, diagonal] = 1.0
        return Normals(self.mean, spread, correlation, self.factor)

    def log_values(self, x: Floats) -> Floats:
        """The log-density of the cells that each row has, (rows, columns), NaN where one is missing.

        Shape (leaves, rows).

        Raises:
            ValueError: if the covariance of some columns is not positive definite.
        """
        groups = self._group(x)
        answer = np.empty((len(self.mean), len(x)))
        for leaves, maps in self._parts(len(x)):
            z, half, log_lengths = self._mapped(x[groups.row], maps)
            value = np.empty((len(self.mean[leaves]), len(x)))
            normals = Normals(*(a[leaves] for a in self.normals))
            _require_definite(log_densities(z, half, normals, groups.patterns, self._room(), value))
            answer[leaves, groups.row] = value + log_lengths
        return answer

    def moments(self, x: Floats, used: Bools) -> tuple[Floats, Floats]:
        """Mean and standard deviation of every cell given its row; the deviation of observed cells is zero.

        Shapes (leaves, rows, columns). Missing cells of leaves and rows outside `used`, (leaves, rows), are
        zero.

        Raises:
            ValueError: if a cell is so extreme that the conditional mean of another overflows.
        """
        groups = self._group(x)
        mean, spread = np.zeros((2, len(self.mean), *x.shape))
        mean[:] = np.where(np.isnan(x), 0.0, x)
        for leaves, maps in self._parts(len(x)):
            centre, sd = self._given(x, groups, leaves, maps)
            wanted = used[leaves][:, groups.row]
            for column in range(self.whole.size):
                leaf, row = np.nonzero(wanted & groups.missing[:, column])
                if not leaf.size:
                    continue
                params = maps[0 if len(maps) == 1 else leaf, column]
                free = np.full(leaf.size, np.inf)
                place = (np.arange(len(mean))[leaves][leaf], groups.row[row], column)
                mean[place], spread[place] = self.map.moments(
                    params, centre[leaf, column, row], sd[leaf, column, row], -free, free
                )
        return mean, spread

    def _given(self, x: Floats, groups: Grouped, leaves: slice, maps: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of mapped values given the cells seen, (leaves, columns, rows)."""
        z, _, _ = self._mapped(x[groups.row], maps)
        normals, patterns = Normals(*(a[leaves] for a in self.normals)), groups.patterns
        count, size = normals.mean.shape
        answer = Completed(
            np.zeros((count, size, len(x))), np.zeros((count, size, patterns.known.size)), LEAST_VARIANCE
        )
        _require_definite(given_seen(z, normals, patterns, self._room(), answer))
        if np.isnan(answer.mean).any():
            raise ValueError("a cell is too extreme for the other columns of its multivariate leaf")
        return np.clip(answer.mean, -LARGEST, LARGEST), np.repeat(answer.sd, np.diff(patterns.first), axis=2)

    def _room(self) -> Room:
        size, tile = self.whole.size, TILE
        return Room(
            np.empty((size, size)), np.empty((size, tile)), np.empty(tile), np.empty(tile), np.empty(size)
        )

    def _parts(self, rows: int) -> list[tuple[slice, Floats]]:
        """The leaves in parts whose maps are applied together, with their maps."""
        leaves, _, width = self.maps.shape
        if leaves == 1:
            return [(slice(None), self.maps)]
        step = max(1, MOST_NUMBERS // max(1, rows * self.whole.size * max(1, width)))
        parts = [slice(i, min(i + step, leaves)) for i in range(0, leaves, step)]
        return [(part, self.maps[part]) for part in parts]

    def _group(self, x: Floats) -> Grouped:
        """The rows by their missing cells."""
        groups = patterns_of(x)
        seen = np.stack([s for s, _ in groups])
        sizes = np.array([rows.size for _, rows in groups])
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        order = np.argsort(np.where(seen, self.whole, 2), axis=1, kind="stable")
        patterns = Patterns(first, order, (seen & ~self.whole).sum(axis=1), seen.sum(axis=1))
        row = np.concatenate([rows for _, rows in groups])
        return Grouped(row, patterns, ~np.repeat(seen, sizes, axis=0))

    def _mapped(self, x: Floats, maps: Floats) -> tuple[Floats, Floats, Floats]:
        """Mapped values, half the lengths of cells, and the sum of the logarithms of slopes and lengths.

        Shapes (maps, columns, rows) twice, with one column if none holds whole numbers, and (maps, rows).
        """
        seen = ~np.isnan(x)
        x, lines = np.where(seen, x, 0.0), maps[:, None]
        z, slope = self.map.forward(lines, x[None]), self.map.log_slope(lines, x[None])
        half = np.ones((len(maps), 1, len(x)))
        if self.whole.any():
            whole = self.whole
            z, slope, lengths = z.copy(), slope.copy(), np.ones(z.shape)
            z[..., whole], lengths[..., whole] = self.map.cell(lines[:, :, whole], x[None][..., whole])
            with np.errstate(divide="ignore"):
                slope[..., whole] = np.log(2 * lengths[..., whole])
            half = np.ascontiguousarray(np.swapaxes(lengths, 1, 2))
        total = np.where(seen, slope, 0.0).sum(axis=2)
        return np.ascontiguousarray(np.swapaxes(z, 1, 2)), half, total


def _require_definite(definite: bool) -> None:
    if not definite:
        raise ValueError("a covariance matrix is not positive definite")
