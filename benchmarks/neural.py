"""Gradients through a grown circuit: a compiled function beside the same circuit as operations of torch.

Two ways to write a circuit as operations of torch are timed: one operation for each node, and one gather and
one sum for all nodes of a kind at the same height. Needs the extra `neural`.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tractable.circuit.blocks import FactorBlock
from tractable.circuit.graph import LEAF, PRODUCT, Graph
from tractable.learning.conditional.field.structure import ConditionalStructure
from tractable.learning.conditional.networks.training import TargetCircuit, log_partition, potential_graph


def grown(targets: int, splits: int, seed: int = 0) -> ConditionalStructure:
    """A circuit over binary targets after random splits on neighbours."""
    rng = np.random.default_rng(seed)
    structure = ConditionalStructure(np.full(targets, 2), np.zeros(0, dtype=np.int64))
    while structure.splits < splits:
        item = int(rng.integers(2 * targets))
        column = (item // 2 + int(rng.integers(1, 3))) % targets
        if structure.is_allowed(item, column):
            structure.split(item, column)
    return structure


def leaf_columns(graph: Graph) -> Any:
    """The column of each potential's leaf, -1 elsewhere."""
    column = np.full(graph.nodes, -1)
    for block in graph.blocks_of(FactorBlock):
        column[block.node] = block.column
    return column


def node_by_node(graph: Graph, targets: int) -> Callable[[Any], Any]:
    """log Z from the logarithms of all parameters, (rows, params), one operation a node."""
    column = leaf_columns(graph)

    def run(params: Any) -> Any:
        zero = params.new_zeros(len(params))
        value: list[Any] = []
        for node in range(graph.nodes):
            below = [value[c] for c in graph.child[graph.start[node] : graph.start[node + 1]]]
            if graph.kind[node] == LEAF:
                value.append(params[:, column[node] - targets] if column[node] >= 0 else zero)
            elif graph.kind[node] == PRODUCT:
                value.append(sum(below[1:], start=below[0]))
            else:
                value.append(torch.logsumexp(torch.stack(below), dim=0))
        return value[-1]

    return run


def by_height(graph: Graph, targets: int) -> Callable[[Any], Any]:
    """The same with all nodes of a kind at the same height together; the widest node decides the padding."""
    height = np.zeros(graph.nodes, dtype=np.int64)
    for node in range(graph.nodes):
        below = graph.child[graph.start[node] : graph.start[node + 1]]
        height[node] = height[below].max() + 1 if below.size else 0
    column, place, levels = leaf_columns(graph), np.full(graph.nodes, -1), []
    leaves = np.flatnonzero(graph.kind == LEAF)
    place[leaves] = np.arange(leaves.size)
    filled = int(leaves.size)
    for h in range(1, int(height.max()) + 1):
        for kind in np.unique(graph.kind[height == h]):
            nodes = np.flatnonzero((height == h) & (graph.kind == kind))
            degree = np.diff(graph.start)[nodes]
            table = np.full((nodes.size, int(degree.max())), -1)
            for line, node in enumerate(nodes.tolist()):
                table[line, : degree[line]] = place[graph.child[graph.start[node] : graph.start[node + 1]]]
            place[nodes] = filled + np.arange(nodes.size)
            filled += int(nodes.size)
            levels.append((int(kind), torch.from_numpy(table)))
    params_of = torch.from_numpy(np.where(column[leaves] >= 0, column[leaves] - targets, -1))

    def run(params: Any) -> Any:
        padded = torch.cat([params.T, params.new_zeros(1, len(params))])
        value = padded[params_of]
        for kind, table in levels:
            neutral = value.new_full((1, len(params)), 0.0 if kind == PRODUCT else -torch.inf)
            below = torch.cat([value, neutral])[table]
            value = torch.cat([value, below.sum(dim=1) if kind == PRODUCT else torch.logsumexp(below, dim=1)])
        return value[-1]

    return run


def seconds(call: Callable[[], object], least: float) -> float:
    """The processor time of one call, the best of several."""
    call()
    best, spent = np.inf, 0.0
    while spent < least:
        begun = time.process_time()
        call()
        took = time.process_time() - begun
        best, spent = min(best, took), spent + took
    return float(best)


def measure(targets: int, splits: int, rows: int, least: float) -> dict[str, Any]:
    """Milliseconds of value and gradients, and that all ways agree."""
    structure = grown(targets, splits)
    graph, circuit, rng = potential_graph(structure), TargetCircuit(structure), np.random.default_rng(1)
    potentials = torch.tensor(rng.normal(size=(rows, 2 * targets)), requires_grad=True)
    weights = torch.tensor(rng.normal(size=structure.items) * 0.1, requires_grad=True)

    layered = by_height(graph, targets)

    def all_params() -> Any:
        params = weights.expand(rows, -1)
        return torch.cat([params[:, : 2 * targets] + potentials, params[:, 2 * targets :]], dim=1)

    ways: dict[str, Callable[[], Any]] = {
        "compiled": lambda: log_partition(potentials, weights, circuit),
        "torch, node by node": lambda: node_by_node(graph, targets)(all_params()),
        "torch, by height": lambda: layered(all_params()),
    }
    found: dict[str, Any] = {"targets": targets, "edges": graph.edges, "rows": rows}
    slopes = []
    for name, way in ways.items():

        def step(way: Callable[[], Any] = way) -> Any:
            potentials.grad = weights.grad = None
            way().sum().backward()
            return potentials.grad

        found[name] = 1000 * seconds(step, least)
        slopes.append(step().clone())
    found["agree"] = all(bool(torch.allclose(one, slopes[0], atol=1e-9)) for one in slopes)
    found["ratio"] = min(found[name] for name in list(ways)[1:]) / found["compiled"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="one small circuit")
    options = parser.parse_args()
    torch.set_num_threads(1)
    sizes = [(6, 5, 16)] if options.quick else [(14, 14, 64), (20, 30, 64)]
    found = [measure(*size, 0.05 if options.quick else 1.0) for size in sizes]
    print(json.dumps(found) if options.json else "\n".join(map(str, found)))


if __name__ == "__main__":
    main()
