"""The background component of independent columns, wider than the data, so that no row is impossible."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Builder
from tractable.circuit.leaves import NegativeBinomial, state_family
from tractable.circuit.leaves.dispersion import LEAST_LOG_R
from tractable.circuit.leaves.poisson import MAX_LOG_RATE
from tractable.data import Schema
from tractable.learning.joint.gaussian_mixture.em import overall_frequencies
from tractable.learning.joint.gaussian_mixture.map_fits import centre_and_scale
from tractable.learning.joint.gaussian_mixture.rows import MixedRows
from tractable.learning.statistics.leaf_choice import add_leaf, statistics_family

SPREAD = 1.5  # its standard deviations are so many times those of the columns


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """The parameters of the background component."""

    mean: Floats  # (numbers,)
    log_sd: Floats  # (numbers,)
    log_state: Floats  # (states,)
    counts: Floats  # (counts, 2) the log mean and log dispersion of negative binomial leaves

    def log_density(self, rows: MixedRows) -> Floats:
        """The log-density of each row. Shape (rows,)."""
        out = (rows.numbers - self.mean) * np.exp(-self.log_sd)
        density = -0.5 * out**2 - self.log_sd - 0.5 * np.log(2 * np.pi)
        total = np.where(rows.seen, density, 0.0).sum(axis=1) + rows.indicators @ self.log_state
        if rows.counts.size:
            logs = NegativeBinomial().log_prob(self.counts, rows.counts.T)
            total += np.where(rows.counts_seen.T > 0, logs, 0.0).sum(axis=0)
        return np.asarray(total)

    def node(self, builder: Builder, schema: Schema, rows: MixedRows) -> int:
        """A product of univariate leaves in a circuit."""
        groups = rows.groups
        leaves = [
            builder.leaf(statistics_family(schema[column]).name, column, (self.mean[j], self.log_sd[j]))
            for j, column in enumerate(groups.numbers.tolist())
        ]
        leaves += state_leaves(builder, schema, rows, self.log_state)
        for j, column in enumerate(groups.counts.tolist()):
            leaves.append(add_leaf(builder, NegativeBinomial(), column, self.counts[j]))
        return builder.product(leaves)


def state_leaves(builder: Builder, schema: Schema, rows: MixedRows, log_state: Floats) -> list[int]:
    """A leaf for each categorical column from the log-probabilities of all states, (states,)."""
    leaves = []
    for column, part in zip(rows.groups.states.tolist(), rows.groups.slices(), strict=True):
        family = state_family(schema[column].cardinality)
        leaves.append(builder.leaf(family.name, column, family.from_log_states(log_state[None, part])[0]))
    return leaves


def fit_background(rows: MixedRows) -> Background:
    """The background of a table."""
    standards = [
        centre_and_scale(rows.numbers[seen, j], rows.weights[seen])
        for j, seen in enumerate((rows.seen & (rows.weights > 0)[:, None]).T)
    ]
    mean, scale = np.array(standards).reshape(-1, 2).T
    frequency, rate = overall_frequencies(rows)
    return Background(mean, np.log(SPREAD * scale), np.log(frequency), _wide_counts(rows, rate))


def _wide_counts(rows: MixedRows, rate: Floats) -> Floats:
    """Negative binomial parameters with a larger variance than the data. Shape (counts, 2)."""
    weight = rows.weights[:, None] * rows.counts_seen
    seen = weight.sum(axis=0)
    scattered = (weight * (rows.counts - rate) ** 2).sum(axis=0)
    variance = np.maximum(scattered / np.where(seen > 0, seen, 1.0), rate)
    log_mean = np.clip(np.log(rate), -MAX_LOG_RATE, MAX_LOG_RATE)
    log_r = 2 * log_mean - np.log(SPREAD**2 * variance - rate)
    return np.stack([log_mean, np.clip(log_r, LEAST_LOG_R, None)], axis=1)
