"""Values and derivatives of a generalised circuit for rows."""

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints
from tractable.base.compiled import njit
from tractable.circuit.generalised.graph import INDICATOR, INPUT, PARAMETER, GeneralisedGraph

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
