"""Multilayer perceptrons unrolled into the sums, products and operators of a generalised circuit."""

from tractable.circuit.generalised.builder import GeneralisedBuilder
from tractable.circuit.generalised.graph import GeneralisedGraph
from tractable.circuit.leaves.perceptron import BIAS, BIASED_SIGMOID, Committee, Perceptron
from tractable.data.schema import Schema


def add_perceptron(builder: GeneralisedBuilder, network: Perceptron) -> list[int]:
    """The nodes of the outputs of a perceptron, unrolled over the columns of the builder's schema."""
    nodes: list[int] = []
    for column, states in zip(network.places(builder.schema).tolist(), network.states, strict=True):
        nodes += [builder.indicator(column, s) for s in range(states)] if states else [builder.input(column)]
    for layer in network.layers:
        sums = [
            builder.affine(nodes, w, b)
            for w, b in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
        ]
        nodes = [_add_operator(builder, layer.operator, node) for node in sums]
    return nodes


def add_committee(builder: GeneralisedBuilder, network: Committee) -> list[int]:
    """The nodes of the outputs of a committee: geometric means of those of its members."""
    members = [add_perceptron(builder, member) for member in network.members]
    if len(members) == 1:
        return members[0]
    share = [1 / len(members)] * len(members)
    return [
        builder.apply("exp", builder.affine([builder.apply("log", node) for node in same], share, 0.0))
        for same in zip(*members, strict=True)
    ]


def perceptron_graph(network: Perceptron, schema: Schema) -> GeneralisedGraph:
    """A perceptron of one output as a generalised circuit; targets that it reads are intractable.

    Raises:
        ValueError: if it has several outputs.
    """
    if network.outputs != 1:
        raise ValueError(f"the network has {network.outputs} outputs, but a circuit has one root")
    builder = GeneralisedBuilder(schema)
    return builder.freeze(add_perceptron(builder, network)[0])


def _add_operator(builder: GeneralisedBuilder, name: str, node: int) -> int:
    if name == "identity":
        return node
    if name == BIASED_SIGMOID:
        return builder.sum([builder.parameter(BIAS), builder.apply("sigmoid", node)])
    return builder.apply(name, node)
