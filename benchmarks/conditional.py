"""How fast a growing conditional circuit is swept, beside the engine's marginals on a circuit of that size.

A circuit over binary targets is grown by cheap random splits. One pass of expectations over all distinct rows
of inputs, and one with evidence, take turns with the marginals of a random circuit in one process and on one
thread. The best of several turns counts, in CPU time, so that the ratio holds on a busy machine. A pass of
expectations should be at least half as fast.

    python benchmarks/conditional.py [--quick] [--json]
"""

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
from circuits import random_graph

from tractable.base.arrays import Floats
from tractable.base.threads import use_threads
from tractable.engine import posteriors
from tractable.learning.conditional.field.expectations import RowEvaluator
from tractable.learning.conditional.field.rows import ConditionalRows
from tractable.learning.conditional.field.structure import ConditionalStructure

SIZES = (1_000, 10_000, 60_000)  # edges
TARGETS, INPUTS, ROWS = 50, 50, 3000
DEAREST = 0.2  # part of the wanted edges that one split may add


def random_rows(rng: np.random.Generator, rows: int) -> ConditionalRows:
    """Rows of binary targets and inputs, each a group of its own."""
    return ConditionalRows(
        target_states=np.full(TARGETS, 2),
        input_states=np.full(INPUTS, 2),
        targets=rng.integers(0, 2, (rows, TARGETS)),
        weight=np.ones(rows),
        group=np.arange(rows),
        inputs=rng.integers(0, 2, (rows, INPUTS)),
        group_weight=np.ones(rows),
    )


def grown_structure(rng: np.random.Generator, edges: int) -> ConditionalStructure:
    """A chain of targets, whose states are split on random targets until the circuit is large enough."""
    structure = ConditionalStructure(np.full(TARGETS, 2), np.full(INPUTS, 2))
    for target in range(TARGETS - 1):
        structure.split(2 * target + 1, target + 1)
        structure.split(2 * target + 1, TARGETS + target)
    while structure.circuit.edges < edges:
        item, column = int(rng.integers(2 * TARGETS)), int(rng.integers(TARGETS))
        limit = int(DEAREST * edges)
        if structure.is_allowed(item, column) and structure.edge_cost(item, column, limit) <= limit:
            structure.split(item, column)
    return structure


def best_times(ways: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """The best CPU time of each way in seconds; all take turns, after one that compiles."""
    best = dict.fromkeys(ways, np.inf)
    for turn in range(turns + 1):
        for name, way in ways.items():
            begin = time.process_time()
            way()
            if turn:
                best[name] = min(best[name], time.process_time() - begin)
    return best


def compare(edges: int, rows: int, turns: int) -> dict[str, float]:
    """Edge-rows a second, in thousand millions, and the ratio that is wanted to be at least 0.5."""
    rng = np.random.default_rng(edges)
    structure = grown_structure(rng, edges)
    evaluator = RowEvaluator(structure, random_rows(rng, rows))
    weights: Floats = 0.1 * rng.normal(size=structure.items)
    graph = random_graph(rng, 2 * TARGETS, edges)
    half = np.where(rng.random((rows, 2 * TARGETS)) < 0.5, np.nan, rng.integers(0, 2, (rows, 2 * TARGETS)))
    ways: dict[str, Callable[[], object]] = {
        "expectations": lambda: evaluator.evaluate(weights.copy()),  # a copy has no parameters kept
        "expectations with evidence": lambda: evaluator.target_states(weights, 0),
        "marginals of the engine": lambda: posteriors(graph, half, threads=1),
    }
    sizes = (structure.circuit.edges, structure.circuit.edges, graph.edges)
    times = best_times(ways, turns)
    speed = {name: size * rows / times[name] / 1e9 for name, size in zip(ways, sizes, strict=True)}
    return speed | {"ratio": speed["expectations"] / speed["marginals of the engine"]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, few turns")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    rows, turns, sizes = (256, 2, SIZES[:1]) if options.quick else (ROWS, 5, SIZES)
    with use_threads(1):
        report = {f"{edges:,} edges, {rows:,} rows": compare(edges, rows, turns) for edges in sizes}
    if options.json:
        print(json.dumps(report))
        return
    for heading, figures in report.items():
        print(heading)
        for name, figure in figures.items():
            print(f"  {name:<28}{figure:8.3f}")


if __name__ == "__main__":
    main()
