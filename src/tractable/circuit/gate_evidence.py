"""Gates once some inputs are known."""

from collections.abc import Mapping
from dataclasses import replace

from tractable.base.arrays import Floats
from tractable.circuit.fold import LeafNumbers
from tractable.circuit.graph import GateBlock, Graph
from tractable.data.regions import Region


def observe_gates(graph: Graph, row: Floats, within: Mapping[int, Region], numbers: LeafNumbers) -> Graph:
    """The graph with its gates given the inputs that one row knows.

    Gates of which all inputs are known become numbers, others are regressions on the inputs that are left.

    Raises:
        ValueError: if an input of a gate is known to lie in a region only.
    """
    blocks: list[GateBlock] = []
    for block in graph.gates:
        _refuse_regions(graph, block, within)
        rest = replace(block, regressions=block.regressions.given(row))
        if len(rest.regressions.features):
            blocks.append(rest)
            continue
        numbers.log_value[block.node] = rest.log_values(row[None])[:, 0]
        numbers.known[block.node] = True
        blocks.append(block)
    return replace(graph, gates=tuple(blocks)) if blocks else graph


def _refuse_regions(graph: Graph, block: GateBlock, within: Mapping[int, Region]) -> None:
    for column in block.regressions.features.columns.tolist():
        if column in within:
            raise ValueError(
                f"column '{graph.schema[column].name}' is an input that a regression depends on: it must have"
                " a value, not a region"
            )
