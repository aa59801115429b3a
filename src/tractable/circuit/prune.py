"""The same circuit with fewer nodes and edges."""

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.assemble import Edges, assemble
from tractable.circuit.fold import LeafNumbers, apply_factor, constants, fold_numbers
from tractable.circuit.graph import Graph
from tractable.circuit.kernels import merge_into


def prune(graph: Graph) -> Graph:
    """An equal circuit without zero weights, dead nodes, constants, nodes of one child, chains of one kind.

    A sum below a sum (or a product below a product) is dissolved when nothing else leads to it. The constants
    of a circuit with a feature table are its parameters, and stay. A factor that is left over may need a sum
    of one child as root.
    """
    numbers = _dead_constants(graph) if graph.features is not None else constants(graph)
    columns = np.arange(len(graph.schema))
    simpler = fold_numbers(graph, numbers, columns, features=True)
    return flatten(apply_factor(simpler))


def flatten(graph: Graph) -> Graph:
    """An equal circuit in which no sum is the only parent of a sum, and no product of a product."""
    parents = np.bincount(graph.child, minlength=graph.nodes)
    lift: Floats = np.zeros(graph.nodes)
    into = merge_into(graph.kind, graph.start, graph.child, graph.log_weight, parents, lift)
    dissolved = into != np.arange(graph.nodes)
    if not dissolved.any():
        return graph
    stay = ~dissolved[graph.child]
    parent = graph.parent[stay]
    edges = Edges(into[parent], graph.child[stay], graph.log_weight[stay] + lift[parent])
    return assemble(graph.schema, graph.kind.astype(np.int64), edges, graph.blocks, features=graph.features)


def _dead_constants(graph: Graph) -> LeafNumbers:
    """The constants that are zero; all others stay leaves."""
    numbers = constants(graph)
    numbers.known[:] = numbers.known & (numbers.log_value == -np.inf)
    numbers.log_value[~numbers.known] = 0.0
    return numbers
