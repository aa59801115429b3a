"""Exact answers of a generalised circuit: partition functions, probabilities, marginals, gradients.

Tractable targets are summed out by one pass up, and their marginals are derivatives of the root, found by one
pass down. The states of intractable targets are enumerated; how many terms that takes is known beforehand.
"""

from collections.abc import Iterator
from math import prod

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.generalised.graph import (
    INDICATOR,
    GeneralisedGraph,
    explain_tractable,
    intractable_targets,
    scopes,
)
from tractable.circuit.generalised.sweep import node_slopes, node_values

MOST_TERMS = 1 << 20  # combinations of states of intractable targets that are enumerated for one row
TOGETHER = 1 << 22  # values of nodes that are computed at once


def enumeration_size(graph: GeneralisedGraph) -> int:
    """The number of combinations of states of intractable targets: the passes that Z(x) takes for one row."""
    return prod(graph.schema.cardinalities[intractable_targets(graph)].tolist())


def log_partition(graph: GeneralisedGraph, rows: Floats) -> Floats:
    """log Z for each row: the sum over all its missing targets. Shape (rows,).

    With the targets missing that is Z(x); with the intractable ones known, Z(y_N, x), which takes one pass.

    Raises:
        ValueError: if an input is missing, too many terms would have to be enumerated, or a sum is not a
            positive number.
    """
    return np.log(_positive(_sums(graph, rows))) + _log_absent(graph, rows)


def log_prob(graph: GeneralisedGraph, rows: Floats) -> Floats:
    """log P(targets | inputs) for each row; a missing target is summed out. Shape (rows,).

    Raises:
        ValueError: as `log_partition` does, or if the circuit is negative for a row.
    """
    free = rows.copy()
    free[:, graph.schema.targets] = np.nan
    below, above = log_partition(graph, free), _sums(graph, rows)
    wrong = np.flatnonzero(~((above >= 0) & (above < np.inf)))
    if wrong.size:
        row = int(wrong[0])
        what = "negative" if above[row] < 0 else f"{above[row]:g}"
        raise ValueError(f"the circuit is {what} for row {row}: it is not a distribution")
    with np.errstate(divide="ignore"):
        return np.log(above) + _log_absent(graph, rows) - below


def marginals(graph: GeneralisedGraph, rows: Floats) -> dict[int, Floats]:
    """The distribution of each target given each row, by target: (rows, states).

    Raises:
        ValueError: as `log_partition` does, or if a sum is negative.
    """
    schema = graph.schema
    mass = {t: np.zeros((len(rows), schema[t].cardinality)) for t in schema.targets.tolist()}
    enumerated = set(intractable_targets(graph).tolist())
    indicators = np.flatnonzero((graph.kind == INDICATOR) & ~schema.is_given[graph.column])
    for row, some in _completions(graph, rows):
        value = node_values(graph, some)
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at
            share = node_slopes(graph, value) * value
            for node in indicators.tolist():
                if int(graph.column[node]) not in enumerated:
                    np.add.at(mass[int(graph.column[node])][:, graph.code[node]], row, share[node])
            for target in enumerated:
                np.add.at(mass[target], (row, some[:, target].astype(np.int64)), value[-1])
    present = scopes(graph)[-1]
    for target in mass:
        if not present[target]:
            cells = rows[:, [target]]
            mass[target] = np.isnan(cells) | (cells == np.arange(schema[target].cardinality))
    return {target: _shares(schema[target].name, each) for target, each in mass.items()}


def _sums(graph: GeneralisedGraph, rows: Floats) -> Floats:
    """The sum of the root's values over the missing targets of each row. Shape (rows,)."""
    total = np.zeros(len(rows))
    for row, some in _completions(graph, rows):
        with np.errstate(over="ignore", invalid="ignore"):  # callers look at what comes of it
            np.add.at(total, row, node_values(graph, some)[-1])
    return total


def _completions(graph: GeneralisedGraph, rows: Floats) -> Iterator[tuple[Ints, Floats]]:
    """The rows with every combination of states of their missing intractable targets, and whose they are."""
    _require_inputs(graph, rows)
    targets = intractable_targets(graph)
    missing = np.isnan(rows[:, targets])
    _refuse_explosion(graph, targets, missing)
    size = max(1, TOGETHER // graph.nodes)
    whole = np.flatnonzero(~missing.any(axis=1))
    for first in range(0, whole.size, size):
        yield whole[first : first + size], rows[whole[first : first + size]]
    for row in np.flatnonzero(missing.any(axis=1)).tolist():
        mine = targets[missing[row]]
        states = graph.schema.cardinalities[mine].tolist()
        for first in range(0, prod(states), size):
            numbers = np.arange(first, min(first + size, prod(states)))
            some = np.repeat(rows[row][None, :], numbers.size, axis=0)
            some[:, mine] = np.stack(np.unravel_index(numbers, states), axis=1)
            yield np.full(numbers.size, row), some


def _refuse_explosion(graph: GeneralisedGraph, targets: Ints, missing: Bools) -> None:
    log_terms = missing @ np.log2(graph.schema.cardinalities[targets])
    if log_terms.size and log_terms.max() > np.log2(MOST_TERMS):
        row = int(log_terms.argmax())
        mine = targets[missing[row]]
        terms = prod(graph.schema.cardinalities[mine].tolist())
        raise ValueError(
            f"row {row} has {mine.size} intractable targets without values, {terms:,} combinations of states"
            f" to enumerate, more than {MOST_TERMS:,}: {explain_tractable(graph, int(mine[0]))}"
        )


def _shares(name: str, mass: Floats) -> Floats:
    """Masses of states, divided by their sums; what is below zero only by rounding is zero."""
    mass = np.asarray(mass, dtype=np.float64)
    largest = np.abs(mass).max(axis=1)  # a sum of numbers next to it may be too large for a number
    for row in np.flatnonzero(~np.isfinite(largest)).tolist():
        raise ValueError(f"a sum over column '{name}' is too large for a number in row {row}")
    mass = mass / np.where(largest > 0, largest, 1.0)[:, None]
    if (mass < -1e-12 * np.abs(mass).sum(axis=1, keepdims=True)).any():
        raise ValueError(f"a sum over column '{name}' is negative: the circuit is not a distribution")
    mass = np.maximum(mass, 0.0)
    return mass / _positive(mass.sum(axis=1))[:, None]


def _log_absent(graph: GeneralisedGraph, rows: Floats) -> Floats:
    """What missing targets that stand nowhere contribute: each of their states counts alike. (rows,)."""
    absent = graph.schema.targets[~scopes(graph)[-1][graph.schema.targets]]
    return np.isnan(rows[:, absent]) @ np.log(graph.schema.cardinalities[absent])


def _require_inputs(graph: GeneralisedGraph, rows: Floats) -> None:
    missing = np.argwhere(np.isnan(rows[:, graph.schema.inputs]))
    if missing.size:
        name = graph.schema[int(graph.schema.inputs[missing[0, 1]])].name
        raise ValueError(f"column '{name}', row {int(missing[0, 0])} is missing: inputs must have values")


def _positive(total: Floats) -> Floats:
    wrong = np.flatnonzero(~((total > 0) & np.isfinite(total)))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(f"the sum of row {row} over its states is {total[row]:g}, not a positive number")
    return total
