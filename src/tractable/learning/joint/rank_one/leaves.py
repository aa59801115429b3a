"""Leaves of blocks: over all rows of a block, and around single instances.

States are smoothed by pseudo-counts that are added to each of them. A numeric column has a Gaussian whose
variance is shrunk towards that of the whole column by one pseudo-row; around an instance its width is that of
the block's values times a bandwidth. A count has a Poisson leaf.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.late import special
from tractable.circuit import Builder
from tractable.circuit.leaves import leaf_family
from tractable.circuit.leaves.gaussian import MAX_LOG_SD, unrounded
from tractable.circuit.leaves.poisson import LEAST_ESTIMATE, MAX_LOG_RATE
from tractable.circuit.leaves.rounded import CELL_VARIANCE, rounding_step
from tractable.data import Table, Variable, collapse
from tractable.learning.statistics.estimates import LEAST_SMOOTHING, state_params
from tractable.learning.statistics.leaf_choice import add_leaf, needs_rows, statistics_family

# ---- how wide kernels around instances are --------------------------------------------------------------


BANDWIDTHS = np.geomspace(0.02, 1.5, 18)  # as shares of the standard deviations of the columns
MOST_LEFT_OUT = 200  # rows, evenly spaced, whose likelihood given the others is maximised
MOST_OTHERS = 2000


def best_bandwidth(values: Floats, weights: Floats) -> float:
    """The bandwidth under which each instance is most likely given all others, (rows, columns) as they are.

    A bandwidth is the width of a Gaussian kernel as a share of the standard deviation of its column. Cells
    that are missing count as the column's mean.
    """
    rows, columns = values.shape
    if rows < 3 or not columns:
        return 1.0
    mean = np.nan_to_num(np.nanmean(values, axis=0)) if not np.isnan(values).all(axis=0).any() else 0.0
    centred = np.nan_to_num(values - mean)
    sd = centred.std(axis=0)
    x = centred / np.where(sd > 0, sd, 1.0)
    left_out = np.unique(np.linspace(0, rows - 1, MOST_LEFT_OUT).astype(np.int64))
    others = np.unique(np.concatenate([left_out, np.linspace(0, rows - 1, MOST_OTHERS).astype(np.int64)]))
    squares = (x**2).sum(axis=1)
    distance = squares[left_out, None] + squares[others] - 2.0 * x[left_out] @ x[others].T
    distance[left_out[:, None] == others] = np.inf
    log_weight = np.log(weights[others])
    score = [
        float(special.logsumexp(log_weight - 0.5 * np.maximum(distance, 0.0) / h**2, axis=1).sum())
        - left_out.size * columns * np.log(h)
        for h in BANDWIDTHS.tolist()
    ]
    return float(BANDWIDTHS[int(np.argmax(score))])


LEAST_SPREAD = 1e-3  # the least sd of a leaf, as a share of its column's
MOST_SCALE = 1e300  # a unit above this would overflow when it is multiplied


class NumericColumn(NamedTuple):
    """What is known of a numeric column as a whole, in units of its largest value."""

    unit: float
    mean: float
    variance: float
    least: float  # variance of a leaf


class LeafMaker:
    """Makes leaves over blocks of a table; equal leaves are made once."""

    def __init__(self, builder: Builder, table: Table, smoothing: float) -> None:
        self._builder = builder
        self._table = table  # of distinct rows
        self._weights = table.row_weights
        self._smoothing = max(smoothing, LEAST_SMOOTHING)
        self._whole = [_numeric_column(table, c) for c in range(len(table.schema))]
        self._made: dict[tuple[int, bytes], int] = {}
        self._fitted = [needs_rows(v) and v.kind != "count" for v in table.schema]  # to the values of blocks
        self._family = [
            leaf_family(v) if fitted else statistics_family(v)
            for v, fitted in zip(table.schema, self._fitted, strict=True)
        ]

    def independent(self, rows: Ints, columns: Ints) -> int:
        """The product of the distributions of a block's columns."""
        states = self._all_states(rows, columns)
        lines = (states[c] if c in states else self._block_params(rows, c) for c in columns.tolist())
        return self._builder.product(
            [self._leaf(c, line) for c, line in zip(columns.tolist(), lines, strict=True)]
        )

    def _all_states(self, rows: Ints, columns: Ints) -> dict[int, Floats]:
        """The parameters of the leaves of a block's categorical columns, all counted together."""
        sizes = self._table.schema.cardinalities[columns]
        kept = columns[sizes > 0]
        sizes = sizes[sizes > 0]
        first = np.cumsum(sizes) - sizes
        codes = self._table.values[np.ix_(rows, kept)]
        seen = ~np.isnan(codes)
        place = (np.where(seen, codes, 0.0) + first).astype(np.int64)
        weight = np.where(seen, self._weights[rows, None], 0.0)
        counts = np.bincount(place.ravel(), weight.ravel(), int(sizes.sum())) + self._smoothing
        total = np.add.reduceat(counts, first) if kept.size else np.zeros(0)
        log_prob = np.log(counts / np.repeat(total, sizes))
        ends = zip(kept.tolist(), first.tolist(), (first + sizes).tolist(), strict=True)
        return {column: state_params(log_prob[None, a:b])[0] for column, a, b in ends}

    def instances(self, rows: Ints, columns: Ints) -> int:
        """The sum over the distinct instances of a block of products of leaves around their cells."""
        values = self._table.values[np.ix_(rows, columns)]
        first, weights = _distinct(self._table.take(rows).select(columns))
        if first.size == 1 or columns.size == 1:
            return self.independent(rows, columns)
        width = best_bandwidth(self._numeric(values[first], columns), weights)
        nodes = np.empty((first.size, columns.size), dtype=np.int64)
        for place, column in enumerate(columns.tolist()):
            missing = self._block_params(rows, column)
            params = self._instance_params(column, values[first, place], weights, width, missing)
            distinct, inverse = np.unique(params, axis=0, return_inverse=True)
            leaves = np.array([self._leaf(column, line) for line in distinct])
            nodes[:, place] = leaves[inverse.reshape(-1)]
        below = [self._builder.product(line) for line in nodes.tolist()]
        return self._builder.sum(below, np.log(weights / weights.sum()))

    def _leaf(self, column: int, params: Floats) -> int:
        key = (column, params.tobytes())
        if key not in self._made:
            self._made[key] = add_leaf(self._builder, self._family[column], column, params)
        return self._made[key]

    def _block_params(self, rows: Ints, column: int) -> Floats:
        """The parameters of a leaf over all rows of a block."""
        variable, x, weight = (
            self._table.schema[column],
            self._table.values[rows, column],
            self._weights[rows],
        )
        seen = ~np.isnan(x)
        x, weight = x[seen], weight[seen]
        if variable.is_categorical:
            counts = np.bincount(x.astype(np.int64), weight, variable.cardinality).astype(np.float64)
            return self._state_params(counts[None, :])[0]
        whole = self._whole[column]
        if self._fitted[column]:
            return self._fitted_params(column, x, weight)
        x, total = x / whole.unit, float(weight.sum())
        mean = (float(weight @ x) + whole.mean) / (total + 1.0)
        if variable.kind != "count" and total:
            mean = float(weight @ x) / total
        variance = (float(weight @ (x - mean) ** 2) + whole.variance) / (total + 1.0)
        return self._numeric_params(column, np.array([mean]), np.array([variance]))[0]

    def _instance_params(
        self, column: int, x: Floats, weight: Floats, width: float, missing: Floats
    ) -> Floats:
        """The parameters of leaves around cells, one line each; a missing cell has those of the block."""
        variable, seen = self._table.schema[column], ~np.isnan(x)
        filled = np.where(seen, x, 0.0)
        if variable.is_categorical:
            counts = np.zeros((x.size, variable.cardinality))
            counts[np.arange(x.size), filled.astype(np.int64)] = weight
            params = self._state_params(counts)
        elif self._fitted[column]:  # each leaf is fitted to all cells, drawn towards its own
            away = width * (x[seen] - np.average(x[seen], weights=weight[seen])) if seen.any() else x[seen]
            away = np.rint(away) if variable.is_whole else away
            params = np.array([self._fitted_params(column, cell + away, weight[seen]) for cell in filled])
        else:
            whole = self._whole[column]
            mean = filled / whole.unit
            if variable.kind == "count":
                mean = (weight * mean + self._smoothing * whole.mean) / (weight + self._smoothing)
            around = width**2 * _variance(mean[seen], weight[seen])
            params = self._numeric_params(column, mean, np.full(x.size, around))
        return np.where(seen[:, None], params, missing)

    def _state_params(self, counts: Floats) -> Floats:
        """The parameters of leaves with the given counts of states, one line each."""
        smoothed = counts + self._smoothing
        return state_params(np.log(smoothed / smoothed.sum(axis=1, keepdims=True)))

    def _fitted_params(self, column: int, x: Floats, weight: Floats) -> Floats:
        """The parameters of a leaf that statistics do not determine, for values of given weights."""
        whole, variable = self._whole[column], self._table.schema[column]
        mean = whole.mean * whole.unit
        return self._family[column].estimate(x, weight[None], variable, self._smoothing, mean)[0]

    def _numeric_params(self, column: int, mean: Floats, variance: Floats) -> Floats:
        """The parameters of numeric leaves with the given moments, in units of the column."""
        whole, variable = self._whole[column], self._table.schema[column]
        if variable.kind == "count":
            with np.errstate(divide="ignore"):
                rate = np.log(mean) + np.log(whole.unit)
            return np.clip(rate, LEAST_ESTIMATE, MAX_LOG_RATE)[:, None]
        log_sd = 0.5 * np.log(np.maximum(variance, whole.least)) + np.log(whole.unit)
        params = np.stack([mean * whole.unit, np.clip(log_sd, -MAX_LOG_SD, MAX_LOG_SD)], axis=1)
        return unrounded(params) if variable.is_whole else params

    def _numeric(self, values: Floats, columns: Ints) -> Floats:
        """The numeric columns among some, in units of their spread; (rows, numeric columns)."""
        kept = [i for i, c in enumerate(columns.tolist()) if _has_gaussian(self._table.schema[c])]
        unit = np.array([self._whole[int(columns[i])].unit for i in kept])
        return values[:, kept] / unit


