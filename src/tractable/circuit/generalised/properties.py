"""Scopes, and which targets can be summed out in one pass (Rooshenas, 2017, definitions 5.1 to 5.4).

Completeness, decomposability and avoidability over a set of targets hold if and only if they hold over each
target by itself: two scopes are the same if they agree about every target, and disjoint if they share none.
So there is one largest set of tractable targets, found one target at a time.
"""

import numpy as np

from tractable.base.arrays import Bools, Ints
from tractable.circuit.generalised.graph import INDICATOR, OPERATOR, PRODUCT, SUM, GeneralisedGraph
from tractable.circuit.leaves.perceptron import OPERATORS


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
