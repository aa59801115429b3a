"""Circuits of sums and products are generalised circuits without operators."""

import numpy as np

from tractable.circuit.blocks import Block, ConstantBlock, GateBlock, JointBlock, LeafBlock, NetworkBlock
from tractable.circuit.generalised.builder import GeneralisedBuilder
from tractable.circuit.generalised.graph import GeneralisedGraph
from tractable.circuit.generalised.unrolling import add_committee
from tractable.circuit.graph import LEAF, Graph
from tractable.circuit.graph import SUM as CIRCUIT_SUM
from tractable.circuit.leaves.perceptron import Committee


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
