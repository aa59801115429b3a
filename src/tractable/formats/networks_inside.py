"""The networks that leaves of a circuit read, as arrays and plain facts: files keep no code.

The weights and biases of a network are tensors, `network.0.1.weight` those of layer 1 of network 0. The
header has its columns, their numbers of states, and the operator of each layer.
"""

from typing import Any

import numpy as np

from tractable.arrays import AnyArray
from tractable.circuit.graph import Graph
from tractable.leaves.output import NetworkOutput
from tractable.leaves.perceptron import Layer, Perceptron


def networks_of(graph: Graph) -> list[Perceptron]:
    """The networks of a circuit's leaves, in the order of their blocks."""
    return [block.family.network for block in graph.leaves if isinstance(block.family, NetworkOutput)]


def network_tensors(graph: Graph) -> dict[str, AnyArray]:
    """All weights and biases by name."""
    return {
        f"network.{i}.{k}.{name}": getattr(layer, name)
        for i, network in enumerate(networks_of(graph))
        for k, layer in enumerate(network.layers)
        for name in ("weight", "bias")
    }


def plain_networks(graph: Graph) -> dict[str, Any]:
    """What the header says of the networks, if there are any."""
    plain = [plain_network(network) for network in networks_of(graph)]
    return {"networks": plain} if plain else {}


def plain_network(network: Perceptron) -> dict[str, Any]:
    """The columns, states and operators of a network."""
    operators = [layer.operator for layer in network.layers]
    return {"columns": list(network.columns), "states": list(network.states), "operators": operators}


def tensor_names(plain: list[Any]) -> set[str]:
    """The names of the tensors that networks need.

    Raises:
        ValueError: if what the header says of them is not what it should be.
    """
    names: set[str] = set()
    for i, network in enumerate(plain):
        if not isinstance(network, dict) or set(network) != {"columns", "states", "operators"}:
            raise ValueError(f"network {i} is not columns, states and operators")
        if not all(isinstance(part, list) for part in network.values()):
            raise ValueError(f"the columns, states or operators of network {i} are not a list")
        if not all(isinstance(k, int) and k >= 0 for k in network["states"]):
            raise ValueError(f"a number of states of network {i} is no whole number")
        if not all(isinstance(name, str) for name in network["columns"] + network["operators"]):
            raise ValueError(f"a column or an operator of network {i} is not text")
        layers = range(len(network["operators"]))
        names |= {f"network.{i}.{k}.{name}" for k in layers for name in ("weight", "bias")}
    return names


def network_from(plain: dict[str, Any], number: int, tensors: dict[str, AnyArray]) -> Perceptron:
    """A network from what a file holds.

    Raises:
        ValueError: naming what is wrong with it.
    """
    layers = []
    for k, operator in enumerate(plain["operators"]):
        weight, bias = (tensors[f"network.{number}.{k}.{name}"] for name in ("weight", "bias"))
        if weight.dtype != np.float64 or bias.dtype != np.float64:
            raise ValueError(f"layer {k} of network {number} does not hold float64")
        layers.append(Layer(weight, bias, operator))
    return Perceptron(tuple(plain["columns"]), tuple(plain["states"]), tuple(layers))
