"""The circuit of a conditional sum-product network, whose leaves are conditional trees."""

import numpy as np

from tractable.base.arrays import Ints
from tractable.circuit import Graph
from tractable.circuit.builder import Builder
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.data import Schema
from tractable.learning.conditional.parts.network import GatedSum, Leaf, Part, Product
from tractable.learning.conditional.parts.tree import ConditionalTree


def freeze_part(part: Part, schema: Schema, features: InputFeatures) -> Graph:
    """The circuit of a part with all targets. Its sum over the targets is one whatever the inputs."""
    builder = Builder(schema)
    _node(builder, part, schema, features)
    return builder.freeze()


def _node(builder: Builder, part: Part, schema: Schema, features: InputFeatures) -> int:
    if isinstance(part, Leaf):
        return tree_node(builder, part.tree, schema.targets[part.targets], features)
    if isinstance(part, GatedSum):
        gates = builder.gates(SoftmaxRegressions(features, part.gate[None]))[0].tolist()
        terms = [
            builder.product([gate, _node(builder, below, schema, features)])
            for gate, below in zip(gates, part.parts, strict=True)
        ]
        return builder.sum(terms, np.zeros(len(terms)))
    terms = [_node(builder, below, schema, features) for below in part.parts]
    if isinstance(part, Product):
        return builder.product(terms)
    return builder.sum(terms, part.log_share) if len(terms) > 1 else terms[0]


def tree_node(builder: Builder, tree: ConditionalTree, targets: Ints, features: InputFeatures) -> int:
    """The node of a tree over some targets, given their columns.

    The sum over the states of a target has an indicator and a gate for each, and below it the targets that
    have this one as their parent. It is one whatever the inputs.
    """
    gates = _gates(builder, tree, features)
    below: list[list[list[int]]] = [[[] for _ in range(lines.shape[1])] for lines in gates]
    tops: list[int] = []
    for j in _children_first(tree.parent):
        column, parent = int(targets[j]), int(tree.parent[j])
        for group, lines in enumerate(gates[j].tolist()):
            terms = [
                builder.product([builder.indicator(column, k), *gate, *below[j][k]])
                for k, gate in enumerate(lines)
            ]
            node = terms[0] if len(terms) == 1 else builder.sum(terms, np.zeros(len(terms)))
            (tops if parent < 0 else below[parent][group]).append(node)
    return builder.product(tops)


def _gates(builder: Builder, tree: ConditionalTree, features: InputFeatures) -> list[Ints]:
    """The gates of each target: (states of the parent, states, 1), or (.., 1, 0) where it has one state."""
    answer: list[Ints] = [np.zeros((len(beta), 1, 0), dtype=np.int64) for beta in tree.beta]
    for above in sorted({beta.shape[1] for beta in tree.beta} - {0}):
        alike = [j for j, beta in enumerate(tree.beta) if beta.shape[1] == above]
        regressions = SoftmaxRegressions(features, np.concatenate([tree.beta[j] for j in alike]))
        nodes = builder.gates(regressions)[:, :, None]
        parts = np.split(nodes, np.cumsum([len(tree.beta[j]) for j in alike])[:-1])
        for j, part in zip(alike, parts, strict=True):
            answer[j] = part
    return answer


def _children_first(parent: Ints) -> list[int]:
    """All targets, each before its parent."""
    children: list[list[int]] = [[] for _ in parent]
    for j, i in enumerate(parent.tolist()):
        if i >= 0:
            children[i].append(j)
    order = np.flatnonzero(parent < 0).tolist()
    for j in order:  # which grows meanwhile
        order += children[j]
    return order[::-1]
