"""Circuits as readable text (`.json`): one node a line, children before parents, the root last.

The form is flat however deep the circuit. Infinite numbers are the texts "-inf" and "inf".
"""

from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tractable.base.arrays import AnyArray
from tractable.circuit.assemble import in_order
from tractable.circuit.blocks import Block, GateBlock, LeafBlock
from tractable.circuit.check import check_magnitudes
from tractable.circuit.codec import SECTIONS
from tractable.circuit.features import FeatureTable, known_features
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.data.schema import Schema
from tractable.formats.atomic import write_text
from tractable.formats.document import Document, check_circuit
from tractable.formats.features import Condition, FeatureLine, feature_table
from tractable.formats.header import VERSION, package_version, plain_schema, read_header, to_json

Leaf = tuple[int, dict[str, Any]]  # the number of its node, and its line
FEATURE = {"column", "state", "shift", "scale"}
GATE = {"leaf", "block", "regression", "outcome"}


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
    if graph.blocks_of(GateBlock):
        parts.append(f'"gates": {_list(_regression_lines(graph))}')
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
    for block in graph.blocks:
        if not isinstance(block, GateBlock):
            leaf |= _leaf_lines(block, names)
    leaf |= _gate_lines(graph)
    start, child, weight = graph.start.tolist(), graph.child.tolist(), graph.log_weight.tolist()
    for node, kind in enumerate(graph.kind.tolist()):
        edges = slice(start[node], start[node + 1])
        if kind == LEAF:
            yield leaf[node]
        elif kind == PRODUCT:
            yield f'{{"product": {child[edges]}}}'
        else:
            yield f'{{"sum": {child[edges]}, "log_weights": {_numbers(weight[edges])}}}'


def _leaf_lines(block: Block, names: list[str]) -> dict[int, str]:
    """The leaves of a block as JSON, by the numbers of their nodes: its arrays but for these."""
    texts = [[f'"leaf": "{block.name}"'] * block.node.size]
    for field, array in block.arrays.items():
        if field == "column":
            texts.append(["" if c < 0 else f'"column": {names[c]}' for c in array.tolist()])
        elif field == "columns":
            texts.append([f'"columns": [{", ".join(names[c] for c in line)}]' for line in array.tolist()])
        elif field != "node":
            as_text = _number if array.ndim == 1 else _numbers
            texts.append([f'"{field}": {as_text(line)}' for line in array.tolist()])
    lines = (", ".join(filter(None, parts)) for parts in zip(*texts, strict=True))
    return {node: f"{{{line}}}" for node, line in zip(block.node.tolist(), lines, strict=True)}


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
    leaves: dict[tuple[Any, ...], list[Leaf]] = {}
    gates: dict[int, Any] = {}
    for number, line in enumerate(nodes):
        if not isinstance(line, dict):
            raise ValueError(f"node {number} is not a leaf, a product or a sum")
        if "leaf" in line:
            if line["leaf"] == GateBlock.name:
                gates[number] = line
            else:
                sizes = (len(part) for part in line.values() if isinstance(part, list))
                leaves.setdefault((str(line["leaf"]), *sizes), []).append((number, line))
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
        in_order(
            [*(_block(lines, schema) for lines in leaves.values()), *_read_gates(regressions, gates, schema)]
        ),
        features,
    )


def _block(lines: list[Leaf], schema: Schema) -> Block:
    """The block of leaves of one name, whose lists are of the same lengths."""
    (first, line), *_ = lines
    section = SECTIONS[_section(line)]
    arrays: dict[str, AnyArray] = {"node": np.array([number for number, _ in lines], dtype=np.int64)}
    for field, (dtype, dimensions) in section.layout.items():
        if field != "node":
            values = [_values(number, line, field, dimensions, schema) for number, line in lines]
            shape = (len(lines), -1) if dimensions == 2 else (len(lines),)
            arrays[field] = np.array(values, dtype=dtype).reshape(shape)
    try:
        return section.decode(line["leaf"], arrays, schema)
    except ValueError as error:
        raise ValueError(f"node {first}: {error}") from None


