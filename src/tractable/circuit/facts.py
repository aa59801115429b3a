"""Facts that are computed once for a graph, or known when it is created, and cached with it."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from tractable.circuit.graph import Graph

P = ParamSpec("P")
T = TypeVar("T")
NETWORK = "network"  # the name of the fact from which Bayesian or Markov network a circuit was compiled


def remembered(compute: Callable[Concatenate[Graph, P], T]) -> Callable[Concatenate[Graph, P], T]:
    """A function of a graph that is computed when first called and whose result is kept with the graph.

    The result may depend on nothing but the graph and on further arguments, which must be hashable: there is
    one result for each choice of these.
    """

    @wraps(compute)
    def look_up(graph: Graph, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (compute, args, tuple(kwargs.items()))
        if key not in graph.facts:
            graph.facts[key] = compute(graph, *args, **kwargs)
        fact: T = graph.facts[key]
        return fact

    return look_up


def attach(graph: Graph, name: str, fact: object) -> None:
    """Keep a fact that is known of a graph when it is made, and that it could do without."""
    graph.facts[name] = fact
