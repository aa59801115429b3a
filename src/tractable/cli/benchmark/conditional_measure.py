"""A run of P(targets | inputs), from the table to the figures, in this process."""

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TypeAlias

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.circuit import Graph
from tractable.circuit.properties import parameter_count
from tractable.cli.benchmark.contestants import ConditionalContestant, Contestant, conditional_contestant
from tractable.cli.benchmark.datasets import Tables
from tractable.cli.benchmark.inputs import with_inputs
from tractable.cli.benchmark.kept_models import LearningCost, kept_model
from tractable.cli.benchmark.logistic import LogisticContestant
from tractable.cli.benchmark.memory import peak_memory
from tractable.cli.benchmark.questions import ALONE, Times
from tractable.cli.benchmark.runs import Job, Measured
from tractable.cli.reports import label_metrics, most_probable_alone
from tractable.learning.conditional.cacmn import CACMNLearner
from tractable.learning.joint.markov.eacmn import EACMNLearner
from tractable.queries import log_prob, marginals

AnyMaker: TypeAlias = Contestant | ConditionalContestant | LogisticContestant
WarmUp: TypeAlias = Callable[[AnyMaker, float | None], None]


def measure_conditional(job: Job, warm_up: WarmUp) -> Measured:
    """Learn the model of a job, or take it where it is kept, and ask for targets given inputs.

    Raises:
        ValueError: if the tables cannot be read, or the learner refuses them.
    """
    assert job.inputs is not None
    tables = job.dataset.tables()
    roles = with_inputs(tables, job.inputs)
    maker = conditional_contestant(job.learner, job.settings)
    if isinstance(maker, Contestant):
        graph, cost = _joint(maker, tables, job, warm_up)
    elif isinstance(maker, ConditionalContestant) and isinstance(maker.learner, CACMNLearner):
        warm_up(maker, job.inputs)
        graph, cost = _conditional_network(maker.learner, (tables, roles), job, warm_up)
    else:
        warm_up(maker, job.inputs)
        graph, cost = _learn(maker, roles, job)
    inputs = roles.train.schema.inputs
    valid = np.average(conditional_logs(graph, tables.valid.values, inputs), weights=tables.valid.row_weights)
    return Measured(
        **asdict(cost),
        variables=len(tables.train.schema),
        train_rows=len(tables.train),
        nodes=graph.nodes,
        edges=graph.edges,
        parameters=parameter_count(graph),
        valid_ll=float(valid),
        log_prob=conditional_logs(graph, tables.test.values, inputs).tolist(),
        answers=[],
        times=_times(graph, tables, inputs, job.queries),
        metrics=_metrics(graph, tables, inputs, job.queries),
        peak_mb=peak_memory() / 2**20,
    )


def _joint(maker: Contestant, tables: Tables, job: Job, warm_up: WarmUp) -> tuple[Graph, LearningCost]:
    """A joint model; that of an earlier run if such models are kept."""

    def learn() -> tuple[Graph, LearningCost]:
        warm_up(maker, None)
        return _learn(maker, tables, job)

    return learn() if job.models is None else kept_model(job, maker.settings, learn)


def _conditional_network(
    learner: CACMNLearner, tables: tuple[Tables, Tables], job: Job, warm_up: WarmUp
) -> tuple[Graph, LearningCost]:
    """The joint network, which does not depend on the inputs, with weights fitted to targets given these."""
    joint, roles = tables
    maker = Contestant(EACMNLearner.name, learner.structure_learner(), ())
    graph, before = _joint(maker, joint, replace(job, learner=maker.name), warm_up)
    fitted, after = _timed(
        lambda rng, watch: learner.fit_weights(graph, roles.train, rng, roles.valid, watch), job
    )
    finished = before.finished and after.finished
    seconds = before.seconds + after.seconds
    return fitted, LearningCost(finished, before.cpu_seconds + after.cpu_seconds, seconds)


def _learn(maker: AnyMaker, tables: Tables, job: Job) -> tuple[Graph, LearningCost]:
    return _timed(lambda rng, watch: maker.learn(tables, rng, watch), job)


def _timed(work: Callable[[np.random.Generator, Watch], Graph], job: Job) -> tuple[Graph, LearningCost]:
    """The circuit that work with the seed and the budget of a job leads to, and what it cost."""
    watch = Watch(seconds=job.budget)
    wall, cpu = time.perf_counter(), time.process_time()
    graph = work(np.random.default_rng(job.seed), watch)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return graph, LearningCost(not watch.should_stop(), cpu, wall)


def conditional_logs(graph: Graph, rows: Floats, inputs: Ints) -> Floats:
    """log P(targets | inputs) of each row by a conditional or a joint circuit. Shape (rows,).

    It is -inf where a joint circuit finds even the inputs impossible.
    """
    if graph.schema.inputs.size:
        return log_prob(graph, rows)
    evidence = log_prob(graph, _only(rows, inputs))
    known = evidence > -np.inf
    return np.where(known, log_prob(graph, rows) - np.where(known, evidence, 0.0), -np.inf)


def _only(rows: Floats, columns: Ints) -> Floats:
    """The rows without the cells of other columns."""
    kept = np.full_like(rows, np.nan)
    kept[:, columns] = rows[:, columns]
    return kept


def _metrics(graph: Graph, tables: Tables, inputs: Ints, count: int) -> dict[str, float] | None:
    """Metrics of multi-label learning: each target of the first test rows is predicted by its marginal."""
    table = tables.test.take(slice(count))
    targets = np.setdiff1d(np.arange(len(table.schema)), inputs)
    states = table.schema.cardinalities[targets]
    if not count or (states == 0).any() or table.missing[:, targets].any():
        return None
    predicted = most_probable_alone(graph, _only(table.values, inputs), targets)
    return label_metrics(table.values[:, targets], predicted, table.row_weights, states == 2)


def _times(graph: Graph, tables: Tables, inputs: Ints, count: int) -> Times | None:
    """Milliseconds for log P(targets | inputs) and for the marginals of all targets, a row."""
    if not count:
        return None
    rows = tables.test.values[:count]
    likelihood = _time(lambda some: conditional_logs(graph, some, inputs), rows)
    states = _time(lambda some: marginals(graph, _only(some, inputs)), rows)
    return Times(*likelihood, *states)


def _time(answer: Callable[[Floats], object], rows: Floats) -> tuple[float, float]:
    """Milliseconds a row: by itself, and when all are asked at once."""
    answer(rows[:1])  # kernels are loaded before the clock runs
    begin = time.perf_counter()
    answer(rows)
    batch = (time.perf_counter() - begin) / len(rows)
    alone = min(ALONE, len(rows))
    begin = time.perf_counter()
    for i in range(alone):  # one by one is what is measured here
        answer(rows[i : i + 1])
    return 1000 * (time.perf_counter() - begin) / alone, 1000 * batch
