"""The arrays of a circuit by name, and back, as `.tract` files hold circuits and those inside networks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tractable.base.arrays import AnyArray
from tractable.circuit.check import is_partition
from tractable.circuit.combine import sum_circuits
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import GateBlock, Graph, JointBlock, LeafBlock, Members, Shape
from tractable.circuit.leaves import FAMILIES, Family
from tractable.circuit.leaves.multivariate import JOINT_FAMILIES
from tractable.circuit.leaves.output import Network, NetworkOutput
from tractable.circuit.shapes import members_of, root_weights
from tractable.data.schema import Schema
from tractable.formats.features import known_features
from tractable.formats.sealed import Tensors, below

DEEPEST = 8  # members inside members of a mixture
_GRAPH = {"kind": np.uint8, "start": np.int64, "child": np.int64, "log_weight": np.float64}
_BLOCK = {"node": np.int64, "column": np.int64, "params": np.float64}
_JOINT = {"node": np.int64, "columns": np.int64, "params": np.float64}
_GATE = {
    "node": np.int64, "regression": np.int64, "outcome": np.int64, "weights": np.float64, "column": np.int64,
    "state": np.int64, "shift": np.float64, "scale": np.float64,
}  # fmt: skip
_FEATURES = {
    "node": np.int64,
    "log_weight": np.float64,
    "start": np.int64,
    "column": np.int64,
    "state": np.int64,
    "equals": np.bool_,
}
_ENDS = "feature.ends"  # of the intervals of features of numeric columns, where there are any


class Blocks(NamedTuple):
    """What blocks of leaves a file says that it has."""

    families: list[Any]
    together: list[Any]  # of leaves over several columns
    gates: int
    members: Sequence[Any] = ()  # what is said of each member of a mixture that is stored by members


def graph_tensors(graph: Graph, levels: int = DEEPEST) -> Tensors:
    """The arrays of a circuit by name, with mixtures inside mixtures on so many levels."""
    if graph.mixture is None or (isinstance(graph.mixture, Members) and not levels):
        return _tensors(graph)
    from tractable.formats.tract_mixtures import WEIGHTS, shape_tensors

    if isinstance(graph.mixture, Shape):
        return shape_tensors(graph, graph.mixture)
    return {WEIGHTS: root_weights(graph)} | {
        f"member.{i}.{name}": array
        for i, member in enumerate(members_of(graph))
        for name, array in graph_tensors(member, levels - 1).items()
    }


def plain_blocks(graph: Graph, levels: int = DEEPEST) -> dict[str, Any]:
    """What a header says of the leaves: their families, the number of blocks of gates, those of members."""
    members = [plain_blocks(member, levels - 1) for member in members_of(graph)] if levels else []
    return _plain_leaves(graph) | ({"members": members} if members else {})


def _plain_leaves(graph: Graph) -> dict[str, Any]:
    joints = [block.family.name for block in graph.joints]
    return (
        {"families": [block.family.name for block in graph.leaves]}
        | ({"joint_families": joints} if joints else {})
        | ({"gates": len(graph.gates)} if graph.gates else {})
    )


def read_blocks(entries: Mapping[str, Any], tensors: Tensors) -> Blocks:
    """What a header says of the leaves.

    Raises:
        ValueError: if it is not what it should be.
    """
    families = entries.get("families")
    if not isinstance(families, list):
        raise ValueError("the families of the leaves are not a list")
    together = entries.get("joint_families", [])
    if not isinstance(together, list):
        raise ValueError("the families of the leaves over several columns are not a list")
    gates = entries.get("gates", 0)
    if type(gates) is not int or not 0 <= gates <= len(tensors):
        raise ValueError("the number of blocks of gates is not a number")
    members = entries.get("members", [])
    if not isinstance(members, list) or not all(isinstance(one, dict) for one in members):
        raise ValueError("the members of the mixture are not a list")
    if _are_deep(members):
        raise ValueError(f"mixtures are inside each other on more than {DEEPEST} levels")
    return Blocks(families, together, gates, members)


def _are_deep(members: object, left: int = DEEPEST) -> bool:
    """Whether members of a mixture have members of their own, on more levels than are left."""
    if not isinstance(members, list) or not members:
        return False
    return left == 0 or any(_are_deep(m.get("members"), left - 1) for m in members if isinstance(m, dict))


def graph_from_tensors(
    tensors: Tensors, schema: Schema, blocks: Blocks, networks: Sequence[Network] = ()
) -> Graph:
    """The circuit of some arrays, whose leaves read these networks in their order.

    Raises:
        ValueError: naming what is wrong with it.
    """
    if len(networks) != blocks.families.count(NetworkOutput.name):
        raise ValueError("the networks are not a list with one for each block of their outputs")
    if blocks.members:
        return _read_members(tensors, schema, blocks.members)
    if "shape.root" in tensors and not (blocks.together or blocks.gates or networks):
        return _read_shape(tensors, schema, blocks.families)
    _check_names(tensors, blocks)
    kind, start, child, log_weight = (_tensor(tensors, name, dtype) for name, dtype in _GRAPH.items())
    outputs = (NetworkOutput(network) for network in networks)
    leaves = tuple(_block(tensors, number, family, outputs) for number, family in enumerate(blocks.families))
    joints = tuple(_joint(tensors, number, family) for number, family in enumerate(blocks.together))
    gated = tuple(_gates(tensors, number) for number in range(blocks.gates))
    features = known_features(_features(tensors), schema)
    return Graph(schema, kind, start, child, log_weight, leaves, features, joints, gated)


def _read_members(tensors: Tensors, schema: Schema, plain: Sequence[Any]) -> Graph:
    """The circuit of a file that stores the members of a mixture."""
    from tractable.formats.tract_mixtures import WEIGHTS

    inside = [below(tensors, f"member.{i}.") for i in range(len(plain))]
    taken = {f"member.{i}.{name}" for i, own in enumerate(inside) for name in own}
    _compare_names({name: tensors[name] for name in tensors if name not in taken}, {WEIGHTS})
    weights = _tensor(tensors, WEIGHTS, np.float64, 1)
    if weights.size != len(plain):
        raise ValueError(f"there are {weights.size} weights of {len(plain)} members")
    blocks = [read_blocks(one, own) for one, own in zip(plain, inside, strict=True)]
    graphs = [graph_from_tensors(own, schema, one) for one, own in zip(blocks, inside, strict=True)]
    return sum_circuits(graphs, weights)


def _read_shape(tensors: Tensors, schema: Schema, families: list[Any]) -> Graph:
    """The circuit of a file that stores the shape of its components once."""
    from tractable.formats.tract_mixtures import SHAPE, graph_from_shape

    names = [f"leaf.{number}.params" for number in range(len(families))]
    _compare_names(tensors, {*(f"shape.{name}" for name in SHAPE), *names})
    arrays = {n: _tensor(tensors, f"shape.{n}", dtype, size) for n, (dtype, size) in SHAPE.items()}
    leaves = [(_family(f), _tensor(tensors, n, np.float64)) for f, n in zip(families, names, strict=True)]
    return graph_from_shape(arrays, schema, leaves)


def _tensors(graph: Graph) -> Tensors:
    tensors: Tensors = {name: getattr(graph, name) for name in _GRAPH}
    for number, block in enumerate(graph.leaves):
        tensors |= {f"leaf.{number}.{name}": getattr(block, name) for name in _BLOCK}
    for number, joint in enumerate(graph.joints):
        tensors |= {f"joint.{number}.{name}": getattr(joint, name) for name in _JOINT}
    for number, gate in enumerate(graph.gates):
        names = (f"gate.{number}.{name}" for name in _GATE)
        tensors |= dict(zip(names, gate.arrays, strict=True))
    if graph.features is not None:
        tensors |= {f"feature.{name}": getattr(graph.features, name) for name in _FEATURES}
        if graph.features.ends is not None:
            tensors[_ENDS] = graph.features.ends
    return tensors


def _check_names(tensors: Tensors, blocks: Blocks) -> None:
    wanted = {*_GRAPH, *(f"leaf.{i}.{name}" for i in range(len(blocks.families)) for name in _BLOCK)}
    wanted |= {f"joint.{i}.{name}" for i in range(len(blocks.together)) for name in _JOINT}
    wanted |= {f"gate.{i}.{name}" for i in range(blocks.gates) for name in _GATE}
    features = {f"feature.{name}" for name in _FEATURES}
    if not features.isdisjoint(tensors):
        wanted |= features | ({_ENDS} & set(tensors))
    _compare_names(tensors, wanted)


def _compare_names(tensors: Tensors, wanted: set[str]) -> None:
    for name in sorted(wanted ^ set(tensors)):
        raise ValueError(f"the array '{name}' {'is missing' if name in wanted else 'does not belong here'}")


def _tensor(tensors: Tensors, name: str, dtype: Any, dimensions: int | None = None) -> AnyArray:
    array = tensors[name]
    if array.dtype != dtype:
        raise ValueError(f"the array '{name}' holds {array.dtype}, not {np.dtype(dtype)}")
    if dimensions is None:
        dimensions = _dimensions(name)
    if array.ndim != dimensions:
        raise ValueError(f"the array '{name}' has {array.ndim} dimensions, not {dimensions}")
    return array


def _dimensions(name: str) -> int:
    return 3 if name.endswith(".weights") else 2 if name.endswith((".params", ".columns", ".ends")) else 1


def _block(tensors: Tensors, number: int, family: object, outputs: Iterator[NetworkOutput]) -> LeafBlock:
    known = next(outputs) if family == NetworkOutput.name else _family(family)
    arrays = (_tensor(tensors, f"leaf.{number}.{name}", dtype) for name, dtype in _BLOCK.items())
    return LeafBlock(known, *arrays)


def _family(family: object) -> Family:
    if not isinstance(family, str) or family not in FAMILIES:
        raise ValueError(f"there is no family of leaves called {family!r}")
    return FAMILIES[family]


def _joint(tensors: Tensors, number: int, family: object) -> JointBlock:
    if not isinstance(family, str) or family not in JOINT_FAMILIES:
        raise ValueError(f"there is no family of leaves over several columns called {family!r}")
    arrays = (_tensor(tensors, f"joint.{number}.{name}", dtype) for name, dtype in _JOINT.items())
    return JointBlock(JOINT_FAMILIES[family], *arrays)


def _gates(tensors: Tensors, number: int) -> GateBlock:
    arrays = (_tensor(tensors, f"gate.{number}.{name}", dtype) for name, dtype in _GATE.items())
    return GateBlock.from_arrays(*arrays)


def _features(tensors: Tensors) -> FeatureTable | None:
    if "feature.node" not in tensors:
        return None
    ends = _tensor(tensors, _ENDS, np.float64) if _ENDS in tensors else None
    arrays = {n: _tensor(tensors, f"feature.{n}", dtype) for n, dtype in _FEATURES.items()}
    table = FeatureTable(**arrays, ends=ends)
    conditions = table.column.size
    if ends is not None and ends.shape != (conditions, 2):
        raise ValueError(f"the array '{_ENDS}' has the shape {ends.shape}, not {(conditions, 2)}")
    sizes = {
        "log_weight": table.node.size,
        "start": table.node.size + 1,
        "state": conditions,
        "equals": conditions,
    }
    for name, size in sizes.items():
        if getattr(table, name).size != size:
            raise ValueError(
                f"the array 'feature.{name}' has {getattr(table, name).size} entries, not {size}"
            )
    if not is_partition(table.start, conditions):
        raise ValueError("the conditions are not divided among the features in order")
    return table
