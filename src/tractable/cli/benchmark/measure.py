"""A run, from the table to the figures, in this process."""

import time
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from tractable.base.arrays import Bools
from tractable.base.progress import Progress, Watch
from tractable.circuit import Graph
from tractable.cli.benchmark.conditional_measure import AnyMaker, measure_conditional, with_inputs
from tractable.cli.benchmark.contestants import NetworkContestant, contestant
from tractable.cli.benchmark.datasets import Tables
from tractable.cli.benchmark.memory import peak_memory
from tractable.cli.benchmark.questions import answer, ask, sampled_answer
from tractable.cli.benchmark.runs import Job, Measured
from tractable.data import Table, discrete_schema
from tractable.learning.networks.pseudo_likelihood.scores import mean_log_pseudo_likelihood
from tractable.networks import Network
from tractable.networks.gibbs.sampler import GibbsSampler
from tractable.queries import log_prob


def measure(job: Job) -> Measured:
    """Learn the model of a job, and measure it.

    Raises:
        ValueError: if the tables cannot be read, or the learner refuses them.
    """
    if job.inputs is not None:
        return measure_conditional(job, _warm_up)
    tables = job.dataset.tables()
    maker = contestant(job.learner, job.settings)
    _warm_up(maker)
    curve = ScoreCurve()
    watch = Watch(curve, seconds=job.budget)
    wall, cpu = time.perf_counter(), time.process_time()
    model = maker.learn(tables, np.random.default_rng(job.seed), watch)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    finished = not watch.should_stop()
    if isinstance(model, Network):
        figures = network_figures(model, tables, job)
    else:
        figures = circuit_figures(model, tables, job)
    return Measured(
        finished=finished,
        variables=len(tables.train.schema),
        train_rows=len(tables.train),
        cpu_seconds=cpu,
        seconds=wall,
        settled_seconds=curve.settled_seconds,
        **figures,
        peak_mb=peak_memory() / 2**20,
    )


def circuit_figures(graph: Graph, tables: Tables, job: Job) -> dict[str, Any]:
    """The size of a circuit, its log-likelihoods, and its exact answers."""
    valid = np.average(log_prob(graph, tables.valid.values), weights=tables.valid.row_weights)
    logs, is_new = log_prob(graph, tables.test.values), new_rows(tables)
    return {
        "nodes": graph.nodes,
        "edges": graph.edges,
        "valid_ll": float(valid),
        "log_prob": logs.tolist(),
        "new_test_rows": int(is_new.sum()),
        "new_test_ll": float(logs[is_new].mean()) if is_new.any() else None,
        "answers": ask(partial(answer, graph), tables.test, job.queries, job.seed),
    }


def new_rows(tables: Tables) -> Bools:
    """Which test rows do not occur among the training rows. Shape (rows,)."""
    both = np.concatenate([tables.train.values, tables.test.values])
    _, which = np.unique(both, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return ~np.isin(which[len(tables.train) :], which[: len(tables.train)])


def network_figures(network: Network, tables: Tables, job: Job) -> dict[str, Any]:
    """The size of a network, its pseudo-likelihood, and its answers by Gibbs sampling.

    It has no circuit, and its log-likelihoods are intractable.
    """
    answerer = partial(sampled_answer, GibbsSampler(network), seed=job.seed)
    return {
        "nodes": None,
        "edges": None,
        "valid_ll": None,
        "log_prob": [],
        "answers": ask(answerer, tables.test, job.queries, job.seed),
        "features": len(network.factors),
        "valid_pll": mean_log_pseudo_likelihood(network, tables.valid),
    }


def _warm_up(maker: AnyMaker | NetworkContestant, inputs: float | None = None) -> None:
    """Compile or load the learner's kernels, so that this is not counted as learning."""
    rows = np.random.default_rng(0).integers(2, size=(3, 20, 4)).astype(np.float64)
    tiny = Tables(*(Table(discrete_schema([2] * 4), part) for part in rows))
    tiny = tiny if inputs is None else with_inputs(tiny, 0.5)
    with suppress(ValueError):  # what is wrong with the settings will show on the table itself
        maker.learn(tiny, np.random.default_rng(0), Watch())


NEAR = 0.005  # part of the last score that a score may be away from it


class ScoreCurve:
    """The best score so far at each moment of a run, as its progress tells it."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._better: list[tuple[float, float]] = []  # seconds, and the score that was reached then

    def __call__(self, progress: Progress) -> None:
        """Take in what a learner tells."""
        score = progress.score
        if score is not None and (not self._better or score > self._better[-1][1]):
            self._better.append((time.perf_counter() - self._begin, score))

    @property
    def settled_seconds(self) -> float | None:
        """When the score came within half a percent of the last one; None if the learner told no score."""
        if not self._better:
            return None
        last = self._better[-1][1]
        return next(when for when, score in self._better if score >= last - NEAR * abs(last))
