"""Circuits as readable text (`.json`): one node a line, children before parents, the root last.

The form is flat however deep the circuit. Infinite numbers are the texts "-inf" and "inf".
"""

from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tractable.circuit.assemble import renumbered_blocks
from tractable.circuit.check import check_magnitudes
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import LEAF, PRODUCT, SUM, GateBlock, Graph, JointBlock, LeafBlock
from tractable.circuit.leaves import FAMILIES
from tractable.circuit.leaves.multivariate import JOINT_FAMILIES
from tractable.data.schema import Schema
from tractable.formats.atomic import write_text
from tractable.formats.check import check_circuit
from tractable.formats.document import Document
from tractable.formats.features import Condition, FeatureLine, feature_table, known_features
from tractable.formats.header import VERSION, package_version, plain_schema, read_header, to_json
from tractable.formats.readable_gates import gate_leaves, read_gates, regression_lines

Leaf = tuple[int, int, list[float]]  # node, column, parameters


def write_json(document: Document, path: Path) -> None:
    """Save a circuit as text that a person can read."""
    check_magnitudes(document.graph)  # what is written can be read
    graph = document.graph
    parts = [
        '"format": "tractable circuit"',
        f'"version": {VERSION}',
        f'"package": {to_json(package_version())}',
        f'"about": {to_json(document.about)}',
        f'"schema": {_list(map(to_json, plain_schema(graph.schema)))}',
        f'"nodes": {_list(_node_lines(graph))}',
    ]
    if graph.features is not None:
        parts.append(f'"features": {_list(_feature_lines(graph.features, graph.schema))}')
    if graph.gates:
        parts.append(f'"gates": {_list(regression_lines(graph))}')
    write_text(path, "{" + ",\n".join(parts) + "}\n")


def read_json(path: Path) -> Document:
    """The circuit of a .json file.

    Raises:
        ValueError: naming the node that is wrong.
    """
    schema, about, entries = read_header(path.read_bytes())
    nodes = entries.get("nodes")
    if not isinstance(nodes, list):
        raise ValueError("the nodes are not a list")
    features = _feature_table(entries["features"], schema) if "features" in entries else None
    graph = _graph(schema, nodes, features, entries.get("gates", []))
    check_circuit(graph)
    return Document(graph, about)


def _list(lines: Iterator[str]) -> str:
    return "[\n" + ",\n".join(lines) + "\n]"


def _number(value: float) -> str:
    return repr(value) if isfinite(value) else f'"{value!r}"'


def _numbers(values: list[float]) -> str:
    return f"[{', '.join(map(_number, values))}]"


def _node_lines(graph: Graph) -> Iterator[str]:
    leaf: dict[int, str] = {}
    names = [to_json(name) for name in graph.schema.names]
    for block in graph.leaves:
        lines = zip(block.node.tolist(), block.column.tolist(), block.params.tolist(), strict=True)
        for node, column, params in lines:
            where = "" if column < 0 else f'"column": {names[column]}, '
            leaf[node] = f'{{"leaf": "{block.family.name}", {where}"params": {_numbers(params)}}}'
    for joint in graph.joints:
        over = zip(joint.node.tolist(), joint.columns.tolist(), joint.params.tolist(), strict=True)
        for node, columns, params in over:
            where = ", ".join(names[c] for c in columns)
            leaf[node] = (
                f'{{"leaf": "{joint.family.name}", "columns": [{where}], "params": {_numbers(params)}}}'
            )
    leaf |= gate_leaves(graph)
    start, child, weight = graph.start.tolist(), graph.child.tolist(), graph.log_weight.tolist()
    for node, kind in enumerate(graph.kind.tolist()):
        edges = slice(start[node], start[node + 1])
        if kind == LEAF:
            yield leaf[node]
        elif kind == PRODUCT:
            yield f'{{"product": {child[edges]}}}'
        else:
            yield f'{{"sum": {child[edges]}, "log_weights": {_numbers(weight[edges])}}}'


def _feature_lines(features: FeatureTable, schema: Schema) -> Iterator[str]:
    for i in range(len(features)):
        conditions = [
            [schema[int(features.column[c])].name, _asked(features, c), bool(features.equals[c])]
            for c in range(features.start[i], features.start[i + 1])
        ]
        weight = _number(float(features.log_weight[i]))
        yield f'{{"node": {features.node[i]}, "log_weight": {weight}, "conditions": {to_json(conditions)}}}'


def _asked(features: FeatureTable, condition: int) -> int | list[float]:
    """A state, or the ends of an interval of a numeric column."""
    state = int(features.state[condition])
    return state if state >= 0 or features.ends is None else features.ends[condition].tolist()


