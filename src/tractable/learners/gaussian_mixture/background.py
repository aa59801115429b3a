"""The background of a mixture: independent columns, wider than the data, so that no row is impossible."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from tractable.arrays import Floats
from tractable.circuit import Builder
from tractable.data import Schema
from tractable.leaves.poisson import MAX_LOG_RATE
from tractable.statistics.estimates import default_family, state_params
from tractable.statistics.gaussian_mixtures import overall_frequencies
from tractable.statistics.map_fits import centre_and_scale
from tractable.statistics.mixed_rows import MixedRows

SPREAD = 1.5  # its standard deviations are so many times those of the columns
RATES: Floats = np.log([0.25, 1.0, 4.0])  # a count has one of these multiples of its mean as its rate


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """Parameters of independent columns."""

    mean: Floats  # (numbers,)
    log_sd: Floats  # (numbers,)
    log_state: Floats  # (states,)
    log_rate: Floats  # (rates, counts)

    def log_density(self, rows: MixedRows) -> Floats:
        """The log-density of each row. Shape (rows,)."""
        out = (rows.numbers - self.mean) * np.exp(-self.log_sd)
        density = -0.5 * out**2 - self.log_sd - 0.5 * np.log(2 * np.pi)
        total = np.where(rows.seen, density, 0.0).sum(axis=1) + rows.indicators @ self.log_state
        if rows.counts.size:
            rates = self.log_rate[:, None, :]
            logs = rows.counts * rates - rows.counts_seen * np.exp(rates)
            total += logsumexp(logs, axis=0, b=1 / len(RATES)).sum(axis=1) - rows.log_factorials
        return np.asarray(total)

    def node(self, builder: Builder, schema: Schema, rows: MixedRows) -> int:
        """A product of univariate leaves in a circuit."""
        groups = rows.groups
        leaves = [
            builder.leaf(default_family(schema[int(column)]), int(column), (self.mean[j], self.log_sd[j]))
            for j, column in enumerate(groups.numbers)
        ]
        leaves += state_leaves(builder, schema, rows, self.log_state)
        for j, column in enumerate(groups.counts.tolist()):
            rates = [builder.leaf("poisson", column, (rate,)) for rate in self.log_rate[:, j]]
            leaves.append(builder.sum(rates, np.full(len(rates), -np.log(len(rates)))))
        return builder.product(leaves)


def state_leaves(builder: Builder, schema: Schema, rows: MixedRows, log_state: Floats) -> list[int]:
    """A leaf for each categorical column from the log-probabilities of all states, (states,)."""
    leaves = []
    for column, part in zip(rows.groups.states.tolist(), rows.groups.slices(), strict=True):
        params = state_params(log_state[None, part])[0]
        leaves.append(builder.leaf(default_family(schema[column]), column, params))
    return leaves


def fit_background(rows: MixedRows) -> Background:
    """The background of a table."""
    standards = [
        centre_and_scale(rows.numbers[seen, j], rows.weights[seen])
        for j, seen in enumerate((rows.seen & (rows.weights > 0)[:, None]).T)
    ]
    mean, scale = np.array(standards).reshape(-1, 2).T
    frequency, rate = overall_frequencies(rows)
    log_rate = np.clip(np.log(rate) + RATES[:, None], -MAX_LOG_RATE, MAX_LOG_RATE)
    return Background(mean, np.log(SPREAD * scale), np.log(frequency), log_rate)
