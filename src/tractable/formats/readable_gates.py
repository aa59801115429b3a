"""Gates in a .json file: the regressions as a list of their own, and leaves that name them by number."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tractable.circuit.blocks import GateBlock
from tractable.circuit.graph import Graph
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.data.schema import Schema
from tractable.formats.header import to_json

FEATURE = {"column", "state", "shift", "scale"}
GATE = {"leaf", "block", "regression", "outcome"}


def regression_lines(graph: Graph) -> Iterator[str]:
    """The regressions of each block of gates, as JSON."""
    for block in graph.blocks_of(GateBlock):
        features = block.regressions.features
        columns = [graph.schema[int(c)].name for c in features.column]
        numbers = zip(
            columns, features.state.tolist(), features.shift.tolist(), features.scale.tolist(), strict=True
        )
        told = [
            {"column": column, "state": None if state < 0 else state, "shift": shift, "scale": scale}
            for column, state, shift, scale in numbers
        ]
        yield to_json({"features": told, "weights": block.regressions.weights.tolist()})


def gate_leaves(graph: Graph) -> dict[int, str]:
    """The gates as JSON, by the number of their node."""
    return {
        node: f'{{"leaf": "gate", "block": {number}, "regression": {regression}, "outcome": {outcome}}}'
        for number, block in enumerate(graph.blocks_of(GateBlock))
        for node, regression, outcome in zip(
            block.node.tolist(), block.regression.tolist(), block.outcome.tolist(), strict=True
        )
    }


def read_gates(blocks: object, leaves: dict[int, Any], schema: Schema) -> tuple[GateBlock, ...]:
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
        _block(number, told, {n: line for n, line in leaves.items() if line["block"] == number}, schema)
        for number, told in enumerate(blocks)
    )


def _block(number: int, told: object, leaves: dict[int, Any], schema: Schema) -> GateBlock:
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
