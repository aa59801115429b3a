"""Entropy, mutual information and divergence, in nats: exact where the circuit allows it, estimated on request."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tractable.arrays import Floats
from tractable.circuit import Graph, LeafBlock, explain_deterministic, is_deterministic, normalise
from tractable.data import Evidence
from tractable.engine import samples
from tractable.queries.kernels import expected_log
from tractable.queries.marginals import joint_marginal
from tractable.queries.probability import log_prob

Method = Literal["exact", "sample"]
MOST_STATES = 1 << 20  # combinations that are summed one by one
DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and, when it was estimated from draws, its standard error."""

    value: float
    std_error: float = 0.0

    def __float__(self) -> float:
        return self.value


def entropy(graph: Graph, given: Evidence, columns: Sequence[int], method: Method = "exact", seed: int = 0) -> Estimate:
    """The entropy of some columns together given evidence.

    Exact for few combinations of states, and for all columns of a deterministic circuit without evidence.

    Raises:
        ValueError: if it cannot be had exactly; `method="sample"` then estimates it.
    """
    if method == "sample":
        return _estimated(-_drawn_log_prob(graph, given, columns, seed))
    if _states(graph, columns) <= MOST_STATES:
        return Estimate(_table_entropy(joint_marginal(graph, columns, given)))
    everything = len(columns) == len(graph.schema) and not given.columns
    if everything and is_deterministic(graph):
        return Estimate(_deterministic_entropy(graph))
    why = explain_deterministic(graph) or "only all columns without evidence have a closed form"
    raise ValueError(f"the entropy of so many columns has no exact value here ({why}); method='sample' estimates it")


def mutual_information(
    graph: Graph, one: Sequence[int], other: Sequence[int], given: Evidence, method: Method = "exact", seed: int = 0
) -> Estimate:
    """How much two groups of columns tell about each other given evidence.

    Raises:
        ValueError: if the groups overlap, or it cannot be had exactly; `method="sample"` then estimates it.
    """
    if set(one) & set(other):
        name = graph.schema[min(set(one) & set(other))].name
        raise ValueError(f"column '{name}' stands on both sides")
    together = [*one, *other]
    if method == "sample":
        rows = samples(graph, given.row, DRAWS, seed, given.regions)
        return _estimated(sum(s * _part_log_prob(graph, given, p, rows) for s, p in ((1, together), (-1, one), (-1, other))))
    if _states(graph, together) > MOST_STATES:
        raise ValueError("those columns have too many combinations of states; method='sample' estimates it")
    joint = joint_marginal(graph, together, given)
    sides = tuple(range(len(one))), tuple(range(len(one), len(together)))
    parts = [_table_entropy(joint.sum(axis=s)) for s in sides]
    return Estimate(max(0.0, sum(parts) - _table_entropy(joint)))


def divergence(graph: Graph, other: Graph, method: Method = "exact", seed: int = 0) -> Estimate:
    """The Kullback-Leibler divergence from one circuit to another over the same columns.

    Exact for few combinations of states, and for deterministic circuits that differ in their parameters only.

    Raises:
        ValueError: if it cannot be had exactly; `method="sample"` then estimates it.
    """
    if graph.schema != other.schema:
        raise ValueError("the circuits are over different columns")
    columns = range(len(graph.schema))
    nothing = Evidence(np.full(len(graph.schema), np.nan), {})
    if method == "sample":
        rows = samples(graph, nothing.row, DRAWS, seed)
        return _estimated(log_prob(graph, rows) - log_prob(other, rows))
    if _states(graph, columns) <= MOST_STATES:
        p, q = (joint_marginal(g, columns, nothing).ravel() for g in (graph, other))
        with np.errstate(divide="ignore"):
            return Estimate(max(0.0, float(np.sum(p[p > 0] * (np.log(p[p > 0]) - np.log(q[p > 0]))))))
    if _same_structure(graph, other) and is_deterministic(graph):
        return Estimate(_structured_divergence(graph, other))
    raise ValueError(
        "the divergence is exact only for few states or for deterministic circuits of one structure;"
        " method='sample' estimates it"
    )