def _graph(schema: Schema, nodes: list[object], features: FeatureTable | None, regressions: object) -> Graph:
    kind, degree = [], []
    child: list[int] = []
    weight: list[float] = []
    leaves: dict[tuple[str, int], list[Leaf]] = {}
    joints: list[JointBlock] = []
    gates: dict[int, Any] = {}
    for number, line in enumerate(nodes):
        if not isinstance(line, dict):
            raise ValueError(f"node {number} is not a leaf, a product or a sum")
        if "leaf" in line and ("columns" in line or line["leaf"] == GateBlock.name):
            if line["leaf"] == GateBlock.name:
                gates[number] = line
            else:
                joints.append(_joint(number, line, schema))
            kind.append(LEAF)
            degree.append(0)
            continue
        if "leaf" in line:
            family, column, params = _leaf(number, line, schema)
            leaves.setdefault((family, len(params)), []).append((number, column, params))
            kind.append(LEAF)
            degree.append(0)
            continue
        children, weights = _inner(number, line)
        kind.append(SUM if "sum" in line else PRODUCT)
        degree.append(len(children))
        child += children
        weight += weights
    return Graph(
        schema,
        np.array(kind, dtype=np.uint8),
        np.concatenate([[0], np.cumsum(degree)]).astype(np.int64),
        np.array(child, dtype=np.int64),
        np.array(weight, dtype=np.float64),
        tuple(_block(family, lines) for (family, _), lines in leaves.items()),
        features,
        renumbered_blocks(joints, np.arange(len(nodes)))[1],
        read_gates(regressions, gates, schema),
    )


def _leaf(number: int, line: dict[str, Any], schema: Schema) -> tuple[str, int, list[float]]:
    family, name = line["leaf"], line.get("column")
    if not isinstance(family, str) or family not in FAMILIES:
        raise ValueError(f"node {number}: there is no family of leaves called {family!r}")
    if name is not None and not isinstance(name, str):
        raise ValueError(f"node {number}: the column is not a name")
    return family, -1 if name is None else schema.column(name), _floats(number, line.get("params"))


def _joint(number: int, line: dict[str, Any], schema: Schema) -> JointBlock:
    family, names = line["leaf"], line["columns"]
    if not isinstance(family, str) or family not in JOINT_FAMILIES:
        raise ValueError(f"node {number}: no family of leaves over several columns is called {family!r}")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"node {number}: the columns are not a list of names")
    columns = np.array([schema.columns(names)], dtype=np.int64)
    params = np.array([_floats(number, line.get("params"))], dtype=np.float64)
    return JointBlock(JOINT_FAMILIES[family], np.array([number]), columns, params)


def _inner(number: int, line: dict[str, Any]) -> tuple[list[int], list[float]]:
    if ("sum" in line) == ("product" in line):
        raise ValueError(f"node {number} is not a leaf, a product or a sum")
    children = line["sum"] if "sum" in line else line["product"]
    if not isinstance(children, list) or not all(type(c) is int and 0 <= c < number for c in children):
        raise ValueError(f"node {number}: its children are not a list of nodes before it")
    weights = _floats(number, line.get("log_weights")) if "sum" in line else [0.0] * len(children)
    if len(weights) != len(children):
        raise ValueError(f"node {number} has {len(children)} children and {len(weights)} weights")
    return children, weights


def _floats(number: int, values: object) -> list[float]:
    if not isinstance(values, list) or not all(
        type(v) in (int, float) or v in ("inf", "-inf") for v in values
    ):
        raise ValueError(f"node {number}: a list of numbers is expected, not {str(values)[:40]!r}")
    try:
        return [float(v) for v in values]
    except OverflowError:
        raise ValueError(f"node {number}: a number is too large") from None


def _block(family: str, lines: list[Leaf]) -> LeafBlock:
    return LeafBlock(
        FAMILIES[family],
        np.array([node for node, _, _ in lines], dtype=np.int64),
        np.array([column for _, column, _ in lines], dtype=np.int64),
        np.array([params for _, _, params in lines], dtype=np.float64).reshape(len(lines), -1),
    )


def _feature_table(lines: object, schema: Schema) -> FeatureTable | None:
    if not isinstance(lines, list):
        raise ValueError("the features are not a list")
    table = feature_table([_feature(number, line, schema) for number, line in enumerate(lines)])
    return known_features(table, schema)


def _feature(number: int, line: object, schema: Schema) -> FeatureLine:
    if not isinstance(line, dict) or set(line) != {"node", "log_weight", "conditions"}:
        raise ValueError(f"feature {number} is not a node, a log_weight and conditions")
    node, conditions = line["node"], line["conditions"]
    if type(node) is not int or not -1 <= node < 2**62 or not isinstance(conditions, list):
        raise ValueError(f"feature {number} is not a node, a log_weight and conditions")
    return node, _floats(number, [line["log_weight"]])[0], [_condition(number, c, schema) for c in conditions]


def _condition(number: int, condition: object, schema: Schema) -> Condition:
    if isinstance(condition, list) and [type(part) for part in condition] == [str, int, bool]:
        name, state, equals = condition
        if 0 <= state < 2**62:
            return schema.column(name), state, equals
    if isinstance(condition, list) and [type(part) for part in condition] == [str, list, bool]:
        name, ends, equals = condition
        if len(ends) == 2:
            low, high = _floats(number, ends)
            return schema.column(name), (low, high), equals
    raise ValueError(f"feature {number}: a condition is [column, state number or [low, high], true or false]")
