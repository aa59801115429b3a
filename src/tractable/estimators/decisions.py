"""Optimal predictions of targets given their distribution, for several loss functions.

The 0/1 loss of all targets is minimised by the most probable completion; the Hamming loss and cost matrices
depend only on the marginals of the targets; the F1 score of a row depends on the distribution of label sets,
which are enumerated or sampled.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias
from warnings import warn

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import Graph
from tractable.data import Schema
from tractable.queries import log_prob, marginals, most_probable, sample_rows

METHODS = ("mpe", "exact", "marginals", "0/1", "hamming", "f1")
MOST_LABELS = 10  # of which all sets are enumerated for the F1 measure
DRAWS = 1_000  # of the targets of a row, where there are more
TOGETHER = 1 << 18  # rows that are evaluated at once

Costs: TypeAlias = Mapping[str, Any] | Sequence[Any] | np.ndarray[Any, Any]


class UnprovenWarning(UserWarning):
    """A warning that predictions are not proved to be optimal."""


def decide(graph: Graph, rows: Floats, method: str | Costs, seed: int) -> Ints:
    """The predicted states of all targets for each row. Shape (rows, targets).

    Raises:
        ValueError: naming an unknown method, or a target to which it does not apply.
    """
    if not isinstance(method, str):
        return _least_costs(graph, rows, cost_matrices(method, graph.schema))
    if method in ("mpe", "0/1", "exact"):
        return _most_probable(graph, rows, method)
    if method in ("marginals", "hamming"):
        return np.stack([p.argmax(axis=1) for p in _marginals(graph, rows)], axis=1)
    if method == "f1":
        return _best_f1(graph, rows, seed)
    known = ", ".join(map(repr, METHODS))
    raise ValueError(f"there is no method {method!r} (methods: {known}, or matrices of costs)")


def cost_matrices(costs: Costs, schema: Schema) -> list[Floats]:
    """The cost matrix of each target, with true states in rows and predicted states in columns.

    `costs` is a dictionary by target (other targets have unit costs), a list with a matrix for each target,
    or one matrix for all targets.

    Raises:
        ValueError: naming an unknown target, or one with a different number of states.
    """
    targets = [schema[int(c)] for c in schema.targets]
    matrices = _by_target(costs, [v.name for v in targets], [v.cardinality for v in targets])
    if len(matrices) != len(targets):
        raise ValueError(f"{len(matrices)} matrices of costs for {len(targets)} targets")
    for variable, matrix in zip(targets, matrices, strict=True):
        size = variable.cardinality
        if matrix.shape != (size, size) or not np.isfinite(matrix).all():
            raise ValueError(
                f"target '{variable.name}' has {size} states: its cost matrix must be {size} x {size} finite"
                " numbers"
            )
    return matrices


def _by_target(costs: Costs, names: list[str], states: list[int]) -> list[Floats]:
    """The given cost matrix of each target."""
    if isinstance(costs, Mapping):
        for name in costs:
            if name not in names:
                raise ValueError(f"there is no target '{name}', for which costs are given")
        pairs = zip(names, states, strict=True)
        return [np.asarray(costs.get(name, 1.0 - np.eye(k)), dtype=np.float64) for name, k in pairs]
    given = list(costs)
    if given and np.ndim(given[0]) == 1:  # the lines of one matrix
        return [np.asarray(costs, dtype=np.float64)] * len(names)
    return [np.asarray(matrix, dtype=np.float64) for matrix in given]


def _marginals(graph: Graph, rows: Floats) -> list[Floats]:
    posteriors = marginals(graph, rows)
    return [posteriors[int(c)] for c in graph.schema.targets]


def _least_costs(graph: Graph, rows: Floats, costs: list[Floats]) -> Ints:
    expected = [p @ cost for p, cost in zip(_marginals(graph, rows), costs, strict=True)]
    return np.stack([one.argmin(axis=1) for one in expected], axis=1)


def _most_probable(graph: Graph, rows: Floats, method: str) -> Ints:
    completions = most_probable(graph, rows, method="exact" if method == "exact" else "auto")
    unproven = int((~completions.exact).sum())
    if unproven:
        warn(
            f"{unproven} of {len(rows)} rows have too many completions to enumerate: the targets that a"
            " heuristic search returns for them may not be the most probable ones; method='exact' guarantees"
            " that they are",
            UnprovenWarning,
            stacklevel=4,
        )
    return completions.rows[:, graph.schema.targets].astype(np.int64)


# ---- the F1 measure of a row -----------------------------------------------------------------------------


def _best_f1(graph: Graph, rows: Floats, seed: int) -> Ints:
    """The label set of highest expected F1 score for each row (Dembczynski and others, 2011).

    The second state of a target means that the label is present. Exact for up to `MOST_LABELS` targets; for
    more the probabilities are estimated from `DRAWS` samples. Two empty sets have an F1 score of one.
    """
    targets = graph.schema.targets
    for column in targets.tolist():
        if graph.schema[column].cardinality != 2:
            raise ValueError(
                f"target '{graph.schema[column].name}' has {graph.schema[column].cardinality} states: the F1"
                " score is defined for binary targets only"
            )
    step = max(1, TOGETHER // (2**targets.size if targets.size <= MOST_LABELS else DRAWS))
    parts = [_f1_part(graph, rows[i : i + step], seed + i) for i in range(0, len(rows), step)]
    return np.concatenate([np.zeros((0, targets.size), dtype=np.int64), *parts])


def _f1_part(graph: Graph, rows: Floats, seed: int) -> Ints:
    targets = graph.schema.targets
    if targets.size <= MOST_LABELS:
        sets = np.array(list(product((0.0, 1.0), repeat=targets.size)))
        every = np.repeat(rows, len(sets), axis=0)
        every[:, targets] = np.tile(sets, (len(rows), 1))
        share = np.exp(log_prob(graph, every)).reshape(len(rows), -1)
        labels = np.broadcast_to(sets, (len(rows), *sets.shape))
    else:
        drawn = sample_rows(graph, rows, DRAWS, seed)[:, targets]
        labels = drawn.reshape(len(rows), DRAWS, targets.size)
        share = np.full((len(rows), DRAWS), 1.0 / DRAWS)
    return _best_sets(labels, share)


def _best_sets(labels: Floats, share: Floats) -> Ints:
    """The best label set of each row; `labels` is (rows, sets, targets), `share` their probabilities."""
    rows, _, targets = labels.shape
    size = labels.sum(axis=2)
    best_value = (share * (size == 0)).sum(axis=1)  # of the empty set
    best = np.zeros((rows, targets), dtype=np.int64)
    for k in range(1, targets + 1):
        worth = np.einsum("rst,rs->rt", labels, share * 2.0 / (size + k))
        order = np.argsort(-worth, axis=1, kind="stable")[:, :k]
        value = np.take_along_axis(worth, order, axis=1).sum(axis=1)
        chosen = np.zeros_like(best)
        np.put_along_axis(chosen, order, 1, axis=1)
        better = value > best_value + 1e-12
        best[better], best_value[better] = chosen[better], value[better]
    return best
