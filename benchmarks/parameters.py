"""What one iteration of every method of parameter learning costs, beside one score of the same rows.

The circuit is what LearnSPN makes of a benchmark table or, where there are no tables, a random one of 100,000
edges with random rows; its parameters are drawn at random, so that there is something to learn. All methods
take turns in one process on one thread, and the best of several turns counts, in CPU time, so that ratios
hold on a busy machine. The closed form is left out: it has no iterations.

    python benchmarks/parameters.py [--data DIR] [--dataset plants] [--quick] [--json]
"""

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from circuits import random_graph
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from training import data_folder, data_options, learned_structure, training_table

from tractable.base.progress import Watch
from tractable.base.threads import use_threads
from tractable.circuit import Graph
from tractable.data import Table, collapse
from tractable.engine import log_values
from tractable.learning.parameters import METHODS, randomise
from tractable.learning.parameters.method import WeightedRows

SCORE = "score"
VARIABLES, EDGES, ROWS = 200, 100_000, 3000  # of the random circuit
QUICK_ROWS = 1024
MOST_SCORES = {"cccp": 3.0}  # wanted of one iteration


class Problem(NamedTuple):
    """A circuit and rows to fit it to."""

    name: str
    graph: Graph
    table: Table


class Cost(NamedTuple):
    """What one call costs."""

    edge_rows: float  # a second, in thousand millions; the circuit's own edges, the distinct rows
    scores: float  # as many scores take as long


# ---- what is measured ----------------------------------------------------------------------------------


def learned_problem(folder: Path, name: str, quick: bool) -> Problem:
    """The structure of a benchmark table, with random parameters."""
    table = training_table(folder, name, QUICK_ROWS if quick else None)
    return Problem(name, randomise(learned_structure(table, 0), np.random.default_rng(0)), table)


def random_problem(quick: bool) -> Problem:
    """A random circuit and random rows."""
    rng = np.random.default_rng(0)
    graph = random_graph(rng, VARIABLES, EDGES)
    values = rng.integers(0, 2, (QUICK_ROWS if quick else ROWS, VARIABLES)).astype(np.float64)
    return Problem("random", graph, Table(graph.schema, values))


def distinct(table: Table) -> WeightedRows:
    """The rows that the methods sweep."""
    found, _ = collapse(table)
    return WeightedRows(found.values, found.row_weights)


def calls(problem: Problem, rows: WeightedRows) -> dict[str, Callable[[], object]]:
    """The score, and a step of every method: each call takes one iteration more."""
    found: dict[str, Callable[[], object]] = {SCORE: partial(log_values, problem.graph, rows.values)}
    for name, method in METHODS.items():
        if name in ("closed-form", "max-margin"):
            continue
        predicts: dict[str, Any] = (
            {"targets": problem.graph.schema.names[:1]} if name == "discriminative" else {}
        )
        how = method(**predicts)
        start = how.prepare(problem.graph, problem.table)
        found[name] = partial(next, how.steps(start, rows, np.random.default_rng(0), Watch(), None))
    return found


# ---- measuring -----------------------------------------------------------------------------------------


def cpu_seconds(call: Callable[[], object]) -> float:
    """How much work one call is."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def best_times(ways: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """The best time of every way, all ways taking turns after one that does not count.

    That one compiles, and brings every method to the circuit it begins with.
    """
    for way in ways.values():
        way()
    taken = [{name: cpu_seconds(way) for name, way in ways.items()} for _ in range(turns)]
    return {name: min(turn[name] for turn in taken) for name in ways}


def measure(problem: Problem, turns: int) -> dict[str, Cost]:
    """The cost of the score and of one iteration of every method."""
    rows = distinct(problem.table)
    work = float(problem.graph.edges) * len(rows.values) / 1e9
    best = best_times(calls(problem, rows), turns)
    return {name: Cost(work / t, t / best[SCORE]) for name, t in best.items()}


# ---- reporting -----------------------------------------------------------------------------------------


def heading(problem: Problem) -> str:
    """What was measured, in words."""
    rows = len(distinct(problem.table).values)
    return f"{problem.name}: {problem.graph.edges:,} edges, {rows:,} distinct rows, one thread"


def show(title: str, costs: dict[str, Cost]) -> str:
    """The figures as text, with what is wanted of them."""
    lines = [title, f"  {'':<12}{'10^9 edge-rows/s':>18}{'in scores':>12}"]
    for name, cost in costs.items():
        wanted = f"   (wanted: at most {MOST_SCORES[name]:g})" if name in MOST_SCORES else ""
        lines.append(f"  {name:<12}{cost.edge_rows:18.3f}{cost.scores:12.2f}{wanted}")
    return "\n".join(lines)


def main() -> None:
    parser = data_options(__doc__)
    parser.add_argument("--dataset", default="plants", help="whose structure is learned; plants if not given")
    parser.add_argument("--quick", action="store_true", help="few rows, few turns")
    options = parser.parse_args()
    folder = data_folder(options.data)
    with use_threads(1), threadpool_limits(1):
        quick = options.quick
        problem = random_problem(quick) if folder is None else learned_problem(folder, options.dataset, quick)
        costs = measure(problem, 3 if quick else 7)
    title = heading(problem)
    report = {title: {name: cost._asdict() for name, cost in costs.items()}}
    print(json.dumps(report) if options.json else show(title, costs))


if __name__ == "__main__":
    main()
