"""Entropy and mutual information, in nats, computed exactly or estimated from samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph, condition, explain_deterministic, is_deterministic
from tractable.data import Evidence
from tractable.queries.asking import Columns, Seed
from tractable.queries.closed_form import deterministic_entropy
from tractable.queries.marginals import joint_log_marginal
from tractable.queries.probability import log_prob
from tractable.queries.requirements import require_known, require_targets, require_valid
from tractable.queries.sampling import sample

InformationMethod = Literal["exact", "sample"]
MOST_STATES = 1 << 20  # combinations that are summed one by one
DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its standard error if it was estimated from samples, and whether it is exact."""

    value: float
    std_error: float = 0.0
    exact: bool = True

    def __float__(self) -> float:
        return self.value


def entropy(
    graph: Graph,
    given: Evidence,
    columns: Columns,
    method: InformationMethod = "exact",
    random_state: Seed = 0,
) -> Estimate:
    """The joint entropy of columns given evidence.

    It is exact for few combinations of states, and for all columns without evidence if the conditioned
    circuit is deterministic.

    Raises:
        ValueError: if there is no exact value; `method="sample"` estimates it.
    """
    require_known(method, InformationMethod)
    require_targets(graph, columns)
    if method == "sample":
        rows = sample(graph, DRAWS, given, random_state)
        return estimate_mean(-_part_log_prob(graph, given, columns, rows))
    if count_states(graph, columns) <= MOST_STATES:
        return Estimate(_table_entropy(joint_log_marginal(graph, columns, given)))
    rest = _given_evidence(graph, given)
    everything = {graph.schema[c].name for c in columns} >= set(rest.schema.names)
    if everything and is_deterministic(rest):
        return Estimate(deterministic_entropy(rest))
    why = explain_deterministic(rest) or "only all columns that are not given have a closed form"
    raise ValueError(
        f"the entropy over this many combinations of values cannot be computed exactly ({why});"
        " method='sample' estimates it"
    )


def mutual_information(
    graph: Graph,
    one: Columns,
    other: Columns,
    given: Evidence,
    method: InformationMethod = "exact",
    random_state: Seed = 0,
) -> Estimate:
    """The mutual information of two groups of columns given evidence.

    Raises:
        ValueError: if the groups overlap, or there is no exact value; `method="sample"` estimates it.
    """
    require_known(method, InformationMethod)
    if set(one) & set(other):
        name = graph.schema[min(set(one) & set(other))].name
        raise ValueError(f"column '{name}' is in both groups of columns")
    together = [*one, *other]
    require_targets(graph, together)
    if method == "sample":
        rows = sample(graph, DRAWS, given, random_state)
        joint, first, second = (_part_log_prob(graph, given, p, rows) for p in (together, one, other))
        return estimate_mean(joint - first - second)
    if count_states(graph, together) > MOST_STATES:
        raise ValueError("the columns have too many combinations of values; method='sample' estimates it")
    table = joint_log_marginal(graph, together, given)
    sides = tuple(range(len(one), len(together))), tuple(range(len(one)))
    first, second = (np.logaddexp.reduce(table, axis=side, keepdims=True) for side in sides)
    return Estimate(max(0.0, expected_difference(table, first, second)))


def _given_evidence(graph: Graph, given: Evidence) -> Graph:
    """The conditional distribution given evidence, or the circuit itself without evidence."""
    if not given.columns:
        return graph
    require_valid(graph, np.flatnonzero(np.isnan(given.row)).tolist())
    return condition(graph, given.row, given.regions, normalised=True)


def count_states(graph: Graph, columns: Sequence[int]) -> float:
    """The number of joint states of columns, infinite if one of them is numeric."""
    return prod(float(graph.schema[c].cardinality or np.inf) for c in columns)  # too many are infinite, too


def estimate_mean(values: Floats) -> Estimate:
    """The mean of independent draws and its standard error."""
    return Estimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)), exact=False)


def expected_difference(log_p: Floats, *log_q: Floats) -> float:
    """The expectation under `log_p` of the difference between it and other logarithms (broadcast).

    It is infinite if another is -inf where `log_p` is not. All terms are computed in log-space except their
    weights, so underflowing probabilities are handled exactly.
    """
    seen = log_p > -np.inf
    logs = log_p[seen]
    for other in log_q:
        logs = logs - np.broadcast_to(other, log_p.shape)[seen]
    if (logs == np.inf).any():
        return np.inf
    return float(np.sum(np.exp(log_p[seen]) * logs))


def _table_entropy(log_p: Floats) -> float:
    return -expected_difference(log_p) + 0.0  # so that certainty has no entropy rather than minus nothing


def _part_log_prob(graph: Graph, given: Evidence, columns: Sequence[int], rows: Floats) -> Floats:
    """log P(columns of sampled rows | given)."""
    part = np.repeat(given.row[None, :], len(rows), axis=0)
    part[:, list(columns)] = rows[:, list(columns)]
    below = log_prob(graph, given.row[None, :], given.regions)
    regions = {c: r for c, r in given.regions.items() if c not in columns}
    return log_prob(graph, part, regions) - below
