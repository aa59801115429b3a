"""Densities of classes over features of the inputs, as the circuit that queries and files know."""

import numpy as np

from tractable.circuit import PRODUCT, SUM, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble
from tractable.circuit.graph import LEAF
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.leaves.output import NetworkOutput
from tractable.circuit.leaves.perceptron import COS, Layer
from tractable.data import Schema
from tractable.engine.feature_circuits import FeatureCircuits
from tractable.learning.conditional.dspn_svd.hsic import FourierMap, Projection


def input_layers(projection: Projection) -> tuple[Layer, ...]:
    """The features as layers of a perceptron."""
    directions = np.ascontiguousarray(projection.directions.T)
    none = np.zeros(len(directions))
    if not isinstance(projection.mapped, FourierMap):
        return (Layer(directions, none),)
    cosines = projection.mapped
    first = Layer(np.ascontiguousarray(cosines.frequencies.T), cosines.phases, COS)
    return (first, Layer(cosines.scale * directions, none))


def freeze_classes(network: FeatureCircuits, schema: Schema) -> Graph:
    """The sum over the classes of the target of an indicator times the network's output of its number."""
    target, classes = int(schema.targets[0]), network.outputs
    number = np.arange(classes)
    indicators, outputs, products, root = number, classes + number, 2 * classes + number, 3 * classes
    kind = np.concatenate([np.full(2 * classes, LEAF), np.full(classes, PRODUCT), [SUM]])
    parent = np.concatenate([products, products, np.full(classes, root)])
    child = np.concatenate([indicators, outputs, products])
    states = number.astype(np.float64)[:, None]
    first = np.full(classes, schema.column(network.columns[0]))
    blocks = [
        LeafBlock(FAMILIES["indicator"], indicators, np.full(classes, target), states),
        LeafBlock(NetworkOutput(network), outputs, first, states),
    ]
    return assemble(schema, kind, Edges(parent, child, np.zeros(parent.size)), blocks)
