"""Refusing circuits that multiply what is not independent."""

from typing import Any

from tractable.circuit.graph import Graph
from tractable.circuit.properties import explain_decomposable, explain_validity


def check_scopes(graph: Graph, about: dict[str, Any]) -> None:
    """Refuse a circuit whose products share columns; of one of P(targets | inputs) only the targets count.

    Raises:
        ValueError: naming the product and the column.
    """
    targets = graph.schema.columns(about.get("targets") or ())
    fault = explain_validity(graph, targets) if targets else explain_decomposable(graph)
    if fault is not None:
        raise ValueError(fault)
