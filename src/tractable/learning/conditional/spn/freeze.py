"""The circuit of a conditional sum-product network."""

import numpy as np

from tractable.circuit import Graph
from tractable.circuit.builder import Builder
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.data import Schema
from tractable.learning.conditional.spn.parts import Leaf, Part, Product
from tractable.learning.conditional.trees.freeze import tree_node


def freeze_part(part: Part, schema: Schema, features: InputFeatures) -> Graph:
    """The circuit of a part with all targets. Its sum over the targets is one whatever the inputs."""
    builder = Builder(schema)
    _node(builder, part, schema, features)
    return builder.freeze()


def _node(builder: Builder, part: Part, schema: Schema, features: InputFeatures) -> int:
    if isinstance(part, Leaf):
        return tree_node(builder, part.tree, schema.targets[part.targets], features)
    if isinstance(part, Product):
        return builder.product([_node(builder, below, schema, features) for below in part.parts])
    gates = builder.gates(SoftmaxRegressions(features, part.gate[None]))[0].tolist()
    terms = [
        builder.product([gate, _node(builder, below, schema, features)])
        for gate, below in zip(gates, part.parts, strict=True)
    ]
    return builder.sum(terms, np.zeros(len(terms)))
