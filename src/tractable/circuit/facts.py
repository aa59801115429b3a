"""Facts that are computed once for a graph and kept with it."""

from collections.abc import Callable
from typing import TypeVar

from tractable.circuit.graph import Graph

T = TypeVar("T")


def remember(graph: Graph, name: str, compute: Callable[[Graph], T]) -> T:
    """The fact called `name`, computed when it is first asked for and then kept with the graph."""
    if name not in graph.facts:
        graph.facts[name] = compute(graph)
    fact: T = graph.facts[name]
    return fact
