"""The rows of a table as matrices: numbers, one-hot states and counts."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import gammaln

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.leaves.maps import MAPS
from tractable.circuit.leaves.multivariate.normal import square_roots
from tractable.data import Schema, Table
from tractable.learning.joint.gaussian_mixture.map_fits import (
    centre_and_scale,
    fit_piecewise,
    fit_yeo_johnson,
    number_of_knots,
)
from tractable.learning.joint.gaussian_mixture.sums import Gaussians


class ColumnGroups(NamedTuple):
    """The columns grouped by their treatment."""

    numbers: Ints  # numeric columns that are no counts: together in one Gaussian
    states: Ints  # categorical columns
    counts: Ints  # count columns
    first: Ints  # (categorical columns + 1,) where the indicators of each begin

    def slices(self) -> list[slice]:
        """The indicators of each categorical column."""
        return [slice(int(a), int(b)) for a, b in zip(self.first[:-1], self.first[1:], strict=True)]


def group_columns(schema: Schema) -> ColumnGroups:
    """The columns by their treatment."""
    numbers = [i for i, v in enumerate(schema) if v.is_numeric and v.kind != "count"]
    states = [i for i, v in enumerate(schema) if v.is_categorical]
    counts = [i for i, v in enumerate(schema) if v.kind == "count"]
    first = np.concatenate([[0], np.cumsum(schema.cardinalities[states])])
    number, state, count = (np.array(columns, dtype=np.int64) for columns in (numbers, states, counts))
    return ColumnGroups(number, state, count, first.astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class MixedRows:
    """Rows as matrices, with zeros for missing cells."""

    groups: ColumnGroups
    weights: Floats  # (rows,)
    numbers: Floats  # (rows, numbers)
    seen: Bools  # (rows, numbers) where a number is observed
    indicators: Floats  # (rows, states)
    counts: Floats  # (rows, counts)
    counts_seen: Floats  # (rows, counts) one where observed
    log_factorials: Floats  # (rows,) of all counts of a row together

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, rows: Ints | Bools | slice) -> "MixedRows":
        """A subset of the rows."""
        return MixedRows(
            self.groups, self.weights[rows], self.numbers[rows], self.seen[rows], self.indicators[rows],
            self.counts[rows], self.counts_seen[rows], self.log_factorials[rows],
        )  # fmt: skip


def mixed_rows(table: Table) -> MixedRows:
    """The rows of a table as matrices."""
    groups = group_columns(table.schema)
    seen = ~table.missing
    values = np.where(seen, table.values, 0.0)
    indicators = np.zeros((len(table), int(groups.first[-1])))
    for column, start in zip(groups.states.tolist(), groups.first[:-1].tolist(), strict=True):
        row = np.flatnonzero(seen[:, column])
        indicators[row, start + values[row, column].astype(np.int64)] = 1.0
    counts = values[:, groups.counts]
    return MixedRows(
        groups, table.row_weights, values[:, groups.numbers], seen[:, groups.numbers], indicators,
        counts, seen[:, groups.counts].astype(np.float64), gammaln(counts + 1).sum(axis=1),
    )  # fmt: skip


# ---- a transformation of the numeric columns: a monotone map of each column, and standardisation --------


MapName: TypeAlias = Literal["identity", "yeo-johnson", "piecewise-linear"]
SMALLEST = 1e-300  # stands for zero where there is a logarithm
HALF_UNIT = 0.5  # the least sd, given all other columns, of a column of whole numbers


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The map of each column, and the mean and standard deviation of its images."""

    name: MapName
    params: Floats  # (numbers, width)
    centre: Floats  # (numbers,)
    scale: Floats  # (numbers,)
    unit_floor: Floats  # (numbers,) least variances of standardised images; zero for numbers with a density

    def images(self, rows: MixedRows) -> tuple[Floats, Floats]:
        """Standardised images (rows, numbers), zero for missing cells, and log-slopes (rows,)."""
        kind = MAPS[self.name]
        z = np.zeros_like(rows.numbers)
        slope = np.zeros(len(rows))
        for j in range(z.shape[1]):
            x, seen = rows.numbers[:, j], rows.seen[:, j]
            if self.unit_floor[j] > 0:  # a whole number stands for the cell around it
                raw, half = kind.cell(self.params[j], x)
                log_slope = np.log(np.maximum(2 * half, SMALLEST))
            else:
                raw, log_slope = kind.forward(self.params[j], x), kind.log_slope(self.params[j], x)
            z[:, j] = np.where(seen, raw / self.scale[j] - self.centre[j] / self.scale[j], 0.0)
            slope += np.where(seen, log_slope - np.log(self.scale[j]), 0.0)
        return z, slope

    def leaf_params(self, gaussians: Gaussians) -> Floats:
        """The parameters of joint leaves: mean and Cholesky factor of the images, then the maps' parameters.

        Shape (components, width).
        """
        count, columns = gaussians.mean.shape
        mean = gaussians.mean * self.scale + self.centre
        root = square_roots(gaussians.covariance) * self.scale[:, None]
        lower = root[:, *np.tril_indices(columns)]
        maps = np.broadcast_to(self.params.ravel(), (count, self.params.size))
        return np.concatenate([mean, lower, maps], axis=1)

    @property
    def family(self) -> str:
        """The name of the family of its joint leaves."""
        return "multivariate-gaussian" + ("" if self.name == "identity" else f"-{self.name}")


def fit_view(name: MapName, rows: MixedRows, is_whole: Floats) -> View:
    """Maps of all columns, fitted to the rows. `is_whole` is one for columns of whole numbers, (numbers,)."""
    knots = number_of_knots(float(rows.weights.sum()))
    params, centres, scales, floors = [], [], [], []
    for j, whole in enumerate(is_whole.tolist()):
        seen = rows.seen[:, j] & (rows.weights > 0)
        x, weight = rows.numbers[seen, j], rows.weights[seen]
        line = _fit_map(name, x, weight, knots)
        centre, scale = centre_and_scale(MAPS[name].forward(line, x), weight)
        steepness = np.exp(MAPS[name].log_slope(line, x)).mean() if x.size else 1.0
        params.append(line)
        centres.append(centre)
        scales.append(scale)
        floors.append(whole * (HALF_UNIT * steepness / scale) ** 2)
    table = np.array(params) if params else np.zeros((0, 0))
    return View(name, table, np.array(centres), np.array(scales), np.array(floors))


def _fit_map(name: MapName, x: Floats, weight: Floats, knots: int) -> Floats:
    if name == "yeo-johnson":
        return fit_yeo_johnson(x, weight)
    return fit_piecewise(x, weight, knots) if name == "piecewise-linear" else np.zeros(0)
