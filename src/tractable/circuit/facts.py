"""Facts that are computed once for a graph, or known when it is made, and kept with it."""

from collections.abc import Callable
from typing import TypeVar

from tractable.circuit.graph import Graph

T = TypeVar("T")
NETWORK = "network"  # the name of the fact from which Bayesian or Markov network a circuit was compiled


def remember(graph: Graph, name: str, compute: Callable[[Graph], T]) -> T:
    """The fact called `name`, computed when it is first asked for and then kept with the graph."""
    if name not in graph.facts:
        graph.facts[name] = compute(graph)
    fact: T = graph.facts[name]
    return fact


def attach(graph: Graph, name: str, fact: object) -> None:
    """Keep a fact that is known of a graph when it is made, and that it could do without."""
    graph.facts[name] = fact
