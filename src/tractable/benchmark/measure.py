"""A run, from the table to the figures, in this process."""

import time
from contextlib import suppress

import numpy as np

from tractable.benchmark.contestants import Contestant, contestant
from tractable.benchmark.datasets import Tables
from tractable.benchmark.memory import peak_memory
from tractable.benchmark.questions import ask
from tractable.benchmark.runs import Job, Measured
from tractable.data import Table, discrete_schema
from tractable.progress import Watch
from tractable.queries import log_prob


def measure(job: Job) -> Measured:
    """Learn the model of a job, and measure it.

    Raises:
        ValueError: if the tables cannot be read, or the learner refuses them.
    """
    tables = job.dataset.tables()
    maker = contestant(job.learner, job.settings)
    _warm_up(maker)
    watch = Watch(seconds=job.budget)
    wall, cpu = time.perf_counter(), time.process_time()
    graph = maker.learn(tables, np.random.default_rng(job.seed), watch)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    finished = not watch.should_stop()
    valid = np.average(log_prob(graph, tables.valid.values), weights=tables.valid.row_weights)
    return Measured(
        finished=finished,
        variables=len(tables.train.schema),
        train_rows=len(tables.train),
        nodes=graph.nodes,
        edges=graph.edges,
        cpu_seconds=cpu,
        seconds=wall,
        valid_ll=float(valid),
        log_prob=log_prob(graph, tables.test.values).tolist(),
        answers=ask(graph, tables.test, job.queries, job.seed),
        peak_mb=peak_memory() / 2**20,
    )


def _warm_up(maker: Contestant) -> None:
    """Compile or load the learner's kernels, so that this is not counted as learning."""
    rows = np.random.default_rng(0).integers(2, size=(3, 20, 4)).astype(np.float64)
    tiny = Tables(*(Table(discrete_schema([2] * 4), part) for part in rows))
    with suppress(ValueError):  # what is wrong with the settings will show on the table itself
        maker.learn(tiny, np.random.default_rng(0), Watch())