def _has_gaussian(variable: Variable) -> bool:
    return variable.is_numeric and variable.kind != "count"


def _distinct(table: Table) -> tuple[Ints, Floats]:
    """The first place of each distinct row, and the weight of all rows equal to it."""
    instances, inverse = collapse(table)
    return np.unique(inverse, return_index=True)[1], instances.row_weights


def _variance(x: Floats, weight: Floats) -> float:
    total = float(weight.sum()) or 1.0
    return float(weight @ (x - float(weight @ x) / total) ** 2) / total


def _numeric_column(table: Table, column: int) -> NumericColumn:
    """What is known of a column as a whole; of one that is constant or never seen, that it spreads by one."""
    variable, x = table.schema[column], table.values[:, column]
    seen = ~np.isnan(x)
    x, weight = x[seen], table.row_weights[seen]
    if variable.is_categorical or not x.size:
        return NumericColumn(1.0, float(variable.kind == "count"), 1.0, LEAST_SPREAD**2)
    unit = min(float(np.abs(x).max()) or 1.0, MOST_SCALE)
    step = 1.0 if variable.is_whole else rounding_step(x, weight)
    mean = float(weight @ (x / unit)) / (float(weight.sum()) or 1.0)
    variance = _variance(x / unit, weight)
    if variance <= 1e-24 * mean**2:
        variance = mean**2 or 1.0
    least = max(LEAST_SPREAD**2 * variance, CELL_VARIANCE * (step / unit) ** 2)
    return NumericColumn(unit, mean, variance, least)