def _states(graph: Graph, columns: Sequence[int]) -> float:
    """The number of combinations of states; infinite with a number among the columns."""
    sizes = [graph.schema[c].cardinality or np.inf for c in columns]
    return float(np.prod(np.array(sizes, dtype=np.float64)))


def _table_entropy(p: Floats) -> float:
    seen = p[p > 0]
    return float(-np.sum(seen * np.log(seen)))


def _estimated(values: Floats) -> Estimate:
    return Estimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))


def _drawn_log_prob(graph: Graph, given: Evidence, columns: Sequence[int], seed: int) -> Floats:
    return _part_log_prob(graph, given, columns, samples(graph, given.row, DRAWS, seed, given.regions))


def _part_log_prob(graph: Graph, given: Evidence, columns: Sequence[int], rows: Floats) -> Floats:
    """log P(some columns of drawn rows | given)."""
    part = np.repeat(given.row[None, :], len(rows), axis=0)
    part[:, list(columns)] = rows[:, list(columns)]
    below = log_prob(graph, given.row[None, :], given.regions)
    regions = {c: r for c, r in given.regions.items() if c not in columns}
    return log_prob(graph, part, regions) - below


def _deterministic_entropy(graph: Graph) -> float:
    local = normalise(graph).graph
    return -_expected_log(local, local)


def _structured_divergence(graph: Graph, other: Graph) -> float:
    first, second = normalise(graph).graph, normalise(other).graph
    if not _same_structure(first, second):
        raise ValueError("the circuits differ in which terms are zero; method='sample' estimates the divergence")
    return max(0.0, _expected_log(first, first) - _expected_log(first, second))


def _same_structure(graph: Graph, other: Graph) -> bool:
    arrays = ((graph.kind, other.kind), (graph.start, other.start), (graph.child, other.child))
    alike = all(np.array_equal(a, b) for a, b in arrays) and len(graph.leaves) == len(other.leaves)
    return alike and all(
        a.family is b.family and np.array_equal(a.node, b.node) and np.array_equal(a.column, b.column)
        for a, b in zip(graph.leaves, other.leaves, strict=True)
    )


def _expected_log(graph: Graph, other: Graph) -> float:
    """The expectation under one deterministic circuit of the other's log-value; both normalised, of one structure.

    From the leaves up: a product adds, a sum averages over its choice and adds the log weight of it.
    """
    value = np.zeros(graph.nodes)
    for block, twin in zip(graph.leaves, other.leaves, strict=True):
        value[block.node] = _leaf_expected_log(graph, block, twin)
    expected_log(graph.kind, graph.start, graph.child, np.exp(graph.log_weight), other.log_weight, value)
    return float(value[-1])


def _leaf_expected_log(graph: Graph, block: LeafBlock, twin: LeafBlock) -> Floats:
    """The expectation of each leaf's twin's log-probability. Shape (leaves,)."""
    if block is twin or block.params.shape == twin.params.shape and np.array_equal(block.params, twin.params):
        return -block.family.entropy(block.params)
    answer = np.empty(block.node.size)
    for size in np.unique(graph.schema.cardinalities[block.column]):
        if size == 0:
            raise ValueError("the divergence between leaves over numbers has no exact value; method='sample' estimates it")
        here = graph.schema.cardinalities[block.column] == size
        states = np.arange(size, dtype=np.float64)[None, :]
        log_p, log_q = (block.family.log_prob(b.params[here], states) for b in (block, twin))
        answer[here] = np.where(np.isneginf(log_p), 0.0, np.exp(log_p) * np.where(np.isneginf(log_p), 0.0, log_q)).sum(axis=1)
    return answer
