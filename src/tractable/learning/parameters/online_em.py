"""Expectation maximisation on mini-batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import State, Watch, generator_state, restore_generator
from tractable.base.settings import redeclare, setting
from tractable.circuit import Graph, normalise
from tractable.circuit.blocks import LeafCounts
from tractable.data import Table
from tractable.engine.expectations import Expectations, Expecter
from tractable.learning.parameters.cccp import ExpectationMaximisation
from tractable.learning.parameters.entropy import spread_counts
from tractable.learning.parameters.method import Method, Step, WeightedRows
from tractable.learning.parameters.softening import soften
from tractable.learning.parameters.updates import refit_blocks, smoothed_weights

# ---- mini-batches of rows that have weights -------------------------------------------------------------


MOST_TIMES = 32  # rows of a pass for each distinct row, at most
SHORT_PASS = 8192  # rows of a pass that are never too many


def pass_length(total: float, distinct: int) -> float:
    """The rows of one pass over a table of this total weight and number of distinct rows."""
    return float(min(max(total, distinct), max(SHORT_PASS, MOST_TIMES * distinct)))


def mini_batches(weights: Floats, size: int, rng: np.random.Generator) -> list[tuple[Ints, Floats]]:
    """All rows in random order as mini-batches: the distinct rows of each, with their frequencies.

    Rows are drawn in proportion to their weights if these are not whole numbers, or if a pass over all would
    be long: its cost depends on the number of distinct rows, however large their weights are. A distinct row
    of large weight must be able to occur in every mini-batch, so that distinct rows alone cannot be divided
    among them.
    """
    total = float(weights.sum())
    length = pass_length(total, weights.size)
    count = max(1, round(length / size))
    if length == total and (weights == np.rint(weights)).all():
        order = rng.permutation(np.repeat(np.arange(weights.size), weights.astype(np.int64)))
        parts = np.array_split(order, count)
    else:
        upper = np.cumsum(weights / total)
        draws = (rng.random(max(1, round(length / count))) * upper[-1] for _ in range(count))
        parts = [np.searchsorted(upper[:-1], draw, side="right") for draw in draws]
    batches = (np.unique(part, return_counts=True) for part in parts)
    return [(part, times.astype(np.float64)) for part, times in batches]


@final
@dataclass(frozen=True, kw_only=True)
class OnlineEM(Method):
    """After each mini-batch the running counts move a step towards its own, and set the parameters.

    The step size falls from `first_step` to `last_step` along a half cosine. An iteration is one pass over
    all rows. With `softness` the noisy rows are drawn anew for each mini-batch.
    """

    name: ClassVar[str] = "online-em"
    title: ClassVar[str] = "online EM"

    batch: int = setting(1024, "Number of rows in a mini-batch.", at_least=1)
    first_step: float = setting(
        0.9,
        "Initial step size, which is the weight of a mini-batch in the running averages of the expected"
        " counts.",
        at_least=0,
        at_most=1,
    )
    last_step: float = setting(
        0.05,
        "Final step size. The step size decreases along a half cosine.",
        at_least=0,
        at_most=1,
    )
    smoothing: float = redeclare(ExpectationMaximisation, "smoothing", 0.1)
    leaf_smoothing: float = redeclare(ExpectationMaximisation, "leaf_smoothing", 0.1)
    softness: float = redeclare(ExpectationMaximisation, "softness", 0.0)
    entropy: float = redeclare(ExpectationMaximisation, "entropy", 0.0)
    tolerance: float = redeclare(Method, "tolerance", 0.0)  # mini-batches differ: a small change says nothing

    def prepare(self, graph: Graph, table: Table) -> Graph:
        """The circuit locally normalised."""
        return normalise(graph).graph

    def steps(
        self, graph: Graph, rows: WeightedRows, rng: np.random.Generator, watch: Watch, after: Step | None
    ) -> Iterator[Step]:
        """Circuits after one pass over all rows each; a mini-batch is scored before the step it leads to."""
        expecter = Expecter(graph)
        price = self.entropy * rows.total
        running: Expectations | None = None
        done = 0
        if after is None:
            yield Step(graph, rows.mean(expecter.log_values(graph, rows.values)), _memory(0, None, rng))
        else:
            graph, done, running = after.graph, after.memory["done"], _running_counts(after.memory)
            restore_generator(rng, after.memory["rng"])
            yield after
        while True:
            parts = mini_batches(rows.weights, self.batch, rng)
            score = 0.0
            for i, (part, times) in enumerate(parts):
                watch.break_off()
                batch = WeightedRows(rows.values[part], times)
                values, weights = soften(batch, graph.schema, self.softness, rng)
                expected = expecter.expectations(graph, values, weights)
                score += float(weights @ expected.log_value)
                pace = self._step((done + i / len(parts)) / max(1, self.iterations))
                scaled = _scale(expected, rows.total / float(weights.sum()))
                running = scaled if running is None else _blend(running, scaled, pace)
                counts = spread_counts(graph, running, price, self.smoothing, self.leaf_smoothing)
                graph = graph.with_parameters(
                    log_weight=smoothed_weights(graph, counts, self.smoothing),
                    blocks=refit_blocks(graph, counts, values, self.leaf_smoothing, pace),
                )
            done += 1
            mean = score / sum(float(times.sum()) for _, times in parts)
            yield Step(graph, mean, _memory(done, running, rng))

    def _step(self, way: float) -> float:
        fall = 0.5 * (1 + np.cos(np.pi * min(1.0, way)))
        return float(self.last_step + (self.first_step - self.last_step) * fall)


def _memory(done: int, running: Expectations | None, rng: np.random.Generator) -> State:
    """What the next pass depends on beside the circuit; flows of single rows are never used again."""
    counts = None if running is None else [running.edge, *(counts.states for counts in running.blocks)]
    return {"done": done, "counts": counts, "rng": generator_state(rng)}


def _running_counts(memory: State) -> Expectations | None:
    if memory["counts"] is None:
        return None
    edge, *states = memory["counts"]
    return Expectations(np.zeros(0), edge, tuple(LeafCounts(s, np.zeros((len(s), 0))) for s in states))


def _scale(expected: Expectations, factor: float) -> Expectations:
    blocks = tuple(LeafCounts(c.states * factor, c.flows * factor) for c in expected.blocks)
    return Expectations(expected.log_value, expected.edge * factor, blocks)


def _blend(running: Expectations, latest: Expectations, pace: float) -> Expectations:
    """The running counts moved a step towards the latest ones; flows of single rows are not averaged."""
    blocks = tuple(
        LeafCounts((1 - pace) * old.states + pace * new.states, new.flows)
        for old, new in zip(running.blocks, latest.blocks, strict=True)
    )
    edge = (1 - pace) * running.edge + pace * latest.edge
    return Expectations(latest.log_value, edge, blocks)
