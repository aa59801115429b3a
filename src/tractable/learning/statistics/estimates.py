"""From the statistics of groups of rows to the parameters of their leaves.

A group's statistics are weighted sums of the features of an encoding, (features, groups); smoothing adds
pseudo-counts to each group. Columns are independent within a group, so that a group is a product of leaves,
and several groups are a mixture of products.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Builder
from tractable.circuit.leaves import leaf_family, state_family
from tractable.circuit.leaves.counts import pooled_variance, pseudo_means, pseudo_squares, scatter
from tractable.circuit.leaves.gaussian import MAX_LOG_SD, MIN_SPREAD, unrounded, unstandardised
from tractable.circuit.leaves.poisson import LEAST_ESTIMATE, MAX_LOG_RATE
from tractable.circuit.leaves.rounded import CELL_VARIANCE
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.leaf_choice import (
    add_leaf,
    columns_that_need_rows,
    statistics_family,
)

LEAST_SMOOTHING = 1e-9  # pseudo-counts even where none are asked for, so that no state is impossible


class Estimates(NamedTuple):
    """Maximum-likelihood parameters; each array has a column for each group."""

    log_first: Floats  # (categorical columns, groups) the log-probability of the first state
    log_state: Floats  # (state features, groups) the log-probabilities of the other states
    mean: Floats  # (real columns, groups), standardised
    variance: Floats  # (real columns, groups), standardised
    log_rate: Floats  # (count columns, groups)


def state_params(log_prob: Floats) -> Floats:
    """Parameters of a categorical column's leaves from log-probabilities, (leaves, states)."""
    return state_family(log_prob.shape[1]).from_log_states(log_prob)


def smoothed_sums(encoding: Encoding, sums: Floats, smoothing: float) -> Floats:
    """The statistics with the pseudo-counts added. Shape (features, groups)."""
    smoothing = max(smoothing, LEAST_SMOOTHING)
    return sums + smoothing * pseudo_counts(encoding, sums, smoothing)


def pseudo_counts(encoding: Encoding, sums: Floats, smoothing: float) -> Floats:
    """The statistics of one pseudo-count of each group; (features, 1) where all groups have the same.

    `circuit/leaves/counts.py` says where those of numeric columns lie.
    """
    layout, prior = encoding.layout, encoding.prior[:, None]
    if not layout.real.size + layout.counted.size:
        return prior
    answer = np.repeat(prior, sums.shape[1], axis=1)
    seen = sums[layout.seen]
    real, counted = seen[layout.real], seen[layout.counted]
    total, square = sums[layout.values], sums[layout.squares]
    mean = pseudo_means(real, total, smoothing, 0.0)
    within = pooled_variance(real, scatter(real, total, square))
    answer[layout.values] = mean
    answer[layout.squares] = pseudo_squares(real, mean, within, smoothing, prior[layout.squares])
    answer[layout.counts] = pseudo_means(counted, sums[layout.counts], smoothing, prior[layout.counts])
    return answer


def estimates(encoding: Encoding, sums: Floats) -> Estimates:
    """The maximum-likelihood parameters of smoothed statistics."""
    layout = encoding.layout
    seen = sums[layout.seen]
    states = sums[layout.states]
    least = LEAST_SMOOTHING * encoding.prior[layout.states.start : layout.states.stop, None]
    states = np.maximum(states, least)
    smallest = LEAST_SMOOTHING / encoding.schema.cardinalities[layout.categorical][:, None]
    others = layout.by_column(states)
    first = np.maximum(seen[layout.categorical] - others, smallest)
    log_total = np.log(first + others)
    mean, variance = moments(seen[layout.real], sums[layout.values], sums[layout.squares])
    variance = np.maximum(variance, least_variances(encoding)[layout.real, None])
    return Estimates(
        np.log(first) - log_total,
        np.log(states) - log_total[layout.owner],
        mean,
        variance,
        log_rates(seen[layout.counted], sums[layout.counts]),
    )


