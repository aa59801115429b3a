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


# ---- scopes, and which targets can be summed out in one pass (Rooshenas, 2017, definitions 5.1 to 5.4) ----
#
# Completeness, decomposability and avoidability over a set of targets hold if and only if they hold over
# each target by itself: two scopes are the same if they agree about every target, and disjoint if they
# share none. So there is one largest set of tractable targets, found one target at a time.


def scopes(graph: GeneralisedGraph) -> Bools:
    """Which targets' indicators stand below each node (definition 5.1). Shape (nodes, columns)."""
    answer = np.zeros((graph.nodes, len(graph.schema)), dtype=np.bool_)
    leaves = np.flatnonzero(graph.kind == INDICATOR)
    leaves = leaves[~graph.schema.is_given[graph.column[leaves]]]
    answer[leaves, graph.column[leaves]] = True
    for node in np.flatnonzero(np.diff(graph.start)).tolist():
        below = graph.child[graph.start[node] : graph.start[node + 1]]
        answer[node] = answer[below].any(axis=0)
    return answer


def tractable_targets(graph: GeneralisedGraph) -> Ints:
    """The targets that one pass sums out: the largest set over which the three properties hold."""
    faulty = _faults(graph, PRODUCT) | _faults(graph, SUM) | _faults(graph, OPERATOR)
    return np.array([t for t in graph.schema.targets.tolist() if not faulty[:, t].any()], dtype=np.int64)


def intractable_targets(graph: GeneralisedGraph) -> Ints:
    """The other targets, whose states must be enumerated."""
    return np.setdiff1d(graph.schema.targets, tractable_targets(graph))


def explain_tractable(graph: GeneralisedGraph, target: int) -> str | None:
    """What keeps a target from being summed out in one pass, in words; None if nothing does."""
    name = graph.schema[target].name
    for kind, words in (
        (OPERATOR, "has column '{}' in its scope"),
        (PRODUCT, "has several children with column '{}' in their scopes"),
        (SUM, "has children with column '{}' in their scopes and others without"),
    ):
        wrong = np.flatnonzero(_faults(graph, kind)[:, target])
        if wrong.size:
            node = int(wrong[0])
            noun = {OPERATOR: f"the operator {OPERATORS[graph.code[node]]}", PRODUCT: "the product"}
            return f"{noun.get(kind, 'the sum')} at node {node} {words.format(name)}"
    return None


def _faults(graph: GeneralisedGraph, kind: int) -> Bools:
    """Where a node of some kind violates its property over each target. Shape (nodes, columns)."""
    scope = scopes(graph)
    wrong = np.zeros_like(scope)
    if kind == OPERATOR:
        wrong[graph.kind == OPERATOR] = scope[graph.kind == OPERATOR]
        return wrong
    for node in np.flatnonzero(graph.kind == kind).tolist():
        below = scope[graph.child[graph.start[node] : graph.start[node + 1]]]
        many = below.sum(axis=0)
        wrong[node] = many > 1 if kind == PRODUCT else (many > 0) & (many < len(below))
    return wrong
