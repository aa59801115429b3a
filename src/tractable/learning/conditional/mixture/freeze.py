"""The circuit of a gated sum of conditional random fields."""

from collections.abc import Sequence

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import PRODUCT, SUM, GateBlock, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble
from tractable.circuit.graph import Block
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.data import Schema
from tractable.learning.conditional.daclearn.freeze import (
    NodeList,
    field_node,
    freeze_conditional,
    indicator_blocks,
)
from tractable.learning.conditional.mixture.model import FieldMixture


def freeze_mixture(
    mixture: FieldMixture, schema: Schema, features: InputFeatures, cuts: Sequence[Floats]
) -> Graph:
    """The circuit over the columns of a schema with targets and inputs; a single field has no gates.

    `cuts` has the numbers at which each input is cut into intervals, none for a categorical one.
    """
    first, many = mixture.components[0], len(mixture.components)
    if many == 1:
        return freeze_conditional(first.structure, schema, first.weights, cuts)
    states, targets = first.structure.states, first.structure.targets
    indicators, weights = int(states.sum()), np.concatenate([c.weights for c in mixture.components])
    gates = indicators + weights.size + np.arange(many)
    nodes, terms, at = NodeList(indicators + weights.size + many), [], indicators
    for component, gate in zip(mixture.components, gates.tolist(), strict=True):
        field = field_node(component.structure, component.weights, nodes, at)
        terms.append(nodes.add(PRODUCT, [gate, field]))
        at += component.weights.size
    root = nodes.add(SUM, terms)
    constants = indicators + np.arange(weights.size)
    columns = np.concatenate([schema.targets, schema.inputs])
    regression = SoftmaxRegressions(features, (mixture.gate[1:] - mixture.gate[0])[None])
    blocks: list[Block] = [
        *indicator_blocks(schema, columns, states, [np.zeros(0)] * targets + list(cuts)),
        LeafBlock(FAMILIES["constant"], constants, np.full(weights.size, -1), weights[:, None]),
        GateBlock(regression, gates, np.zeros(many, dtype=np.int64), np.arange(many)),
    ]
    edges = Edges(np.array(nodes.parent), np.array(nodes.child), np.zeros(len(nodes.child)))
    return assemble(schema, np.array(nodes.kind), edges, blocks, root)