def moments(seen: Floats, total: Floats, square: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of standardised values from the sums of ones, values and squares."""
    mean = total / seen
    return mean, np.maximum(square / seen - mean**2, MIN_SPREAD**2)


def smoothed_moments(
    sums: tuple[Floats, Floats, Floats], smoothing: float, variance: Floats | float
) -> tuple[Floats, Floats]:
    """Mean and variance of groups of standardised values with pseudo-counts; groups are the last axis.

    `sums` are those of ones, values and squares, `variance` is that of the column.
    """
    seen, total, square = sums
    near = pseudo_means(seen, total, smoothing, 0.0)
    within = pooled_variance(seen, scatter(seen, total, square))
    around = pseudo_squares(seen, near, within, smoothing, variance)
    return moments(seen + smoothing, total + smoothing * near, square + smoothing * around)


def least_variances(encoding: Encoding) -> Floats:
    """The least standardised variance of each numeric column: that of a cell, if its values are rounded.

    Shape (columns,).
    """
    return np.maximum(CELL_VARIANCE * (encoding.step / encoding.scale) ** 2, MIN_SPREAD**2)


def log_rates(seen: Floats, total: Floats) -> Floats:
    """The logarithms of the mean counts, within the limits of a Poisson leaf."""
    with np.errstate(divide="ignore"):
        return np.clip(np.log(total / seen), LEAST_ESTIMATE, MAX_LOG_RATE)


def gaussian_params(encoding: Encoding, column: int, mean: Floats, variance: Floats) -> Floats:
    """Parameters of a numeric column's leaves from standardised means and variances. Shape (leaves, 2)."""
    centre, scale = encoding.centre[column], encoding.scale[column]
    log_sd = 0.5 * np.log(variance) + np.log(scale)
    log_sd = np.clip(log_sd, -MAX_LOG_SD, MAX_LOG_SD)
    params = np.stack([unstandardised(mean, centre, scale), log_sd], axis=1)
    return unrounded(params) if encoding.schema[column].is_whole else params


def coefficients(encoding: Encoding, fitted: Estimates) -> Floats:
    """The coefficient of each feature in a row's log-probability in each group. Shape (features, groups).

    With it `matrix @ coefficients + constant` are the log-probabilities of all rows in all groups.
    """
    layout = encoding.layout
    log_first, log_state, mean, variance, log_rate = fitted
    answer = np.zeros((layout.features, mean.shape[1]))
    answer[layout.states] = log_state - log_first[layout.owner]
    answer[layout.values] = mean / variance
    answer[layout.squares] = -0.5 / variance
    answer[layout.counts] = log_rate
    scale = np.log(2 * np.pi) + 2 * np.log(encoding.scale[layout.real])[:, None]
    base = np.zeros((layout.seen.size, mean.shape[1]))
    base[layout.categorical] = log_first
    base[layout.real] = -0.5 * (scale + np.log(variance) + mean**2 / variance)
    base[layout.counted] = -np.exp(log_rate)
    np.add.at(answer, layout.seen, base)
    return answer


def leaf_params(encoding: Encoding, fitted: Estimates) -> list[Floats]:
    """The parameters of leaves of each column's `statistics_family`, (groups, width) each."""
    layout = encoding.layout
    answer: list[Floats] = [np.zeros((0, 0))] * len(encoding.schema)
    last = np.searchsorted(layout.owner, np.arange(layout.categorical.size), side="right").tolist()
    start = 0
    for i, (column, end) in enumerate(zip(layout.categorical.tolist(), last, strict=True)):
        log_prob = np.concatenate([fitted.log_first[i : i + 1], fitted.log_state[start:end]])
        answer[column] = state_params(log_prob.T)
        start = end
    for i, column in enumerate(layout.real.tolist()):
        answer[column] = gaussian_params(encoding, column, fitted.mean[i], fitted.variance[i])
    for i, column in enumerate(layout.counted.tolist()):
        answer[column] = fitted.log_rate[i][:, None]
    return answer


def product_nodes(
    builder: Builder, encoding: Encoding, fitted: Estimates, share: Floats, smoothing: float
) -> list[int]:
    """One product of leaves over all columns for each group.

    Each group has a share of the rows, (rows, groups), to which leaves are fitted that statistics do not
    determine.
    """
    schema, least = encoding.schema, max(smoothing, LEAST_SMOOTHING)
    families = [statistics_family(v) for v in schema]
    params = leaf_params(encoding, fitted)
    for column in columns_that_need_rows(schema):
        x, family = encoding.table.values[:, column], leaf_family(schema[column])
        seen = ~np.isnan(x)
        weight = (share * encoding.weights[:, None])[seen].T
        wide = family.estimate(x[seen], weight, schema[column], least, encoding.mean(column))
        if not family.is_narrow(wide).all():
            families[column], params[column] = family, wide
    leaves = [(builder, family, column) for column, family in enumerate(families)]
    return [
        builder.product([add_leaf(*leaf, lines[group]) for leaf, lines in zip(leaves, params, strict=True)])
        for group in range(fitted.mean.shape[1])
    ]
