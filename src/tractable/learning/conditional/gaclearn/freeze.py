"""A grown circuit of targets with a network below it, frozen to the graph that queries and files know."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import PRODUCT, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.leaves.output import Network, NetworkOutput
from tractable.data import Schema
from tractable.learning.conditional.daclearn.freeze import (
    NodeList,
    feature_table,
    indicator_blocks,
    target_circuit,
)
from tractable.learning.conditional.daclearn.structure import ConditionalStructure


def freeze_generalised(
    structure: ConditionalStructure, schema: Schema, weights: Floats, network: Network
) -> Graph:
    """The circuit under weights of all features, over the columns of a schema with targets and inputs.

    A state of a target has the network's output of its number as potential, times its feature's weight.
    """
    states = structure.states
    indicators = int(states.sum())
    nodes = NodeList(2 * indicators + weights.size)
    outputs, constants = indicators + np.arange(indicators), 2 * indicators + np.arange(weights.size)
    potential = constants.tolist()
    for state in range(indicators):
        potential[state] = nodes.add(PRODUCT, [int(outputs[state]), int(constants[state])])
    root = target_circuit(structure, nodes, potential, indicators)
    edges = Edges(np.array(nodes.parent), np.array(nodes.child), np.zeros(len(nodes.child)))
    blocks = indicator_blocks(schema, schema.targets, states, [np.zeros(0)] * structure.targets)
    first = np.full(indicators, schema.column(network.columns[0]))
    blocks.append(LeafBlock(NetworkOutput(network), outputs, first, np.arange(float(indicators))[:, None]))
    blocks.append(LeafBlock(FAMILIES["constant"], constants, np.full(weights.size, -1), weights[:, None]))
    features = feature_table(structure, weights, constants, schema.targets)
    return assemble(schema, np.array(nodes.kind), edges, blocks, root, features)
