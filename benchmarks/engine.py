"""How fast the engine sweeps, beside a plain log-sum-exp loop and beside a multiply-add loop in cache.

All ways take turns in one process and the best of several turns counts, so that ratios hold on a busy
machine.

    python benchmarks/engine.py [--quick] [--json]
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from tractable.arrays import Bytes, Floats, Ints
from tractable.circuit.graph import PRODUCT, Graph
from tractable.circuit.random import random_graph
from tractable.engine import completions, log_values, posteriors, samples

SIZES = ((100, 10_000), (200, 100_000), (400, 1_000_000))  # (variables, edges)
ROWS = 3000
LOOP_TILE = 64
RESIDENT = 32  # lines of the multiply-add loop: 16 KB with 64 rows each
WANTED = {
    "log_prob / log-sum-exp loop": "at least 8",
    "log_prob / multiply-add in cache": "at least 0.40",
    "marginals, in log_prob": "at most 3",
}


class Ways(NamedTuple):
    """A circuit, rows and the ways to sweep it that are compared; each is called with a number of threads."""

    edge_rows: float
    ways: dict[str, Callable[[int], object]]


# ---- what we compare with ------------------------------------------------------------------------------


@njit(nogil=True)
def log_sum_exp_sweep(kind: Bytes, start: Ints, child: Ints, log_weight: Floats, value: Floats) -> None:
    """Every node's logarithm for one tile, node by node: the loop one writes first. `value` has leaves."""
    for node in range(kind.size):
        first, last = start[node], start[node + 1]
        if first == last:
            continue
        for r in range(value.shape[1]):
            if kind[node] == PRODUCT:
                total = 0.0
                for e in range(first, last):
                    total += value[child[e], r]
                value[node, r] = total
                continue
            top = -np.inf
            for e in range(first, last):
                top = max(top, value[child[e], r] + log_weight[e])
            total = 0.0
            if top > -np.inf:
                for e in range(first, last):
                    total += np.exp(value[child[e], r] + log_weight[e] - top)
            value[node, r] = top + np.log(total) if total > 0.0 else -np.inf


def log_sum_exp_loop(graph: Graph, rows: Floats) -> Callable[[], None]:
    """A function that sweeps as many tiles as the rows fill; the leaves are worked out beforehand, once."""
    value = np.zeros((graph.nodes, LOOP_TILE))
    for block in graph.leaves:
        value[block.node] = block.family.log_prob(block.params, rows[:LOOP_TILE].T[block.column])

    def sweep() -> None:
        for _ in range(0, len(rows), LOOP_TILE):
            log_sum_exp_sweep(graph.kind, graph.start, graph.child, graph.log_weight, value)

    return sweep


@njit(nogil=True, fastmath={"contract"})
def multiply_adds(operands: int, weight: Floats, value: Floats, total: Floats) -> None:
    """`operands` multiply-adds a row over lines that stay in the first cache."""
    for k in range(operands):
        line = np.uint32(k) % np.uint32(value.shape[0])
        w = weight[line]
        for r in range(total.size):
            total[r] += w * value[line, r]


def multiply_add_loop(operands: int, rows: int) -> Floats:
    """As many multiply-adds as a circuit has edges, for as many rows."""
    rng = np.random.default_rng(0)
    value, weight, total = rng.random((RESIDENT, LOOP_TILE)), rng.random(RESIDENT), np.zeros(LOOP_TILE)
    for _ in range(0, rows, LOOP_TILE):
        multiply_adds(operands, weight, value, total)
    return total


# ---- measuring -----------------------------------------------------------------------------------------


def prepare(variables: int, edges: int, rows: int) -> Ways:
    """A random circuit with rows that are complete and rows whose cells are half missing."""
    rng = np.random.default_rng(edges)
    graph = random_graph(rng, variables, edges)
    full = rng.integers(0, 2, (rows, variables)).astype(np.float64)
    half = np.where(rng.random(full.shape) < 0.5, np.nan, full)
    loop = log_sum_exp_loop(graph, full[: loop_rows(rows)])
    ways: dict[str, Callable[[int], object]] = {
        "log_prob": lambda threads: log_values(graph, full, threads=threads),
        "log_prob, half missing": lambda threads: log_values(graph, half, threads=threads),
        "marginals": lambda threads: posteriors(graph, half, threads=threads),
        "most probable": lambda threads: completions(graph, half, threads=threads),
        "draws": lambda threads: completions(graph, half, 1, threads=threads),
        "log-sum-exp loop": lambda _: loop(),
        "multiply-add in cache": lambda _: multiply_add_loop(graph.edges, rows),
    }
    return Ways(float(graph.edges) * rows, ways)


