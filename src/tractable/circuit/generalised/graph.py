"""The frozen form of a generalised circuit: flat arrays with one invariant."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Bools, Bytes, Floats, Ints
from tractable.circuit.check import is_partition
from tractable.circuit.leaves.perceptron import OPERATORS
from tractable.data.schema import Schema

PARAMETER, INDICATOR, INPUT, SUM, PRODUCT, OPERATOR = range(6)  # the kinds of nodes


@dataclass(frozen=True, slots=True, eq=False)
class GeneralisedGraph:
    """A rooted graph of sums, products and non-linear operators (Rooshenas, 2017, section 5.2).

    Its leaves are parameters, indicators of the states of categorical columns, and the values of numeric
    inputs. Nodes are numbered so that children come before their parents and the root is last. Values are
    plain numbers, not logarithms: a sum may be negative below an operator.
    """

    schema: Schema
    kind: Bytes  # (nodes,)
    start: Ints  # (nodes + 1,) node i's edges are start[i]:start[i + 1]
    child: Ints  # (edges,) the node below each edge
    column: Ints  # (nodes,) of an indicator or an input; -1 elsewhere
    code: Ints  # (nodes,) the state of an indicator, the number of an operator; -1 elsewhere
    value: Floats  # (nodes,) of a parameter; zero elsewhere

    def __post_init__(self) -> None:
        check_graph(self)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.kind.size

    @property
    def edges(self) -> int:
        """The number of edges."""
        return self.child.size

    @property
    def parent(self) -> Ints:
        """The node above each edge. Shape (edges,)."""
        return np.repeat(np.arange(self.nodes), np.diff(self.start))

    @property
    def parameters(self) -> Ints:
        """The nodes that are parameters."""
        return np.flatnonzero(self.kind == PARAMETER)


def check_graph(graph: GeneralisedGraph) -> None:
    """Refuse arrays that do not form a valid generalised circuit.

    Raises:
        ValueError: naming the first node that is wrong.
    """
    _check_shapes(graph)
    degree = np.diff(graph.start)
    wanted = np.select([graph.kind < SUM, graph.kind == OPERATOR], [degree == 0, degree == 1], degree > 0)
    _refuse(~wanted, "has a wrong number of children")
    if (graph.child < 0).any() or (graph.child >= graph.parent).any():
        raise ValueError("a child is not numbered before its parents")
    _refuse((graph.kind == PARAMETER) & ~np.isfinite(graph.value), "is a parameter that is not finite")
    operators = (graph.kind == OPERATOR) & ((graph.code < 0) | (graph.code >= len(OPERATORS)))
    _refuse(operators, "is an unknown operator")
    _check_columns(graph)


def _check_shapes(graph: GeneralisedGraph) -> None:
    nodes = graph.kind.size
    if not nodes:
        raise ValueError("a generalised circuit must have at least one node")
    shapes = {array.shape for array in (graph.column, graph.code, graph.value)}
    if shapes != {(nodes,)} or graph.start.shape != (nodes + 1,):
        raise ValueError(f"the arrays of a generalised circuit with {nodes} nodes do not fit together")
    if not is_partition(graph.start, graph.child.size):
        raise ValueError("the edges are not divided among the nodes in order")
    _refuse(graph.kind > OPERATOR, "is of an unknown kind")


def _check_columns(graph: GeneralisedGraph) -> None:
    reads = (graph.kind == INDICATOR) | (graph.kind == INPUT)
    inside = (graph.column >= 0) & (graph.column < len(graph.schema))
    _refuse(reads & ~inside, "is over no column")
    _refuse(~reads & (graph.column != -1), "is over a column and reads none")
    for variable in graph.schema:
        if variable.role == "potential" or (variable.role == "target" and not variable.is_categorical):
            raise ValueError(
                f"column '{variable.name}': a generalised circuit has categorical targets, and inputs"
            )
    column = np.where(reads, graph.column, -1)
    states = np.append(graph.schema.cardinalities, 0)[column]
    indicator = graph.kind == INDICATOR
    _refuse(indicator & ((graph.code < 0) | (graph.code >= states)), "is an indicator of no state")
    given = np.append(graph.schema.is_given, False)[column]
    _refuse((graph.kind == INPUT) & ((states > 0) | ~given), "reads a column that is no numeric input")


def _refuse(wrong: Bools, what: str) -> None:
    if wrong.any():
        raise ValueError(f"node {int(np.flatnonzero(wrong)[0])} {what}")
