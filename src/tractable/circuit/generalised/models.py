"""Generalised circuits made from circuits, multilayer perceptrons and mixtures of conditional Bernoullis."""

from collections.abc import Sequence

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.blocks import Block, ConstantBlock, GateBlock, JointBlock, LeafBlock, NetworkBlock
from tractable.circuit.generalised.builder import GeneralisedBuilder
from tractable.circuit.generalised.graph import GeneralisedGraph
from tractable.circuit.graph import LEAF, Graph
from tractable.circuit.graph import SUM as CIRCUIT_SUM
from tractable.circuit.leaves.perceptron import BIAS, BIASED_SIGMOID, Committee, Perceptron
from tractable.data.schema import Schema, Variable

# ---- circuits of sums and products are generalised circuits without operators ---------------------------


def generalise(graph: Graph) -> GeneralisedGraph:
    """The circuit as a generalised circuit with unrolled networks.

    Raises:
        ValueError: if a leaf is over a numeric target or over several columns, or is a gate.
    """
    builder = GeneralisedBuilder(graph.schema)
    node = [-1] * graph.nodes
    for block in graph.blocks:
        for place, number in zip(block.node.tolist(), _leaves(builder, graph, block), strict=True):
            node[place] = number
    for i in np.flatnonzero(graph.kind != LEAF).tolist():
        edges = range(int(graph.start[i]), int(graph.start[i + 1]))
        below = [node[c] for c in graph.child[list(edges)].tolist()]
        if graph.kind[i] == CIRCUIT_SUM:
            terms = zip(graph.log_weight[list(edges)].tolist(), below, strict=True)
            below = [c if w == 0 else builder.product([builder.parameter(np.exp(w)), c]) for w, c in terms]
            node[i] = builder.sum(below)
        else:
            node[i] = builder.product(below)
    return builder.freeze(node[graph.root])


def _leaves(builder: GeneralisedBuilder, graph: Graph, block: Block) -> list[int]:
    """The nodes of the leaves of a block."""
    if isinstance(block, ConstantBlock):
        return [builder.parameter(x) for x in np.exp(block.log_value).tolist()]
    if isinstance(block, NetworkBlock):
        if not isinstance(block.network, Committee):
            raise ValueError(
                f"the circuit has a network of the kind {block.network.kind}, which cannot be converted to"
                " plain layers"
            )
        outputs = add_committee(builder, block.network)
        return [outputs[output] for output in block.output.tolist()]
    if isinstance(block, JointBlock):
        raise ValueError("a leaf over several columns is not a sum of indicators")
    if isinstance(block, GateBlock):
        raise ValueError(
            "a generalised circuit cannot have gates: condition the circuit on a row of inputs first"
        )
    if not isinstance(block, LeafBlock):
        column = graph.schema[int(block.first_column(graph.schema)[0])]
        raise ValueError(f"column '{column.name}' is {column.kind}: its leaves are not sums of indicators")
    if block.family.is_indicator:
        return [
            builder.indicator(c, int(s))
            for c, s in zip(block.column.tolist(), block.params[:, 0], strict=True)
        ]
    return [_distribution(builder, graph, block, i, column) for i, column in enumerate(block.column.tolist())]


def _distribution(builder: GeneralisedBuilder, graph: Graph, block: LeafBlock, leaf: int, column: int) -> int:
    """A leaf over a categorical column as a sum of indicators, each with a parameter."""
    variable = graph.schema[column]
    if not variable.is_categorical:
        raise ValueError(
            f"column '{variable.name}' is {variable.kind}: its leaves are not sums of indicators"
        )
    shares = np.exp(block.select(slice(leaf, leaf + 1)).table(variable.cardinality)[0])
    return builder.sum(
        builder.product([builder.parameter(p), builder.indicator(column, s)])
        for s, p in enumerate(shares.tolist())
    )


# ---- multilayer perceptrons unrolled into the sums, products and operators of a generalised circuit -----


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


# ---- Models that are generalised circuits: mixtures of conditional Bernoullis, and the text's own
#      example.


def conditional_bernoullis(
    schema: Schema, gates: tuple[Floats, Floats], components: Sequence[tuple[Floats, Floats]]
) -> GeneralisedGraph:
    """A mixture of conditional Bernoullis: sums over components of gate times logistic regressions.

    Targets have two states and inputs are numeric. `gates` are weights (components, inputs) and biases
    (components,) of a softmax regression; each component has weights (targets, inputs) and biases (targets,).
    All targets are tractable.

    Raises:
        ValueError: if a target must have two states.
    """
    for target in schema.targets.tolist():
        if schema[target].cardinality != 2:
            raise ValueError(f"column '{schema[target].name}' must have two states")
    b = GeneralisedBuilder(schema)
    inputs = [b.input(c) for c in schema.inputs.tolist()]
    parts = []
    for gate_weight, gate_bias, (weight, bias) in zip(*gates, components, strict=True):
        factors = [b.apply("exp", b.affine(inputs, gate_weight.tolist(), float(gate_bias)))]
        for target, w, c in zip(schema.targets.tolist(), weight, bias, strict=True):
            yes = b.apply("sigmoid", b.affine(inputs, w.tolist(), float(c)))
            no = b.apply("sigmoid", b.affine(inputs, (-w).tolist(), -float(c)))
            factors.append(
                b.sum([b.product([yes, b.indicator(target, 1)]), b.product([no, b.indicator(target, 0)])])
            )
        parts.append(b.product(factors))
    return b.freeze(b.sum(parts))


def two_target_example(
    weights: Sequence[float] = (1.0, -0.5, 0.8, 0.3),
    biases: Sequence[float] = (0.2, -0.1),
    theta: float = 2.0,
) -> GeneralisedGraph:
    """The circuit of figure 5.1 of Rooshenas (2017): two tractable targets, three inputs.

    It is phi_1^[y2=1] phi_2^[y1=0] theta^[y1=1 and y2=1], where phi_1 = sigmoid(w1 x1 + w2 x2 + b1) and
    phi_2 = sigmoid(w3 x2 + w4 x3 + b2).
    """
    targets = [Variable(name, states=(0, 1)) for name in ("y1", "y2")]
    inputs = [Variable(name, "real", role="input") for name in ("x1", "x2", "x3")]
    b = GeneralisedBuilder(Schema((*targets, *inputs)))
    x1, x2, x3 = (b.input(c) for c in (2, 3, 4))
    phi_1 = b.apply("sigmoid", b.affine([x1, x2], weights[:2], biases[0]))
    phi_2 = b.apply("sigmoid", b.affine([x2, x3], weights[2:], biases[1]))
    y2_is_1 = b.product([phi_1, b.indicator(1, 1)])
    first_no = b.product([phi_2, b.indicator(0, 0), b.sum([b.indicator(1, 0), y2_is_1])])
    both = b.product([b.parameter(theta), y2_is_1])
    first_yes = b.product([b.indicator(0, 1), b.sum([b.indicator(1, 0), both])])
    return b.freeze(b.sum([first_no, first_yes]))
