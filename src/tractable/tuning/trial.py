"""One trial: settings, the model they lead to, and its score."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, isnan
from typing import Any

import numpy as np

from tractable.circuit import Graph
from tractable.data import Table
from tractable.learners import Learner
from tractable.progress import Progress, Watch
from tractable.statistics.scores import mean_log_prob

THREADS = "TRACTABLE_THREADS"
FAULTS = (ValueError, ArithmeticError, MemoryError)  # of settings that do not suit a table


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What there is to tell of a trial."""

    number: int  # the trial 0 has the learner's defaults
    settings: Mapping[str, Any]  # those that are searched
    score: float  # mean log-likelihood of the validation rows, in nats
    seconds: float
    edges: int  # of the circuit
    finished: bool  # whether its time was enough
    fault: str = ""  # why there is no model; the score is then -inf

    @property
    def rank(self) -> tuple[bool, float, int]:
        """What the best trial has most of: a model, its score, and, of equals, having come first."""
        return (not self.fault, self.score, -self.number)


def best_of(trials: Iterable[Trial]) -> Trial | None:
    """The trial whose model scores best; None when none has a model."""
    best = max(trials, key=lambda trial: trial.rank, default=None)
    return None if best is None or best.fault else best


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """All that it takes to do a trial, here or in another process."""

    number: int
    settings: Mapping[str, Any]
    learner: Learner
    train: Table
    valid: Table
    seed: int
    seconds: float | None  # that it may take
    threads: int | None  # for sweeps; None: as many as there are
    outer: Watch | None  # that watches the whole search, where it is in this process


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a trial."""

    trial: Trial
    graph: Graph | None
    interrupted: bool


class TrialWatch(Watch):
    """Stops a trial when its own time is over or the whole search is interrupted."""

    def __init__(self, number: int, seconds: float | None, outer: Watch | None) -> None:
        super().__init__(self._pass_on, seconds=seconds)
        self._number = number
        self._outer = outer

    def should_stop(self) -> bool:
        """Whether to end with the best model so far."""
        return self.stopped_by_hand() or super().should_stop()

    def stopped_by_hand(self) -> bool:
        """Whether somebody interrupted the trial or the search."""
        return self.interrupted or (self._outer is not None and self._outer.interrupted)

    def _pass_on(self, progress: Progress) -> None:
        if self._outer is not None:
            self._outer.report(f"trial {self._number}: {progress.stage}", *progress[1:])


def attempt(task: Task) -> Outcome:
    """Do a trial.

    Raises:
        ValueError: if even the learner's defaults, the trial 0, do not suit the tables.
    """
    started = time.perf_counter()
    watch = TrialWatch(task.number, task.seconds, task.outer)
    graph, score, fault = None, -inf, ""
    with _threads(task.threads):
        try:
            graph = task.learner.learn(
                task.train, np.random.default_rng(task.seed), valid=task.valid, watch=watch
            )
            score = mean_log_prob(graph, task.valid)
        except FAULTS as error:
            if task.number == 0:
                raise
            fault = str(error) or type(error).__name__
    trial = Trial(
        number=task.number,
        settings=task.settings,
        score=-inf if isnan(score) else score,
        seconds=time.perf_counter() - started,
        edges=0 if graph is None else graph.edges,
        finished=not watch.should_stop(),
        fault=fault,
    )
    return Outcome(trial, graph, watch.stopped_by_hand())


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Sweep with so many threads while the block runs."""
    if count is None:
        yield
        return
    before = os.environ.get(THREADS)
    os.environ[THREADS] = str(count)
    try:
        yield
    finally:
        os.environ.pop(THREADS)
        if before is not None:
            os.environ[THREADS] = before
