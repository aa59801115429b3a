"""How fast a circuit grows and is evaluated, and on what a learner that grows one spends its time.

A circuit over columns of two states is grown by the cheapest of a few random splits each time, and measured
when it reaches each size: the speed of splits and edge costs is the mean on the way from half of that size to
it, the speed of sweeps is the best of several turns. Then a learner runs for a while on a benchmark table or,
if there are no tables, on random rows in clusters, while the methods that do its work are timed. Everything
runs on one thread and is measured in CPU time, so that figures hold on a busy machine.

python benchmarks/growing.py [--data DIR] [--dataset jester] [--seconds 60] [--quick] [--json]
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from training import data_folder, data_options, training_table

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import compile_at_once
from tractable.base.progress import Watch
from tractable.base.threads import use_threads
from tractable.data import Table, discrete_schema
from tractable.learning.growing import Evaluator, FeatureStructure, GrowingCircuit, JointLikelihood, Objective
from tractable.learning.joint import LEARNERS

SIZES = (10_000, 100_000, 1_000_000)  # edges
COLUMNS = 100
CANDIDATES = 8  # random splits of which the cheapest is made
DEAREST = 0.02  # part of the circuit's edges that a candidate may cost at most
LEARNER = "eacmn"
WARM_ROWS, WARM_SECONDS = 100, 1.0  # of a run that only compiles
LANES = Objective.batch_size  # assignments that are evaluated side by side
STAGES: dict[str, tuple[type, str]] = {
    "gains": (JointLikelihood, "gains"),
    "estimates of edge costs": (FeatureStructure, "estimate_edge_costs"),
    "edge costs": (FeatureStructure, "edge_cost"),
    "splits": (FeatureStructure, "split"),
    "frequencies of new features": (JointLikelihood, "add_split"),
    "weight fits": (JointLikelihood, "fit"),
}


class Clock:
    """Counts calls of functions and the seconds that they take."""

    def __init__(self) -> None:
        self.calls = 0
        self.seconds = 0.0

    def __call__(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, counted."""

        @wraps(call)
        def counted(*arguments: Any, **named: Any) -> Any:
            begin = time.process_time()
            try:
                return call(*arguments, **named)
            finally:
                self.seconds += time.process_time() - begin
                self.calls += 1

        return counted

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / max(self.seconds, 1e-9)


# ---- a circuit that grows ------------------------------------------------------------------------------


class RandomCircuit:
    """A circuit that grows by random splits, and the columns that each of its features has a condition on."""

    def __init__(self, columns: int, rng: np.random.Generator) -> None:
        self.circuit = GrowingCircuit(np.full(columns, 2))
        self._conditions = [{column} for column in range(columns) for _ in range(2)]
        self._rng = rng

    def grow(self, edges: int) -> tuple[Clock, Clock]:
        """Split until the circuit has so many edges. Clocks of splits and of edge costs."""
        splits, costs = Clock(), Clock()
        split, cost = splits(self.circuit.split), costs(self.circuit.edge_cost)
        while self.circuit.edges < edges:
            limit = max(1000, int(DEAREST * self.circuit.edges))
            offers = [self._candidate() for _ in range(CANDIDATES)]
            prices = [cost(np.array([feature]), column, limit=limit) for feature, column in offers]
            if min(prices) > limit:
                continue
            feature, column = offers[int(np.argmin(prices))]
            new = split(np.array([feature]), column)
            self._conditions.extend(self._conditions[feature] | {column} for _ in range(new.size))
        return splits, costs

    def _candidate(self) -> tuple[int, int]:
        """A feature and a column that it has no condition on."""
        while True:
            feature = int(self._rng.integers(len(self._conditions)))
            column = int(self._rng.integers(self.circuit.states.size))
            if column not in self._conditions[feature]:
                return feature, column

    def weights(self) -> Floats:
        """Log-weights that keep the value of the circuit near one."""
        log_weight = self._rng.normal(scale=0.01, size=self.circuit.params)
        log_weight[: 2 * self.circuit.states.size] -= np.log(2.0)
        return log_weight


