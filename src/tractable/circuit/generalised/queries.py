"""Exact answers of a generalised circuit: partition functions, probabilities, marginals, gradients.

Tractable targets are summed out by one pass up, and their marginals are derivatives of the root, found by one
pass down. The states of intractable targets are enumerated; how many terms that takes is known beforehand.
"""

from collections.abc import Iterator
from math import prod

import numpy as np

from tractable.base.arrays import Bools, Bytes, Floats, Ints
from tractable.base.compiled import njit
from tractable.circuit.generalised.graph import (
    INDICATOR,
    INPUT,
    PARAMETER,
    GeneralisedGraph,
    explain_tractable,
    intractable_targets,
    scopes,
)

# ---- values and derivatives of a generalised circuit for rows -------------------------------------------


# ---- compiled loops over a generalised circuit: up for values, down for derivatives ---------------------
#
# Layout: `value` and `slope` are (nodes, rows). Leaves are filled in by the caller. The codes of
# operators are their places in `OPERATORS`.


@njit(cache=True, nogil=True)
def operate(code: int, x: float) -> float:
    """The value of an operator."""
    if code == 0:
        if x >= 0.0:
            return 1.0 / (1.0 + np.exp(-x))
        return np.exp(x) / (1.0 + np.exp(x))
    if code == 1:
        return np.exp(x)
    if code == 2:
        return max(x, 0.0) + np.log1p(np.exp(-abs(x)))
    if code == 3:
        return max(x, 0.0)
    if code == 4:
        return np.tanh(x)
    return np.log(x) if x > 0.0 else (-np.inf if x == 0.0 else np.nan)


@njit(cache=True, nogil=True)
def slope_of(code: int, x: float, y: float) -> float:
    """The derivative of an operator at x, where its value is y."""
    if code == 0:
        return y * (1.0 - y)
    if code == 1:
        return y
    if code == 2:
        return operate(0, x)
    if code == 3:
        return 1.0 if x > 0.0 else 0.0
    if code == 4:
        return 1.0 - y * y
    return 1.0 / x if x != 0.0 else np.inf


@njit(cache=True, nogil=True)
def sweep_up(kind: Bytes, start: Ints, child: Ints, code: Ints, value: Floats) -> None:
    """Fill in the values of sums (3), products (4) and operators (5)."""
    rows = value.shape[1]
    for node in range(kind.size):
        if kind[node] < 3:
            continue
        first = start[node]
        below = value[child[first]]
        if kind[node] == 5:
            for r in range(rows):
                value[node, r] = operate(code[node], below[r])
            continue
        value[node] = below
        for e in range(first + 1, start[node + 1]):
            below = value[child[e]]
            for r in range(rows):
                if kind[node] == 3:
                    value[node, r] += below[r]
                else:
                    value[node, r] *= below[r]


@njit(cache=True, nogil=True)
def sweep_down(
    kind: Bytes, start: Ints, child: Ints, code: Ints, value: Floats, slope: Floats, before: Floats
) -> None:
    """Fill in the root's derivative for every node; `slope` is zero but for the root's line of ones.

    `before`, (children of a node, rows), is memory for the products of a child's left siblings: the
    derivative of a product is exact where factors are zero.
    """
    rows = value.shape[1]
    for node in range(kind.size - 1, -1, -1):
        first, last = start[node], start[node + 1]
        if kind[node] == 3:
            for e in range(first, last):
                slope[child[e]] += slope[node]
        elif kind[node] == 5:
            x = value[child[first]]
            for r in range(rows):
                if slope[node, r] != 0.0:
                    slope[child[first], r] += slope[node, r] * slope_of(code[node], x[r], value[node, r])
        elif kind[node] == 4:
            before[0] = slope[node]
            for e in range(first + 1, last):
                before[e - first] = before[e - first - 1] * value[child[e - 1]]
            after = np.ones(rows)
            for e in range(last - 1, first - 1, -1):
                slope[child[e]] += before[e - first] * after
                after *= value[child[e]]


def node_values(graph: GeneralisedGraph, rows: Floats) -> Floats:
    """The value of every node for every row; all indicators of a missing cell are one. (nodes, rows)."""
    value = np.empty((graph.nodes, len(rows)))
    parameters = graph.kind == PARAMETER
    value[parameters] = graph.value[parameters, None]
    inputs = np.flatnonzero(graph.kind == INPUT)
    value[inputs] = rows.T[graph.column[inputs]]
    indicators = np.flatnonzero(graph.kind == INDICATOR)
    cells = rows.T[graph.column[indicators]]
    value[indicators] = np.isnan(cells) | (cells == graph.code[indicators, None])
    sweep_up(graph.kind, graph.start, graph.child, graph.code, value)
    return value


def node_slopes(graph: GeneralisedGraph, value: Floats) -> Floats:
    """The derivative of the root with respect to every node, given the values of all. (nodes, rows)."""
    slope = np.zeros_like(value)
    slope[-1] = 1.0
    widest = int(np.diff(graph.start).max())
    before = np.empty((max(widest, 1), value.shape[1]))
    sweep_down(graph.kind, graph.start, graph.child, graph.code, value, slope, before)
    return slope


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
