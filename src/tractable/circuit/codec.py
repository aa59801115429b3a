"""Conversion of circuits to plain metadata and named arrays, and back.

The facts name the kind of each block of leaves, by the sections of the arrays. A mixture of components of one
shape has its shape stored once, and the members of a mixture of circuits are stored one by one.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from tractable.base.named_arrays import (
    NamedArrays,
    require_array,
    require_names,
    split_below,
    with_prefix,
)
from tractable.circuit.assemble import in_order
from tractable.circuit.blocks import (
    Block,
    GateBlock,
    JointBlock,
    Layout,
    LeafBlock,
    Network,
    NetworkBlock,
    leaf_block,
    network_block,
)
from tractable.circuit.check import is_partition
from tractable.circuit.combine import sum_circuits
from tractable.circuit.features import FeatureTable, known_features
from tractable.circuit.graph import Graph, Members, Shape
from tractable.circuit.leaves.multivariate import JOINT_FAMILIES
from tractable.circuit.shapes import members_of, root_weights
from tractable.data.schema import Schema

DEEPEST = 8  # members inside members of a mixture
WEIGHTS = "members.log_weight"
GRAPH: Layout = {
    "kind": (np.uint8, 1), "start": (np.int64, 1), "child": (np.int64, 1), "log_weight": (np.float64, 1),
}  # fmt: skip
FEATURES: Layout = {
    "node": (np.int64, 1), "log_weight": (np.float64, 1), "start": (np.int64, 1), "column": (np.int64, 1),
    "state": (np.int64, 1), "equals": (np.bool_, 1), "ends": (np.float64, 2),
}  # fmt: skip
ENDS = "feature.ends"  # of the intervals of features of numeric columns, where there are any


class Section(NamedTuple):
    """The blocks that have the same arrays. Another kind of leaves is another line of `SECTIONS`."""

    entry: str  # of the facts, which lists the names of the blocks
    title: str  # what that entry is called in messages
    layout: Layout
    decode: Callable[[Any, NamedArrays, Schema], Block]  # the block of a name and its arrays


def encode_graph(graph: Graph) -> tuple[dict[str, Any], NamedArrays]:
    """A circuit but for its schema, as plain values and arrays.

    Raises:
        ValueError: if it has a network that cannot be written down.
    """
    networks = [block.network.encode() for block in graph.blocks_of(NetworkBlock)]
    facts, arrays = _facts(graph, DEEPEST), _arrays(graph, DEEPEST)
    for number, (_, inside) in enumerate(networks):
        arrays |= with_prefix(f"network.{number}.", inside)
    return facts | ({"networks": [plain for plain, _ in networks]} if networks else {}), arrays


def decode_graph(facts: Mapping[str, Any], arrays: NamedArrays, schema: Schema) -> Graph:
    """The circuit over these columns that `encode_graph` has described.

    Raises:
        ValueError: naming what is wrong with it.
    """
    networks, rest = _decode_networks(facts.get("networks", []), arrays)
    names = {section: _names(facts, section, rest) for section in SECTIONS}
    if len(networks) != names[LeafBlock.section].count(NetworkBlock.name):
        raise ValueError("the networks are not a list with one for each block of their outputs")
    members = _member_facts(facts)
    if members:
        return _decode_members(members, rest, schema)
    if "shape.root" in rest and not networks and all(s == LeafBlock.section for s in names if names[s]):
        from tractable.circuit.shape_codec import decode_shape  # most circuits do without it

        return decode_shape(names[LeafBlock.section], rest, schema)
    _require_arrays(rest, names)
    inside = iter(networks)
    blocks = [
        _decode_block(section, name, number, rest, schema, inside)
        for section, several in names.items()
        for number, name in enumerate(several)
    ]
    kind, start, child, log_weight = (require_array(rest, n, *layout) for n, layout in GRAPH.items())
    features = known_features(_decode_features(rest), schema)
    return Graph(schema, kind, start, child, log_weight, in_order(blocks), features)


# ---- facts --------------------------------------------------------------------------------------------


def _facts(graph: Graph, levels: int) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        names = [block.name for block in graph.blocks if block.section == name]
        if names or name == LeafBlock.section:
            facts[section.entry] = len(names) if name == GateBlock.section else names
    members = [_facts(member, levels - 1) for member in members_of(graph)] if levels else []
    return facts | ({"members": members} if members else {})


def _names(facts: Mapping[str, Any], section: str, arrays: NamedArrays) -> list[Any]:
    """The names of the blocks of a section."""
    entry, title, *_ = SECTIONS[section]
    names = facts.get(entry, None if section == LeafBlock.section else [])
    if section == GateBlock.section and names != []:
        if type(names) is not int or not 0 <= names <= len(arrays):
            raise ValueError(f"{title} is not a number")
        return [GateBlock.name] * names
    if not isinstance(names, list):
        raise ValueError(f"{title} are not a list")
    return names


def _member_facts(facts: Mapping[str, Any]) -> list[Any]:
    members = facts.get("members", [])
    if not isinstance(members, list) or not all(isinstance(one, dict) for one in members):
        raise ValueError("the members of the mixture are not a list")
    if _are_deep(members):
        raise ValueError(f"mixtures are inside each other on more than {DEEPEST} levels")
    return members


def _are_deep(members: object, left: int = DEEPEST) -> bool:
    """Whether members of a mixture have members of their own, on more levels than are left."""
    if not isinstance(members, list) or not members:
        return False
    return left == 0 or any(_are_deep(m.get("members"), left - 1) for m in members if isinstance(m, dict))


# ---- arrays -------------------------------------------------------------------------------------------


def _arrays(graph: Graph, levels: int) -> NamedArrays:
    if isinstance(graph.mixture, Shape):
        from tractable.circuit.shape_codec import shape_arrays

        return shape_arrays(graph, graph.mixture)
    if isinstance(graph.mixture, Members) and levels:
        arrays: NamedArrays = {WEIGHTS: root_weights(graph)}
        for number, member in enumerate(members_of(graph)):
            arrays |= with_prefix(f"member.{number}.", _arrays(member, levels - 1))
        return arrays
    arrays = {name: getattr(graph, name) for name in GRAPH}
    for section in SECTIONS:
        blocks = [block for block in graph.blocks if block.section == section]
        for number, block in enumerate(blocks):
            arrays |= with_prefix(f"{section}.{number}.", block.arrays)
    table = graph.features
    if table is not None:
        inside = {field.name: getattr(table, field.name) for field in fields(table)}
        arrays |= with_prefix("feature.", {name: a for name, a in inside.items() if a is not None})
    return arrays


def _require_arrays(arrays: NamedArrays, names: Mapping[str, list[Any]]) -> None:
    wanted = set(GRAPH)
    for section, several in names.items():
        layout = SECTIONS[section].layout
        wanted |= {f"{section}.{number}.{name}" for number in range(len(several)) for name in layout}
    features = {f"feature.{name}" for name in FEATURES} - {ENDS}
    if not features.isdisjoint(arrays):
        wanted |= features | ({ENDS} & set(arrays))
    require_names(arrays, wanted)


def _decode_block(
    section: str, name: Any, number: int, arrays: NamedArrays, schema: Schema, networks: Any
) -> Block:
    _, _, layout, decode = SECTIONS[section]
    own = {n: require_array(arrays, f"{section}.{number}.{n}", *kind) for n, kind in layout.items()}
    if section == LeafBlock.section and name == NetworkBlock.name:
        return _decode_outputs(next(networks), own, schema)
    return decode(name, own, schema)


def _decode_members(members: list[Any], arrays: NamedArrays, schema: Schema) -> Graph:
    """The circuit of which the members of a mixture are stored."""
    inside, rest = split_below(arrays, [f"member.{number}." for number in range(len(members))])
    require_names(rest, {WEIGHTS})
    weights = require_array(rest, WEIGHTS, np.float64, 1)
    if weights.size != len(members):
        raise ValueError(f"there are {weights.size} weights of {len(members)} members")
    graphs = [decode_graph(facts, own, schema) for facts, own in zip(members, inside, strict=True)]
    return sum_circuits(graphs, weights)


def _decode_features(arrays: NamedArrays) -> FeatureTable | None:
    if "feature.node" not in arrays:
        return None
    names = [name for name in FEATURES if f"feature.{name}" in arrays]
    table = FeatureTable(**{n: require_array(arrays, f"feature.{n}", *FEATURES[n]) for n in names})
    conditions = table.column.size
    if table.ends is not None and table.ends.shape != (conditions, 2):
        raise ValueError(f"the array '{ENDS}' has the shape {table.ends.shape}, not {(conditions, 2)}")
    features = table.node.size
    sizes = {"log_weight": features, "start": features + 1, "state": conditions, "equals": conditions}
    for name, size in sizes.items():
        found = getattr(table, name).size
        if found != size:
            raise ValueError(f"the array 'feature.{name}' has {found} entries, not {size}")
    if not is_partition(table.start, conditions):
        raise ValueError("the conditions are not divided among the features in order")
    return table


# ---- kinds of blocks ----------------------------------------------------------------------------------


def _decode_leaves(name: Any, arrays: NamedArrays, schema: Schema) -> Block:
    return leaf_block(name, arrays["node"], arrays["column"], arrays["params"])


def _decode_joint(name: Any, arrays: NamedArrays, schema: Schema) -> Block:
    if not isinstance(name, str) or name not in JOINT_FAMILIES:
        raise ValueError(f"there is no family of leaves over several columns called {name!r}")
    return JointBlock(JOINT_FAMILIES[name], arrays["node"], arrays["columns"], arrays["params"])


def _decode_gates(name: Any, arrays: NamedArrays, schema: Schema) -> Block:
    return GateBlock.from_arrays(arrays)


SECTIONS: dict[str, Section] = {
    LeafBlock.section: Section("families", "the families of the leaves", LeafBlock.layout, _decode_leaves),
    JointBlock.section: Section(
        "joint_families", "the families of the leaves over several columns", JointBlock.layout, _decode_joint
    ),
    GateBlock.section: Section("gates", "the number of blocks of gates", GateBlock.layout, _decode_gates),
}


# ---- networks -----------------------------------------------------------------------------------------

LAYERED = {"columns", "states", "operators"}  # what the facts say of every network


def _decode_outputs(network: Network, arrays: NamedArrays, schema: Schema) -> Block:
    params = arrays["params"]
    if params.shape[1] != 1 or not ((params >= 0) & (params == np.floor(params)) & (params < 2**53)).all():
        raise ValueError(f"{NetworkBlock.name} leaves: their parameters are not the numbers of outputs")
    return network_block(network, schema, arrays["node"], params[:, 0].astype(np.int64))


def _decode_networks(facts: Any, arrays: NamedArrays) -> tuple[list[Network], NamedArrays]:
    """The networks whose outputs leaves are, and the arrays that belong to none."""
    if not isinstance(facts, list):
        raise ValueError("the networks are not a list with one for each block of their outputs")
    inside, rest = split_below(arrays, [f"network.{number}." for number in range(len(facts))])
    lines = enumerate(zip(facts, inside, strict=True))
    return [_decode_network(number, plain, own) for number, (plain, own) in lines], rest


def _decode_network(number: int, facts: Any, arrays: NamedArrays) -> Network:
    from tractable.base.settings.registry import Home  # most circuits read no network

    kinds = {  # by the entry that tells them apart
        "members": Home("tractable.circuit.leaves.perceptron", "Committee"),
        "circuits": Home("tractable.engine.feature_circuits", "FeatureCircuits"),
    }
    if not isinstance(facts, dict) or set(facts) not in [LAYERED | {entry} for entry in kinds]:
        raise ValueError(f"network {number} is not columns, states, operators and members or circuits")
    _check_facts(number, facts)
    home = kinds["members" if "members" in facts else "circuits"]
    network: Network = getattr(import_module(home.module), home.class_name).decode(facts, arrays)
    return network


def _check_facts(number: int, network: Mapping[str, Any]) -> None:
    if not all(isinstance(part, list) for name, part in network.items() if name != "members"):
        raise ValueError(f"the columns, states, operators or circuits of network {number} are not a list")
    counts = [*network["states"], network.get("members", 0)]
    if not all(isinstance(k, int) and 0 <= k < 1 << 16 for k in counts):
        raise ValueError(f"a number of states, or of members, of network {number} is out of range")
    if not all(isinstance(name, str) for name in network["columns"] + network["operators"]):
        raise ValueError(f"a column or an operator of network {number} is not text")
    if not all(isinstance(circuit, dict) for circuit in network.get("circuits", [])):
        raise ValueError(f"a circuit of network {number} is not a dictionary")
