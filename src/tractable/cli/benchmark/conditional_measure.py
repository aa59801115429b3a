"""A run of P(targets | inputs), from the table to the figures, in this process."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.circuit import Graph
from tractable.circuit.properties import parameter_count
from tractable.cli.benchmark.contestants import ConditionalContestant, Contestant, conditional_contestant
from tractable.cli.benchmark.datasets import Tables
from tractable.cli.benchmark.logistic import LogisticContestant
from tractable.cli.benchmark.memory import peak_memory
from tractable.cli.benchmark.questions import ALONE, Times
from tractable.cli.benchmark.runs import Job, Measured
from tractable.cli.reports import label_metrics, most_probable_alone
from tractable.data import Table
from tractable.formats import Document, read_circuit, write_circuit
from tractable.formats.atomic import lock
from tractable.learning.conditional.cacmn import CACMNLearner
from tractable.learning.joint.markov import EACMNLearner
from tractable.queries import log_prob, marginals

if TYPE_CHECKING:
    from tractable.cli.benchmark.runs import Job


# ---- Which columns are inputs when models of P(targets | inputs) are compared: one choice for each data
#      set.


def input_columns(columns: int, share: float) -> Ints:
    """The input columns, ascending: the first ones of a permutation drawn with seed 0.

    There are `int(share * columns + 0.5)` inputs, which are equal for all methods.
    """
    drawn = np.random.default_rng(0).permutation(columns)
    return np.sort(drawn[: int(share * columns + 0.5)])


def with_inputs(tables: Tables, share: float) -> Tables:
    """The tables with a share of their columns as inputs and the others as targets.

    Raises:
        ValueError: if all columns would be inputs, or none.
    """
    schema = tables.train.schema
    inputs = input_columns(len(schema), share)
    if not 0 < inputs.size < len(schema):
        raise ValueError(
            f"{inputs.size} of {len(schema)} columns are inputs: there must be both inputs and targets"
        )
    roles = schema.with_targets(np.setdiff1d(np.arange(len(schema)), inputs).tolist())
    return Tables(*(Table(roles, part.values, part.weights) for part in tables))


# ---- joint models that are kept on disk, to be asked with other inputs without being learned again ------


@dataclass(frozen=True)
class LearningCost:
    """What learning a model has taken."""

    finished: bool  # False where the budget ended learning early
    cpu_seconds: float
    seconds: float


def kept_model(
    job: "Job", settings: object, learn: Callable[[], tuple[Graph, LearningCost]]
) -> tuple[Graph, LearningCost]:
    """The model of a job and what it cost: that of an earlier run, or else it is learned and kept.

    Another process that wants the same model waits for it.
    """
    assert job.models is not None
    folder = Path(job.models)
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{job.dataset.name}-{job.learner}-{_digest(job, settings)}.tract"
    with place.with_suffix(".lock").open("ab") as file:
        lock(file, wait=True)
        if place.exists():
            circuit = read_circuit(place)
            return circuit.graph, LearningCost(**circuit.about["learning"])
        graph, cost = learn()
        write_circuit(Document(graph, {"learning": asdict(cost), "learner": job.learner}), place)
    return graph, cost


def _digest(job: "Job", settings: object) -> str:
    """A short text for everything that the model depends on."""
    whole = (job.dataset.name, job.dataset.digest(), job.learner, settings, job.seed, job.budget)
    return blake2b(json.dumps(whole, sort_keys=True).encode(), digest_size=6).hexdigest()


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
