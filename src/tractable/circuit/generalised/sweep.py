"""Values and derivatives of a generalised circuit for rows."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.generalised.graph import INDICATOR, INPUT, PARAMETER, GeneralisedGraph
from tractable.circuit.generalised.kernels import sweep_down, sweep_up


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