def measure_circuit(columns: int, sizes: tuple[int, ...], turns: int) -> dict[str, dict[str, float]]:
    """The figures of one circuit at each size."""
    grown = RandomCircuit(columns, np.random.default_rng(0))
    grown.grow(10 * columns)  # compiles
    report = {}
    for size in sizes:
        grown.grow(size // 2)
        edges = grown.circuit.edges
        splits, costs = grown.grow(size)
        report[f"a circuit of {size:,} edges"] = {
            "splits a second": splits.rate,
            "edges a split": (grown.circuit.edges - edges) / max(splits.calls, 1),
            "edge costs a second": costs.rate,
            **sweep_speeds(grown, turns),
        }
    return report


def sweep_speeds(grown: RandomCircuit, turns: int) -> dict[str, float]:
    """Millions of edge-rows a second of sweeps up and down."""
    circuit, evaluator, weight = grown.circuit, Evaluator(grown.circuit), grown.weights()
    anything = np.ones((int(circuit.states.sum()), LANES))
    one = best_seconds(lambda: evaluator.feature_expectations(weight), turns)
    lanes = best_seconds(lambda: evaluator.state_probabilities(weight, anything), turns)
    return {
        "10^6 edge-rows a second, one lane": circuit.edges / one / 1e6,
        f"10^6 edge-rows a second, {LANES} lanes": LANES * circuit.edges / lanes / 1e6,
    }


def best_seconds(call: Callable[[], object], turns: int) -> float:
    """The CPU time of the fastest call, after one that allocates memory."""
    call()
    clocks = [Clock() for _ in range(turns)]
    for clock in clocks:
        clock(call)()
    return max(min(clock.seconds for clock in clocks), 1e-9)


# ---- a run of a learner --------------------------------------------------------------------------------


class Problem(NamedTuple):
    """A table to learn from."""

    name: str
    table: Table


def random_problem(quick: bool) -> Problem:
    """Rows in clusters."""
    rng = np.random.default_rng(0)
    rows, columns = (500, 20) if quick else (5000, COLUMNS)
    centres = rng.uniform(0.1, 0.9, (10, columns))
    values = rng.random((rows, columns)) < centres[rng.integers(10, size=rows)]
    return Problem("random", Table(discrete_schema([2] * columns), values.astype(np.float64)))


def problem(folder: Path | None, name: str, quick: bool) -> Problem:
    """The benchmark table of that name, or random rows where there is no folder."""
    return random_problem(quick) if folder is None else Problem(name, training_table(folder, name, None))


@contextmanager
def clocked(stages: dict[str, tuple[type, str]]) -> Iterator[dict[str, Clock]]:
    """Clocks on methods while the block runs; no method calls another of them."""
    clocks = {name: Clock() for name in stages}
    with ExitStack() as undo:
        for name, (owner, method) in stages.items():
            undo.enter_context(patch.object(owner, method, clocks[name](getattr(owner, method))))
        yield clocks


def measure_run(table: Table, seconds: float) -> dict[str, float]:
    """What a run makes, and the parts of its time that each stage takes."""
    learn(table.take(first_rows(table, WARM_ROWS)), WARM_SECONDS)
    whole = Clock()
    with clocked(STAGES) as clocks:
        edges = whole(learn)(table, seconds)
    shares = {f"share of {name}": clock.seconds / whole.seconds for name, clock in clocks.items()}
    return {
        "seconds": whole.seconds,
        "edges": edges,
        "splits": clocks["splits"].calls,
        **shares,
        "share of the rest": 1.0 - sum(shares.values()),
    }


def learn(table: Table, seconds: float) -> int:
    """The edges of what is learned in about so many seconds; the last fit of all weights comes after them."""
    watch = Watch(seconds=seconds)
    return LEARNERS[LEARNER]().learn(table, np.random.default_rng(0), watch=watch).edges


def first_rows(table: Table, most: int) -> Ints:
    """The numbers of the first rows."""
    return np.arange(min(most, len(table)))


# ---- reporting -----------------------------------------------------------------------------------------


def show(report: dict[str, dict[str, float]]) -> str:
    """The figures as text."""
    lines = []
    for heading, figures in report.items():
        lines.append(heading)
        lines.extend(f"  {name:<36}{figure:14,.3f}" for name, figure in figures.items())
    return "\n".join(lines)


def main() -> None:
    parser = data_options(__doc__)
    parser.add_argument("--dataset", default="jester", help="what is learned from; jester if not given")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long is learned; 60 if not given")
    parser.add_argument("--quick", action="store_true", help="small sizes, few turns")
    options = parser.parse_args()
    sizes, columns, turns = ((1000, 5000), 30, 3) if options.quick else (SIZES, COLUMNS, 7)
    chosen = problem(data_folder(options.data), options.dataset, options.quick)
    compile_at_once()
    with use_threads(1), threadpool_limits(1):
        report = measure_circuit(columns, sizes, turns)
        report[f"a run of {LEARNER} on {chosen.name}"] = measure_run(chosen.table, options.seconds)
    print(json.dumps(report) if options.json else show(report))


if __name__ == "__main__":
    main()
