"""How fast the engine sweeps, beside a plain log-sum-exp loop and beside a multiply-add loop in cache.

All ways take turns in one process and the best of several turns counts, so that ratios hold on a busy
machine.

    python benchmarks/engine.py [--quick] [--json]
    python benchmarks/engine.py --beside OTHER/src [--only NAME] [--turns 7]

The second form prints the CPU time of every question, in milliseconds, in this version and in another one,
whose source is in a folder, and the ratio of this one's time to the other's.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from beside import ratios, serve
from circuits import random_graph
from numba import njit
from shapes import chain, wide_sum

from tractable.base.arrays import Bytes, Floats, Ints
from tractable.circuit.graph import PRODUCT, Graph
from tractable.engine import completions, log_values, posteriors, samples
from tractable.engine.expectations import Expecter

SIZES = ((100, 10_000), (200, 100_000), (400, 1_000_000))  # (variables, edges)
ROWS = 3000
DEEP, WIDE = "chain of 30,000 nodes", "sum of 20,000 products"
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
    for block in graph.blocks:
        value[block.node] = block.log_values(rows[:LOOP_TILE], graph.schema)

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


def prepare(graph: Graph, rows: int) -> Ways:
    """Rows that are complete and rows whose cells are half missing, and what is asked about them."""
    full, half = random_rows(graph, rows)
    loop = log_sum_exp_loop(graph, full[: loop_rows(rows)])
    ways: dict[str, Callable[[int], object]] = {
        **questions(graph, full, half),
        "log-sum-exp loop": lambda _: loop(),
        "multiply-add in cache": lambda _: multiply_add_loop(graph.edges, rows),
    }
    return Ways(float(graph.edges) * rows, ways)


def random_rows(graph: Graph, rows: int) -> tuple[Floats, Floats]:
    """Random rows over binary columns, and the same with half of the cells missing."""
    rng = np.random.default_rng(graph.edges)
    full = rng.integers(0, 2, (rows, len(graph.schema))).astype(np.float64)
    return full, np.where(rng.random(full.shape) < 0.5, np.nan, full)


def questions(graph: Graph, full: Floats, half: Floats) -> dict[str, Callable[[int], object]]:
    """What is asked about a circuit, by name."""
    return {
        "log_prob": lambda threads: log_values(graph, full, threads=threads),
        "log_prob, half missing": lambda threads: log_values(graph, half, threads=threads),
        "marginals": lambda threads: posteriors(graph, half, threads=threads),
        "most probable": lambda threads: completions(graph, half, threads=threads),
        "draws": lambda threads: completions(graph, half, 1, threads=threads),
    }


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


def compare(graph: Graph, rows: int, threads: int, turns: int) -> dict[str, float]:
    """Edge-rows a second of every way, in thousand millions, and the ratios that are wanted."""
    ways = prepare(graph, rows)
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
    ways = single_questions()
    best = best_times(Ways(1.0, ways), 1, 20 * turns)
    return {name: 1e3 * t for name, t in best.items()}


def single_questions() -> dict[str, Callable[[int], object]]:
    """Questions about one row on 10,000 edges, by name."""
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 100, 10_000)
    row = np.where(rng.random((1, 100)) < 0.5, np.nan, rng.integers(0, 2, (1, 100)))
    return {
        "log_prob of a row": lambda threads: log_values(graph, row, threads=threads),
        "marginals of a row": lambda threads: posteriors(graph, row, threads=threads),
        "most probable completion": lambda threads: completions(graph, row, threads=threads),
        "a draw": lambda threads: samples(graph, row[0], 1, 0, threads=threads),
        "1,000 draws": lambda threads: samples(graph, row[0], 1000, 0, threads=threads),
    }


# ---- two versions --------------------------------------------------------------------------------------


def shapes() -> dict[str, tuple[Callable[[], Graph], int]]:
    """Circuits, each with a number of rows."""
    found: dict[str, tuple[Callable[[], Graph], int]] = {
        f"{edges:,} edges": (lambda v=variables, e=edges: random_graph(np.random.default_rng(e), v, e), ROWS)  # type: ignore[misc]
        for variables, edges in (*SIZES[:2], (20, 300))
    }
    found[DEEP] = lambda: chain(5000, 2), 512
    found[WIDE] = lambda: wide_sum(20_000, 20), 512
    return found


TRAINING = ("expected counts", "hard counts")
SINGLE = "one row"


def question_names() -> list[str]:
    """The names of all questions that two versions are compared by."""
    asked = [*questions(chain(2, 2), *np.zeros((2, 1, 2))), *TRAINING]
    return [f"{shape}: {name}" for shape in shapes() for name in asked] + [
        f"{SINGLE}: {name}" for name in single_questions()
    ]


class Asked:
    """The questions by name; a circuit is made when it is first asked about."""

    def __init__(self) -> None:
        self._shape = ""
        self._ways: dict[str, Callable[[int], object]] = {}

    def __call__(self, name: str) -> Callable[[], object]:
        """The question of a name, on one thread."""
        shape, question = name.split(": ")
        if shape != self._shape:
            self._shape, self._ways = shape, single_questions() if shape == SINGLE else _ways(shape)
        way = self._ways[question]
        return lambda: way(1)


def _ways(shape: str) -> dict[str, Callable[[int], object]]:
    make, rows = shapes()[shape]
    graph = make()
    full, half = random_rows(graph, rows)
    expecter, weights = Expecter(graph), np.ones(rows)
    return questions(graph, full, half) | {
        name: lambda threads, hard=name == "hard counts": expecter.expectations(
            graph, half, weights, hard=hard, threads=threads
        )
        for name in TRAINING
    }


# ---- memory --------------------------------------------------------------------------------------------

MEMORY = """
import resource, sys
import numpy as np
from circuits import random_graph
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
    path = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=path).stdout)


# ---- reporting -----------------------------------------------------------------------------------------


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """All figures, under a heading each."""
    turns, rows = (3, 512) if quick else (7, ROWS)
    report: dict[str, dict[str, float]] = {}
    for variables, edges in SIZES[: 2 if quick else 3]:
        graph = random_graph(np.random.default_rng(edges), variables, edges)
        for threads in (1, 2):
            heading = f"{edges:,} edges, {rows:,} rows, {threads} thread{'s' if threads > 1 else ''}"
            report[heading] = compare(graph, rows, threads, turns if edges < 1_000_000 else 3)
    for name in (DEEP, WIDE):
        make, some = shapes()[name]
        report[f"{name}, {some} rows, 1 thread"] = compare(make(), some, 1, turns)
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
    parser.add_argument("--beside", type=Path, help="source folder of another version to compare with")
    parser.add_argument("--only", default="", help="compare only questions whose name contains this")
    parser.add_argument("--turns", type=int, default=7, help="turns of each version; 7 if not given")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(Asked())
        return
    if options.beside:
        names = [name for name in question_names() if options.only in name]
        ratios(__file__, options.beside, names, options.turns)
        return
    report = measure(options.quick)
    print(json.dumps(report) if options.json else show(report))


if __name__ == "__main__":
    main()
