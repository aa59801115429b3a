"""Checks of circuits in files beyond those of every graph."""

from tractable.circuit.check import check_magnitudes
from tractable.circuit.graph import Graph
from tractable.circuit.properties import explain_decomposable, explain_validity
from tractable.formats.features import check_features


def check_circuit(graph: Graph) -> None:
    """Refuse a circuit whose feature table belongs to another one, or whose products share columns.

    Refused as well are parameters that are too large to compute with.

    Of a circuit of P(targets | inputs) only the targets count.

    Raises:
        ValueError: naming the feature, or the product and the column.
    """
    check_magnitudes(graph)
    if graph.features is not None:
        check_features(graph.features, graph)
    schema = graph.schema
    fault = explain_validity(graph, schema.targets) if schema.inputs.size else explain_decomposable(graph)
    if fault is not None:
        raise ValueError(fault)
