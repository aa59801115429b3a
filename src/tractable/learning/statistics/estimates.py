"""From the statistics of groups of rows to the parameters of their leaves.

A group's statistics are weighted sums of the features of an encoding, (features, groups); smoothing adds
pseudo-counts to each group. Columns are independent within a group, so that a group is a product of leaves,
and several groups are a mixture of products.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Builder
from tractable.circuit.leaves.gaussian import MAX_LOG_SD, MIN_SPREAD, unrounded, unstandardised
from tractable.circuit.leaves.poisson import MAX_LOG_RATE
from tractable.circuit.leaves.pseudo_rows import pooled_variance, pseudo_means, pseudo_squares, scatter
from tractable.circuit.leaves.rounding import CELL_VARIANCE
from tractable.data import Variable
from tractable.learning.statistics.count_leaves import count_leaf, shared_count_params
from tractable.learning.statistics.encoding import Encoding

LEAST_SMOOTHING = 1e-9  # pseudo-counts even where none are asked for, so that no state is impossible
LEAST_LOG_RATE = -700.0  # in place of the logarithm of a rate of zero, which times zero is NaN


class Estimates(NamedTuple):
    """Maximum-likelihood parameters; each array has a column for each group."""

    log_first: Floats  # (categorical columns, groups) the log-probability of the first state
    log_state: Floats  # (state features, groups) the log-probabilities of the other states
    mean: Floats  # (real columns, groups), standardised
    variance: Floats  # (real columns, groups), standardised
    log_rate: Floats  # (count columns, groups)


def default_family(variable: Variable) -> str:
    """The family of the leaves that learners use for a column; `count_leaves` may find a wider one."""
    if variable.is_categorical:
        return "bernoulli" if variable.cardinality == 2 else "categorical"
    if variable.kind == "count":
        return "poisson"
    return "rounded-gaussian" if variable.is_whole else "gaussian"


def state_params(log_prob: Floats) -> Floats:
    """Parameters of a column's default leaves from log-probabilities, (leaves, states)."""
    if log_prob.shape[1] != 2:
        return log_prob
    return log_prob[:, 1:] - log_prob[:, :1]


def smoothed_sums(encoding: Encoding, sums: Floats, smoothing: float) -> Floats:
    """The statistics with the pseudo-counts added. Shape (features, groups)."""
    smoothing = max(smoothing, LEAST_SMOOTHING)
    return sums + smoothing * pseudo_counts(encoding, sums, smoothing)


def pseudo_counts(encoding: Encoding, sums: Floats, smoothing: float) -> Floats:
    """The statistics of one pseudo-count of each group; (features, 1) where all groups have the same.

    `circuit/leaves/pseudo_rows.py` says where those of numeric columns lie.
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
        return np.clip(np.log(total / seen), LEAST_LOG_RATE, MAX_LOG_RATE)


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
    """The parameters of each column's default leaves, (groups, width) each."""
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

    Counts are fitted to the rows anew, of which each group has a share, (rows, groups), if they are no
    Poisson counts.
    """
    families = [default_family(v) for v in encoding.schema]
    params = leaf_params(encoding, fitted)
    counted = encoding.layout.counted.tolist()
    for column, overall in zip(counted, encoding.prior[encoding.layout.counts].tolist(), strict=True):
        x, weight = encoding.table.values[:, column], share * encoding.weights[:, None]
        wide = shared_count_params(x, weight, max(smoothing, LEAST_SMOOTHING), overall)
        if np.isfinite(wide[:, 1]).any():
            params[column] = wide

    def leaf(column: int, group: int) -> int:
        line = params[column][group]
        if column in counted:
            return count_leaf(builder, column, line)
        return builder.leaf(families[column], column, line)

    columns = range(len(families))
    return [builder.product([leaf(c, group) for c in columns]) for group in range(fitted.mean.shape[1])]
