"""The networks that leaves of a circuit read, as arrays and plain facts: files keep no code.

The header has the columns of a network, their numbers of states and the operators of its layers. The tensors
of network 0 have names that begin with `network.0.`. Those of a committee go on with the member and the
layer, as in `network.0.2.1.weight`, and the header says how many members there are. Those of a network that
is made of circuits go on with `features.1.weight`, `weights`, or `circuit.3.` and the name of a tensor of a
circuit; the header has under `circuits` what it has for a circuit of its own: the families of the leaves.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tractable.circuit.graph import Graph
from tractable.circuit.leaves.output import Network, NetworkOutput
from tractable.circuit.leaves.perceptron import Committee, Layer, Perceptron
from tractable.formats.check import check_circuit
from tractable.formats.graph_tensors import graph_from_tensors, graph_tensors, plain_blocks, read_blocks
from tractable.formats.sealed import Tensors, below

LAYERED = {"columns", "states", "operators"}  # what the header says of every network ...
KINDS = (LAYERED | {"members"}, LAYERED | {"circuits"})  # ... and of those of perceptrons, or of circuits


def networks_of(graph: Graph) -> list[Network]:
    """The networks of a circuit's leaves, in the order of their blocks."""
    return [block.family.network for block in graph.leaves if isinstance(block.family, NetworkOutput)]


def network_tensors(graph: Graph) -> Tensors:
    """The arrays of all networks by name.

    Raises:
        ValueError: if a network cannot be written down.
    """
    return {
        f"network.{i}.{name}": array
        for i, network in enumerate(networks_of(graph))
        for name, array in _tensors(network).items()
    }


def plain_networks(graph: Graph) -> dict[str, Any]:
    """What the header says of the networks, if there are any."""
    plain = [_plain_network(network) for network in networks_of(graph)]
    return {"networks": plain} if plain else {}


def read_networks(plain: Any, tensors: Tensors) -> tuple[list[Network], Tensors]:
    """The networks of a file, and the tensors that belong to none.

    Raises:
        ValueError: naming what is wrong with them.
    """
    if not isinstance(plain, list):
        raise ValueError("the networks are not a list with one for each block of their outputs")
    inside = [below(tensors, f"network.{i}.") for i in range(len(plain))]
    taken = {f"network.{i}.{name}" for i, own in enumerate(inside) for name in own}
    networks = [_read_network(i, one, own) for i, (one, own) in enumerate(zip(plain, inside, strict=True))]
    return networks, {name: array for name, array in tensors.items() if name not in taken}


def _tensors(network: Network) -> Tensors:
    if isinstance(network, Committee):
        members = (_layer_tensors(member, f"{m}.") for m, member in enumerate(network.members))
        return {name: array for member in members for name, array in member.items()}
    circuits = _as_circuits(network)
    inside = {
        f"circuit.{k}.{name}": array
        for k, graph in enumerate(circuits.graphs)
        for name, array in graph_tensors(graph).items()
    }
    return _layer_tensors(circuits.perceptron, "features.") | {"weights": circuits.weights} | inside


def _layer_tensors(perceptron: Perceptron, prefix: str) -> Tensors:
    return {
        f"{prefix}{k}.{name}": getattr(layer, name)
        for k, layer in enumerate(perceptron.layers)
        for name in ("weight", "bias")
    }


def _plain_network(network: Network) -> dict[str, Any]:
    if isinstance(network, Committee):
        return _plain_layers(network.members[0]) | {"members": len(network.members)}
    circuits = _as_circuits(network)
    return _plain_layers(circuits.perceptron) | {"circuits": [plain_blocks(g) for g in circuits.graphs]}


def _plain_layers(perceptron: Perceptron) -> dict[str, Any]:
    return {
        "columns": list(perceptron.columns),
        "states": list(perceptron.states),
        "operators": [layer.operator for layer in perceptron.layers],
    }


def _as_circuits(network: Network) -> Any:
    """A network that is made of circuits.

    Raises:
        ValueError: if it is not, so that nobody knows what it is made of.
    """
    from tractable.engine.feature_circuits import FeatureCircuits  # most files do without it

    if not isinstance(network, FeatureCircuits):
        network.state()  # which says why there is none
        raise ValueError(f"a .tract file holds no network of the kind {network.kind}")
    return network


def _read_network(number: int, plain: Any, tensors: Tensors) -> Network:
    _check_plain(number, plain)
    return _read_committee(plain, tensors) if "members" in plain else _read_circuits(plain, tensors)


def _check_plain(number: int, network: Any) -> None:
    if not isinstance(network, dict) or set(network) not in KINDS:
        raise ValueError(f"network {number} is not columns, states, operators and members or circuits")
    if not all(isinstance(part, list) for name, part in network.items() if name != "members"):
        raise ValueError(f"the columns, states, operators or circuits of network {number} are not a list")
    counts = [*network["states"], network.get("members", 0)]
    if not all(isinstance(k, int) and 0 <= k < 1 << 16 for k in counts):
        raise ValueError(f"a number of states, or of members, of network {number} is out of range")
    if not all(isinstance(name, str) for name in network["columns"] + network["operators"]):
        raise ValueError(f"a column or an operator of network {number} is not text")
    if not all(isinstance(circuit, dict) for circuit in network.get("circuits", [])):
        raise ValueError(f"a circuit of network {number} is not a dictionary")


def _read_committee(plain: Mapping[str, Any], tensors: Tensors) -> Committee:
    names = [f"{m}." for m in range(plain["members"])]
    _check_belonging(tensors, names)
    return Committee(tuple(_read_layers(plain, below(tensors, name)) for name in names))


def _read_circuits(plain: Mapping[str, Any], tensors: Tensors) -> Network:
    from tractable.engine.feature_circuits import FeatureCircuits, feature_schema

    circuits = [f"circuit.{k}." for k in range(len(plain["circuits"]))]
    _check_belonging(tensors, ["features.", "weights", *circuits])
    perceptron = _read_layers(plain, below(tensors, "features."))
    graphs = []
    for entries, name in zip(plain["circuits"], circuits, strict=True):
        own = below(tensors, name)
        graphs.append(graph_from_tensors(own, feature_schema(perceptron.outputs), read_blocks(entries, own)))
        check_circuit(graphs[-1])
    return FeatureCircuits(perceptron, tuple(graphs), _numbers(tensors, "weights"))


def _read_layers(plain: Mapping[str, Any], tensors: Tensors) -> Perceptron:
    operators = plain["operators"]
    _check_belonging(tensors, [f"{k}.{name}" for k in range(len(operators)) for name in ("weight", "bias")])
    layers = tuple(
        Layer(_numbers(tensors, f"{k}.weight"), _numbers(tensors, f"{k}.bias"), operator)
        for k, operator in enumerate(operators)
    )
    return Perceptron(tuple(plain["columns"]), tuple(plain["states"]), layers)


def _check_belonging(tensors: Tensors, known: list[str]) -> None:
    """Refuse tensors whose names are none of those known, and do not begin with one that ends with a dot."""
    for name in sorted(tensors):
        if name not in known and not name.startswith(tuple(k for k in known if k.endswith("."))):
            raise ValueError(f"the array '{name}' of a network does not belong here")


def _numbers(tensors: Tensors, name: str) -> Any:
    if name not in tensors:
        raise ValueError(f"the array '{name}' of a network is missing")
    if tensors[name].dtype != np.float64:
        raise ValueError(f"the array '{name}' of a network does not hold float64")
    return tensors[name]
