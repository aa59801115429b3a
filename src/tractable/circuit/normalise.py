"""Local normalisation: the weights of every sum add up to one."""

import numpy as np

from tractable.circuit.fold import FoldedGraph, constants, fold_numbers
from tractable.circuit.graph import Graph
from tractable.circuit.properties import explain_decomposable, explain_smooth


def normalise(graph: Graph) -> FoldedGraph:
    """The distribution with the weights of every sum adding up to one, and log Z of the given circuit.

    Constants are absorbed into weights, and edges of weight zero are removed.

    Raises:
        ValueError: if the circuit is not smooth and decomposable, holds potentials, or is zero everywhere.
    """
    _check_summable(graph)
    simpler = fold_numbers(graph, constants(graph), np.arange(len(graph.schema)), normalise=True)
    if simpler.log_factor == -np.inf:
        raise ValueError("a circuit that is zero everywhere cannot be normalised")
    return simpler


def _check_summable(graph: Graph) -> None:
    fault = explain_smooth(graph) or explain_decomposable(graph)
    if fault is not None:
        raise ValueError(f"the circuit cannot be normalised: {fault}")
    for block in graph.blocks:
        fault = block.unsummable(graph.schema)
        if fault is not None:
            raise ValueError(f"the circuit cannot be normalised: {fault}")