def _section(line: dict[str, Any]) -> str:
    """The section of a line; that of leaves over one column by default."""
    fields = set(line) - {"leaf"}
    names = (name for name, section in SECTIONS.items() if fields == set(section.layout) - {"node"})
    return next(names, LeafBlock.section)


def _values(number: int, line: dict[str, Any], field: str, dimensions: int, schema: Schema) -> Any:
    """A field of a leaf; names of columns as their numbers."""
    value = line.get(field)
    if field == "column" and (value is None or isinstance(value, str)):
        return -1 if value is None else schema.column(value)
    if field == "column":
        raise ValueError(f"node {number}: the column is not a name")
    if field == "columns":
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise ValueError(f"node {number}: the columns are not a list of names")
        return schema.columns(value)
    return _floats(number, value) if dimensions == 2 else _floats(number, [value])[0]


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


# ---- gates: the regressions are a list of their own, and leaves name them by number ---------------------


def _regression_lines(graph: Graph) -> Iterator[str]:
    """The regressions of each block of gates, as JSON."""
    for block in graph.blocks_of(GateBlock):
        features = block.regressions.features
        columns = [graph.schema[int(c)].name for c in features.column]
        numbers = zip(
            columns, features.state.tolist(), features.shift.tolist(), features.scale.tolist(), strict=True
        )
        entries = [
            {"column": column, "state": None if state < 0 else state, "shift": shift, "scale": scale}
            for column, state, shift, scale in numbers
        ]
        yield to_json({"features": entries, "weights": block.regressions.weights.tolist()})


def _gate_lines(graph: Graph) -> dict[int, str]:
    """The gates as JSON, by the number of their node."""
    return {
        node: f'{{"leaf": "gate", "block": {number}, "regression": {regression}, "outcome": {outcome}}}'
        for number, block in enumerate(graph.blocks_of(GateBlock))
        for node, regression, outcome in zip(
            block.node.tolist(), block.regression.tolist(), block.outcome.tolist(), strict=True
        )
    }


def _read_gates(blocks: object, leaves: dict[int, Any], schema: Schema) -> tuple[GateBlock, ...]:
    """The gates of a file: its list of regressions, and the lines of the leaves that name them.

    Raises:
        ValueError: naming the node or the block of regressions that is wrong.
    """
    if not isinstance(blocks, list):
        raise ValueError("the regressions of gates are not a list")
    for node, line in leaves.items():
        numbers = [line.get(name) for name in ("block", "regression", "outcome")]
        if set(line) != GATE or not all(type(n) is int and 0 <= n < 2**62 for n in numbers):
            raise ValueError(f"node {node} is not a gate with the numbers of block, regression and outcome")
        if line["block"] >= len(blocks):
            raise ValueError(f"node {node}: there are no regressions number {line['block']}")
    return tuple(
        _gate_block(number, entry, {n: line for n, line in leaves.items() if line["block"] == number}, schema)
        for number, entry in enumerate(blocks)
    )


def _gate_block(number: int, told: object, leaves: dict[int, Any], schema: Schema) -> GateBlock:
    fault = ValueError(f"the regressions number {number} are not features and weights")
    if not isinstance(told, dict) or set(told) != {"features", "weights"}:
        raise fault
    features, weights = told["features"], told["weights"]
    if not isinstance(features, list) or not all(isinstance(f, dict) and set(f) == FEATURE for f in features):
        raise fault
    columns = np.array([schema.column(f["column"]) for f in features], dtype=np.int64)
    try:
        known = InputFeatures(
            columns,
            np.array([-1 if f["state"] is None else f["state"] for f in features], dtype=np.int64),
            np.array([f["shift"] for f in features], dtype=np.float64),
            np.array([f["scale"] for f in features], dtype=np.float64),
        )
        regressions = SoftmaxRegressions(known, np.array(weights, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise fault from None
    node = sorted(leaves)
    regression, outcome = (
        np.array([leaves[n][name] for n in node], dtype=np.int64) for name in ("regression", "outcome")
    )
    return GateBlock(regressions, np.array(node, dtype=np.int64), regression, outcome)
