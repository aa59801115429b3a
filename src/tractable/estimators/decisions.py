"""Which targets to predict for a row of inputs, whose distribution is known: what costs least on average.

It depends on how mistakes count. All targets together (0/1 loss): the most probable completion. Each target
by itself (Hamming loss, a matrix of costs): the marginals. The F1 measure of a row: the marginals of each
label together with the number of labels, by enumeration or by draws.
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
    """Predictions that are probably the best, though no proof was sought."""


def decide(graph: Graph, rows: Floats, method: str | Costs, seed: int) -> Ints:
    """The states of all targets that are predicted for each row. Shape (rows, targets).

    Raises:
        ValueError: naming a method that there is not, or a target that it does not suit.
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
    """A matrix for each target: what it costs to predict a state (column) where another is true (line).

    `costs` is a dictionary by target, whose other targets cost one for a mistake, a list with a matrix for
    each target, or one matrix for all.

    Raises:
        ValueError: naming a target that has another number of states, or that there is not.
    """
    targets = [schema[int(c)] for c in schema.targets]
    found = _by_target(costs, [v.name for v in targets], [v.cardinality for v in targets])
    if len(found) != len(targets):
        raise ValueError(f"{len(found)} matrices of costs for {len(targets)} targets")
    for variable, matrix in zip(targets, found, strict=True):
        size = variable.cardinality
        if matrix.shape != (size, size) or not np.isfinite(matrix).all():
            raise ValueError(
                f"target '{variable.name}' has {size} states: its costs are {size} x {size} finite numbers"
            )
    return found


def _by_target(costs: Costs, names: list[str], states: list[int]) -> list[Floats]:
    """One matrix for each target, as far as they are given."""
    if isinstance(costs, Mapping):
        for name in costs:
            if name not in names:
                raise ValueError(f"there is no target '{name}' to have costs")
        pairs = zip(names, states, strict=True)
        return [np.asarray(costs.get(name, 1.0 - np.eye(k)), dtype=np.float64) for name, k in pairs]
    given = list(costs)
    if given and np.ndim(given[0]) == 1:  # the lines of one matrix
        return [np.asarray(costs, dtype=np.float64)] * len(names)
    return [np.asarray(matrix, dtype=np.float64) for matrix in given]


def _marginals(graph: Graph, rows: Floats) -> list[Floats]:
    found = marginals(graph, rows)
    return [found[int(c)] for c in graph.schema.targets]


def _least_costs(graph: Graph, rows: Floats, costs: list[Floats]) -> Ints:
    expected = [p @ cost for p, cost in zip(_marginals(graph, rows), costs, strict=True)]
    return np.stack([one.argmin(axis=1) for one in expected], axis=1)


def _most_probable(graph: Graph, rows: Floats, method: str) -> Ints:
    found = most_probable(graph, rows, method="exact" if method == "exact" else "auto")
    unproven = int((~found.exact).sum())
    if unproven:
        warn(
            f"{unproven} of {len(rows)} rows have too many completions to try them all: their most probable"
            " targets were searched for and are not proved to be the best; method='exact' proves them",
            UnprovenWarning,
            stacklevel=4,
        )
    return found.rows[:, graph.schema.targets].astype(np.int64)


# ---- the F1 measure of a row -----------------------------------------------------------------------------


def _best_f1(graph: Graph, rows: Floats, seed: int) -> Ints:
    """For each row the set of labels of highest expected F1 (Dembczynski and others, 2011).

    The second state of a target is that it has the label. Exact for up to `MOST_LABELS` targets; for more the
    probabilities are shares of `DRAWS` draws. Two empty sets have an F1 of one.
    """
    targets = graph.schema.targets
    for column in targets.tolist():
        if graph.schema[column].cardinality != 2:
            raise ValueError(
                f"target '{graph.schema[column].name}' has {graph.schema[column].cardinality} states: the F1"
                " measure is of sets of labels, which a row has or has not"
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
    """The best set for each row; `labels` is (rows, sets, targets), `share` the probabilities of the sets."""
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