def loop_rows(rows: int) -> int:
    """How many rows the log-sum-exp loop sweeps: it is too slow for all of them."""
    return max(rows // 10 // LOOP_TILE, 1) * LOOP_TILE


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def best_times(ways: Ways, threads: int, turns: int) -> dict[str, float]:
    """The best time of every way, all ways taking turns."""
    best = dict.fromkeys(ways.ways, np.inf)
    for _ in range(turns):
        for name, way in ways.ways.items():
            best[name] = min(best[name], seconds(lambda way=way: way(threads)))  # type: ignore[misc]
    return best


def compare(variables: int, edges: int, rows: int, threads: int, turns: int) -> dict[str, float]:
    """Edge-rows a second of every way, in thousand millions, and the ratios that are wanted."""
    ways = prepare(variables, edges, rows)
    for way in ways.ways.values():
        way(threads)
    speed = {name: ways.edge_rows / t / 1e9 for name, t in best_times(ways, threads, turns).items()}
    speed["log-sum-exp loop"] *= loop_rows(rows) / rows
    speed["log_prob / log-sum-exp loop"] = speed["log_prob"] / speed["log-sum-exp loop"]
    speed["log_prob / multiply-add in cache"] = speed["log_prob"] / speed["multiply-add in cache"]
    speed["marginals, in log_prob"] = speed["log_prob, half missing"] / speed["marginals"]
    return speed


def latencies(turns: int) -> dict[str, float]:
    """Milliseconds for one warm question about one row on 10,000 edges."""
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 100, 10_000)
    row = np.where(rng.random((1, 100)) < 0.5, np.nan, rng.integers(0, 2, (1, 100)))
    ways: dict[str, Callable[[int], object]] = {
        "log_prob of a row": lambda threads: log_values(graph, row, threads=threads),
        "marginals of a row": lambda threads: posteriors(graph, row, threads=threads),
        "most probable completion": lambda threads: completions(graph, row, threads=threads),
        "a draw": lambda threads: samples(graph, row[0], 1, 0, threads=threads),
        "1,000 draws": lambda threads: samples(graph, row[0], 1000, 0, threads=threads),
    }
    best = best_times(Ways(1.0, ways), 1, 20 * turns)
    return {name: 1e3 * t for name, t in best.items()}


MEMORY = """
import resource, sys
import numpy as np
from tractable.circuit.random import random_graph
from tractable.engine import log_values
edges, rows = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
graph = random_graph(rng, 400, edges)
log_values(graph, rng.integers(0, 2, (rows, 400), dtype=np.uint8).astype(np.float64))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def peak_memory(edges: int, rows: int) -> float:
    """Gigabytes that a process needs at most to score rows."""
    command = [sys.executable, "-c", MEMORY, str(edges), str(rows)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


# ---- reporting -----------------------------------------------------------------------------------------


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """All figures, under a heading each."""
    turns, rows = (3, 512) if quick else (7, ROWS)
    report: dict[str, dict[str, float]] = {}
    for variables, edges in SIZES[: 2 if quick else 3]:
        for threads in (1, 2):
            heading = f"{edges:,} edges, {rows:,} rows, {threads} thread{'s' if threads > 1 else ''}"
            report[heading] = compare(variables, edges, rows, threads, turns if edges < 1_000_000 else 3)
    report["milliseconds, 10,000 edges, warm"] = latencies(turns)
    size = (100_000, 10_000) if quick else (1_000_000, 100_000)
    report["peak memory"] = {f"GB, {size[1]:,} rows, {size[0]:,} edges": peak_memory(*size)}
    return report


def show(report: dict[str, dict[str, float]]) -> str:
    """The figures as text: speeds in 10^9 edge-rows a second, ratios with what is wanted of them."""
    lines = []
    for heading, figures in report.items():
        lines.append(heading)
        for name, figure in figures.items():
            wanted = f"   (wanted on one thread: {WANTED[name]})" if name in WANTED else ""
            lines.append(f"  {name:<34}{figure:8.3f}{wanted}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, few turns")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    report = measure(options.quick)
    print(json.dumps(report) if options.json else show(report))


if __name__ == "__main__":
    main()
