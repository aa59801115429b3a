"""Approximate queries of networks by Gibbs sampling, each with a standard error.

A Markov network has no tractable circuit in general, so the product of its factors cannot be summed over all
rows. Markov chains sample rows from it instead, and answers are means over these samples. The standard error
due to the finite length of the chains is estimated by batch means; it does not account for regions that no
chain has visited. If all samples agree, the error is at least the share of one sample.
"""

from dataclasses import dataclass
from math import isnan, sqrt
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.data import Evidence, Schema
from tractable.data.evidence import Finding, join_evidence, mask
from tractable.networks import Network, TableFactor
from tractable.networks.gibbs.sampler import GibbsSampler
from tractable.queries.information import Estimate

CONSTANT = 1e-9  # relative error of means that differ by rounding only


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The length of the chains and their number.

    Raises:
        ValueError: if there would be no samples.
    """

    burn_in: int = 100  # sweeps of a chain before any is counted
    samples: int = 1000  # sweeps of a chain that are counted
    chains: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("burn_in", 0), ("samples", 1), ("chains", 1)):
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}")


class SampledMarginals(NamedTuple):
    """The estimated distributions of all columns, concatenated, and the standard errors."""

    probabilities: Floats  # (states of all columns,)
    std_errors: Floats  # (states of all columns,)


def estimate_probability(network: Network, query: Evidence, given: Evidence, sampling: Sampling) -> Estimate:
    """An estimate of P(query | given) by Gibbs sampling.

    It is exact only if no sampling is needed: if the query contradicts the evidence (zero) or follows from it
    (one).

    Raises:
        ValueError: if no chain finds a row of positive probability that satisfies the evidence.
    """
    both = join_evidence(query, given, network.schema)
    if both is None:
        return Estimate(0.0)
    asked = _asked_states(both, given, network.schema)
    if not asked:
        return Estimate(1.0)
    sampler = GibbsSampler(restrict(network, given))
    means = sampler.batch_means(
        given.row,
        asked,
        burn_in=sampling.burn_in,
        samples=sampling.samples,
        chains=sampling.chains,
        seed=sampling.seed,
    )
    value, error = _mean_and_error(means.query, means.sizes)
    if len(asked) > 1 or _free_neighbours(network, given)[next(iter(asked))]:
        error = _floor_error(value, error, sampling)
    return Estimate(min(float(value), 1.0), float(error), exact=False)


def estimate_marginals(network: Network, given: Evidence, sampling: Sampling) -> SampledMarginals:
    """Estimates of the distribution of every column given evidence, by Gibbs sampling.

    Raises:
        ValueError: if no chain finds a row of positive probability that satisfies the evidence.
    """
    sampler = GibbsSampler(restrict(network, given))
    means = sampler.batch_means(
        given.row,
        {},
        burn_in=sampling.burn_in,
        samples=sampling.samples,
        chains=sampling.chains,
        seed=sampling.seed,
    )
    value, error = _mean_and_error(means.marginals, means.sizes)
    free = np.repeat(_free_neighbours(network, given), network.schema.cardinalities)
    return SampledMarginals(value, np.where(free, _floor_error(value, error, sampling), error))


def estimate_row_marginals(network: Network, rows: Floats, sampling: Sampling) -> list[Floats]:
    """Estimates of the distributions of the missing cells of each row: an array per column.

    Each has shape (rows, states).

    Raises:
        ValueError: if no chain finds a row of positive probability that agrees with a row.
    """
    sampler = GibbsSampler(network)
    estimates = sampler.marginals(
        rows, burn_in=sampling.burn_in, samples=sampling.samples, chains=sampling.chains, seed=sampling.seed
    )
    return split_by_column(estimates, network.schema)


def draw_rows(network: Network, count: int, given: Evidence, sampling: Sampling) -> Floats:
    """Samples given evidence, each the final state of a separate chain. Shape (count, columns).

    Raises:
        ValueError: if a chain finds no row of positive probability that satisfies the evidence.
    """
    return GibbsSampler(restrict(network, given)).draw(
        given.row, count, burn_in=max(sampling.burn_in, 1), seed=sampling.seed
    )


def split_by_column(probabilities: Floats, schema: Schema) -> list[Floats]:
    """The distributions of all columns, which are concatenated on the last axis, by column."""
    return np.split(probabilities, np.cumsum(schema.cardinalities)[:-1], axis=-1)


def restrict(network: Network, given: Evidence) -> Network:
    """The network with an additional factor for each column whose evidence is a set of states."""
    factors = tuple(
        TableFactor((column,), np.where(mask(network.schema[column], region), 0.0, -np.inf))
        for column, region in given.regions.items()
    )
    return Network(network.schema, (*network.factors, *factors), "markov") if factors else network


def _asked_states(both: Evidence, given: Evidence, schema: Schema) -> dict[int, Bools]:
    """The states that satisfy query and evidence, for each column to which the query adds information."""
    asked = {}
    for column in both.columns:
        wanted = mask(schema[column], _finding(both, column))
        if not np.array_equal(wanted, mask(schema[column], _finding(given, column))):
            asked[column] = wanted
    return asked


def _finding(evidence: Evidence, column: int) -> Finding:
    value = float(evidence.row[column])
    return evidence.regions.get(column) if isnan(value) else value


def _free_neighbours(network: Network, given: Evidence) -> Bools:
    """Which columns are not fixed and share a factor with another free column. Shape (columns,).

    The distribution of any other column follows exactly from the evidence.
    """
    answer = np.zeros(len(network.schema), dtype=np.bool_)
    for factor in network.factors:
        free = [column for column in factor.scope if isnan(given.row[column])]
        if len(free) > 1:
            answer[free] = True
    return answer


def _floor_error(value: Floats, error: Floats, sampling: Sampling) -> Floats:
    """The standard error, but at least the share of one sample if all samples agree."""
    return np.where(
        error <= CONSTANT * value, np.maximum(error, 1 / (sampling.samples * sampling.chains)), error
    )


def _mean_and_error(means: Floats, sizes: Ints) -> tuple[Floats, Floats]:
    """The mean over batches (the first axis) and its standard error, which is NaN for a single batch."""
    mean = np.average(means, axis=0, weights=sizes)
    if len(means) < 2:
        return mean, np.full_like(mean, np.nan)
    return mean, means.std(axis=0, ddof=1) / sqrt(len(means))
