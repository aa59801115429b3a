"""The networks that leaves of a circuit read, as arrays and plain facts: files keep no code.

The weights and biases of a network are tensors, `network.0.2.1.weight` those of layer 1 of member 2 of
network 0. The header has its columns, their numbers of states, the operators of its layers and how many
members it has.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tractable.arrays import AnyArray
from tractable.circuit.graph import Graph
from tractable.leaves.output import NetworkOutput
from tractable.leaves.perceptron import Committee, Layer, Perceptron


def networks_of(graph: Graph) -> list[Committee]:
    """The networks of a circuit's leaves, in the order of their blocks.

    Raises:
        ValueError: if one cannot be written down.
    """
    return [block.family.committee() for block in graph.leaves if isinstance(block.family, NetworkOutput)]


def network_tensors(graph: Graph) -> dict[str, AnyArray]:
    """All weights and biases by name."""
    return {
        f"network.{i}.{m}.{k}.{name}": getattr(layer, name)
        for i, network in enumerate(networks_of(graph))
        for m, member in enumerate(network.members)
        for k, layer in enumerate(member.layers)
        for name in ("weight", "bias")
    }


def plain_networks(graph: Graph) -> dict[str, Any]:
    """What the header says of the networks, if there are any."""
    plain = [_plain_network(network) for network in networks_of(graph)]
    return {"networks": plain} if plain else {}


def _plain_network(network: Committee) -> dict[str, Any]:
    return {
        "columns": list(network.columns),
        "states": list(network.states),
        "operators": [layer.operator for layer in network.members[0].layers],
        "members": len(network.members),
    }


def tensor_names(plain: list[Any]) -> set[str]:
    """The names of the tensors that networks need.

    Raises:
        ValueError: if what the header says of them is not what it should be.
    """
    for i, network in enumerate(plain):
        _check_plain(i, network)
    return {
        f"{where}.{name}"
        for i, network in enumerate(plain)
        for m in range(network["members"])
        for where in _layers(i, m, network)
        for name in ("weight", "bias")
    }


def _check_plain(number: int, network: Any) -> None:
    if not isinstance(network, dict) or set(network) != {"columns", "states", "operators", "members"}:
        raise ValueError(f"network {number} is not columns, states, operators and members")
    lists = [network[name] for name in ("columns", "states", "operators")]
    if not all(isinstance(part, list) for part in lists):
        raise ValueError(f"the columns, states or operators of network {number} are not a list")
    if not all(isinstance(k, int) and 0 <= k < 1 << 16 for k in [*network["states"], network["members"]]):
        raise ValueError(f"a number of states, or of members, of network {number} is out of range")
    if not all(isinstance(name, str) for name in network["columns"] + network["operators"]):
        raise ValueError(f"a column or an operator of network {number} is not text")


def _layers(number: int, member: int, plain: dict[str, Any]) -> Iterator[str]:
    return (f"network.{number}.{member}.{k}" for k in range(len(plain["operators"])))


def network_from(plain: dict[str, Any], number: int, tensors: dict[str, AnyArray]) -> Committee:
    """A network from what a file holds.

    Raises:
        ValueError: naming what is wrong with it.
    """
    columns, states = tuple(plain["columns"]), tuple(plain["states"])
    members = []
    for m in range(plain["members"]):
        places = zip(_layers(number, m, plain), plain["operators"], strict=True)
        layers = tuple(_layer(tensors, where, operator) for where, operator in places)
        members.append(Perceptron(columns, states, layers))
    return Committee(tuple(members))


def _layer(tensors: dict[str, AnyArray], where: str, operator: str) -> Layer:
    weight, bias = tensors[f"{where}.weight"], tensors[f"{where}.bias"]
    if weight.dtype != np.float64 or bias.dtype != np.float64:
        raise ValueError(f"the layer {where} does not hold float64")
    return Layer(weight, bias, operator)
