"""Conversion of conditional structures, possibly above a network, to graphs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import (
    LEAF,
    PRODUCT,
    SUM,
    Block,
    ConstantBlock,
    FactorBlock,
    FeatureTable,
    Graph,
    LeafBlock,
)
from tractable.circuit.assemble import Edges, assemble
from tractable.circuit.blocks import Network, network_block
from tractable.circuit.leaves import FACTORS, FAMILIES
from tractable.circuit.leaves.factor import FARTHEST
from tractable.data import Schema
from tractable.learning.conditional.field.structure import ConditionalStructure


class NodeList:
    """Nodes and edges in order of creation, children before their parents."""

    def __init__(self, leaves: int) -> None:
        self.kind = [LEAF] * leaves
        self.parent: list[int] = []
        self.child: list[int] = []

    def add(self, kind: int, children: list[int]) -> int:
        """A new inner node."""
        node = len(self.kind)
        self.kind.append(kind)
        self.parent.extend([node] * len(children))
        self.child.extend(children)
        return node

    @property
    def edges(self) -> Edges:
        """All edges, with weights of one."""
        return Edges(np.array(self.parent), np.array(self.child), np.zeros(len(self.child)))


def freeze_conditional(
    structure: ConditionalStructure, schema: Schema, weights: Floats, cuts: Sequence[Floats]
) -> Graph:
    """The circuit under weights of all features, over the columns of a schema with targets and inputs.

    A feature's conditions on inputs are a sum over the states of an input, each with an indicator and the
    weights of the features that have it. Splits on inputs whose weights are all zero are left out. `cuts` has
    the numbers at which each input is cut into intervals, none for a categorical one.
    """
    columns = np.concatenate([schema.targets, schema.inputs])
    states = structure.states
    indicators = int(states.sum())
    nodes = NodeList(indicators + weights.size)
    root = field_node(structure, weights, nodes, indicators)
    constants = indicators + np.arange(weights.size)
    blocks = indicator_blocks(schema, columns, states, [np.zeros(0)] * structure.targets + list(cuts))
    features = feature_table(structure, weights, constants, columns)
    intervals = {column: b.params for column, b in zip(columns.tolist(), blocks, strict=True)}
    features = _with_ends(features, schema, intervals)
    return assemble(
        schema,
        np.array(nodes.kind),
        nodes.edges,
        [*blocks, ConstantBlock(constants, weights)],
        root,
        features,
    )


def field_node(structure: ConditionalStructure, weights: Floats, nodes: NodeList, first: int) -> int:
    """The root of a field above existing leaves: indicators and, from `first` on, weights."""
    potential = _potentials(structure, weights, nodes, first)
    states = structure.states[: structure.targets]
    return target_circuit(structure, nodes, potential, int(states.sum()))


def indicator_blocks(
    schema: Schema, columns: Ints, states: Ints, cuts: Sequence[Floats]
) -> list[LeafBlock | FactorBlock]:
    """A leaf for each state of each column, in their order: an indicator, or an interval of a number."""
    blocks: list[LeafBlock | FactorBlock] = []
    first = np.cumsum(states) - states
    for at, column, many, cut in zip(first.tolist(), columns.tolist(), states.tolist(), cuts, strict=True):
        node, of = at + np.arange(many), np.full(many, column)
        if schema[column].is_numeric:
            ends = np.concatenate([[-FARTHEST], cut, [FARTHEST]])
            blocks.append(FactorBlock(FACTORS["within"], node, of, np.stack([ends[:-1], ends[1:]], axis=1)))
        else:
            blocks.append(LeafBlock(FAMILIES["indicator"], node, of, np.arange(float(many))[:, None]))
    return blocks


def _potentials(structure: ConditionalStructure, weights: Floats, nodes: NodeList, first: int) -> list[int]:
    """The node that is the value of each feature with all features that extend it by inputs."""
    potential = list(range(first, first + weights.size))
    counts = weights != 0
    for feature in range(weights.size - 1, -1, -1):
        factors = [potential[feature]]
        for new in structure.groups_of(feature):
            column = structure.conditions[new][-1][0]
            below = structure.states_of(column)
            children = list(range(below.start, below.stop))  # indicators
            for i, state in enumerate(structure.new_states(column)):
                if counts[new + i]:
                    counts[feature] = True
                    children[state] = nodes.add(PRODUCT, [children[state], potential[new + i]])
            if max(children) >= below.stop:
                factors.append(nodes.add(SUM, children))
        if len(factors) > 1:
            potential[feature] = nodes.add(PRODUCT, factors)
    return potential


def target_circuit(
    structure: ConditionalStructure, nodes: NodeList, potential: list[int], states: int
) -> int:
    """The root of the circuit over targets, whose parameters are nodes."""
    store, order, params = structure.circuit.arrays()
    number: Ints = np.zeros(store.kind.size, dtype=np.int64)
    number[1 : states + 1] = np.arange(states)
    number[params] = np.array(potential)[structure.features_alone]
    for node in order.tolist():
        first = int(store.first[node])
        below = number[store.child[first : first + int(store.degree[node])]]
        number[node] = nodes.add(int(store.kind[node]), below.tolist())
    return int(number[order[-1]])


def feature_table(
    structure: ConditionalStructure, weights: Floats, constants: Ints, columns: Ints
) -> FeatureTable:
    """The features with their weights and conditions; the states of a numeric input are its intervals."""
    size = np.array([len(c) for c in structure.conditions])
    flat = np.array([pair for c in structure.conditions for pair in c], dtype=np.int64).reshape(-1, 2)
    start = np.concatenate([[0], np.cumsum(size)])
    equals = np.ones(len(flat), dtype=np.bool_)
    return FeatureTable(constants, weights, start, columns[flat[:, 0]], flat[:, 1], equals)


def _with_ends(features: FeatureTable, schema: Schema, intervals: Mapping[int, Floats]) -> FeatureTable:
    """The features with the ends of intervals in the place of their numbers."""
    numeric = np.array([variable.is_numeric for variable in schema])[features.column]
    if not numeric.any():
        return features
    ends = np.zeros((features.column.size, 2))
    for place in np.flatnonzero(numeric).tolist():
        ends[place] = intervals[int(features.column[place])][features.state[place]]
    return replace(features, state=np.where(numeric, -1, features.state), ends=ends)


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
    blocks: list[Block] = [
        *indicator_blocks(schema, schema.targets, states, [np.zeros(0)] * structure.targets),
        network_block(network, schema, outputs, np.arange(indicators)),
        ConstantBlock(constants, weights),
    ]
    features = feature_table(structure, weights, constants, schema.targets)
    return assemble(schema, np.array(nodes.kind), nodes.edges, blocks, root, features)
