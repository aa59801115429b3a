"""The Kullback-Leibler divergence between circuits, in nats."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph
from tractable.data import Evidence
from tractable.queries.asking import Seed
from tractable.queries.closed_form import same_structure, structured_divergence
from tractable.queries.information import (
    DRAWS,
    MOST_STATES,
    Estimate,
    InformationMethod,
    count_states,
    estimate_mean,
    expected_difference,
)
from tractable.queries.marginals import joint_log_marginal
from tractable.queries.probability import log_prob
from tractable.queries.requirements import require_known
from tractable.queries.sampling import sample


def divergence(
    graph: Graph, other: Graph, method: InformationMethod = "exact", random_state: Seed = 0
) -> Estimate:
    """The Kullback-Leibler divergence from a circuit to another one over the same columns.

    It is infinite if the support of the first circuit is not contained in that of the other. It is exact for
    few combinations of states, and for deterministic circuits that differ only in their parameters.

    Raises:
        ValueError: if there is no exact value; `method="sample"` estimates it.
    """
    require_known(method, InformationMethod)
    if graph.schema != other.schema:
        raise ValueError("the circuits are over different columns")
    nothing = Evidence(np.full(len(graph.schema), np.nan), {})
    if method == "sample":
        rows = sample(graph, DRAWS, nothing, random_state)
        return _estimate_divergence(log_prob(graph, rows), log_prob(other, rows))
    columns = range(len(graph.schema))
    if count_states(graph, columns) <= MOST_STATES:
        log_p, log_q = (joint_log_marginal(g, columns, nothing) for g in (graph, other))
        return Estimate(max(0.0, expected_difference(log_p, log_q)))
    if same_structure(graph, other):
        return Estimate(structured_divergence(graph, other))
    raise ValueError(
        "the divergence is exact only for few states or for deterministic circuits of one structure;"
        " method='sample' estimates it"
    )


def _estimate_divergence(log_p: Floats, log_q: Floats) -> Estimate:
    """The estimate from samples, which is infinite if a sample is impossible under the other circuit."""
    return Estimate(np.inf) if np.isneginf(log_q).any() else estimate_mean(log_p - log_q)
