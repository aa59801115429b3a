"""A trial: settings, the resulting model, and its score."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import ceil, inf, isnan
from typing import Any

import numpy as np

from tractable.base.progress import InnerWatch, Progress, Watch
from tractable.base.settings import Space, plain_value, search_space
from tractable.base.settings.text import check_setting_name
from tractable.circuit import Graph
from tractable.data import Table
from tractable.learning.learner import CircuitLearner
from tractable.learning.statistics.stack_weights import mean_log_prob
from tractable.learning.training import find_circuit_learner, fingerprint
from tractable.queries import log_prob

# ---- a search problem: settings of a learner for two tables ---------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A learner, its fixed settings, the tables and the seed of a search."""

    kind: type[CircuitLearner]
    fixed: Mapping[str, Any]
    train: Table
    valid: Table
    seed: int
    sampler: str
    reserve: bool = True  # whether models reserve a share of probability for states never seen

    @cached_property
    def space(self) -> Space:
        """The search space of the settings."""
        return {name: choice for name, choice in search_space(self.kind).items() if name not in self.fixed}

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The default values of the searched settings."""
        learner = self.learner({})
        return {name: getattr(learner, name) for name in self.space}

    def learner(self, settings: Mapping[str, Any]) -> CircuitLearner:
        """The learner with these settings and the fixed ones."""
        return self.kind(**self.fixed, **settings)

    @cached_property
    def header(self) -> dict[str, Any]:
        """The description of a search, which runs of one search share."""
        return {
            "algorithm": self.kind.name,
            "settings": {name: plain_value(value) for name, value in self.fixed.items()},
            "space": {name: str(choice) for name, choice in self.space.items()},
            "sampler": self.sampler,
            "seed": self.seed,
            "train": fingerprint(self.train),
            "valid": fingerprint(self.valid),
        }

    @cached_property
    def key(self) -> str:
        """A checksum of the description of a search."""
        return blake2b(json.dumps(self.header).encode(), digest_size=8).hexdigest()


def learner_kind(algorithm: str, fixed: Mapping[str, Any]) -> type[CircuitLearner]:
    """The class of a learner, after a check of its fixed settings.

    Raises:
        ValueError: naming an unknown learner or setting, or if all searched settings are fixed.
    """
    kind = find_circuit_learner(algorithm)
    for name in fixed:
        check_setting_name(kind, name)
    if set(search_space(kind)) <= set(fixed):
        raise ValueError(f"there is nothing to search: all of {', '.join(search_space(kind))} are fixed")
    return kind


# ---- the time budget of a search, and of each of its trials ---------------------------------------------


AMPLE = 2.0  # times what the trial with the defaults took


class TimeBudget:
    """The time budget of a search, whose remaining time is shared by the remaining trials.

    The trial of the default settings may take half of the time, because it is the reference. Other trials get
    ample time relative to it, even if none remains for the last ones, because models that are stopped early
    are of little use.
    """

    def __init__(self, seconds: float | None, jobs: int) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._jobs = jobs

    def for_defaults(self, trials: int) -> float | None:
        """The seconds for the trial of the default settings, or None without a budget."""
        left = self._left()
        return None if left is None else max(left / 2, left / ceil(trials / self._jobs))

    def share(self, trials: int, defaults_took: float | None) -> float | None:
        """The seconds for the next of `trials` remaining trials, or None without a budget.

        `defaults_took` is the duration of the trial of the defaults, or None if it was stopped early.
        """
        left = self._left()
        if left is None:
            return None
        return min(left, max(left / ceil(trials / self._jobs), AMPLE * (defaults_took or 0.0)))

    def _left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())


FAULTS = (ValueError, ArithmeticError, MemoryError)  # of settings that do not suit a table


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The settings of a trial and the score of its model."""

    number: int  # the trial 0 has the learner's defaults
    settings: Mapping[str, Any]  # those that are searched
    score: float  # mean log-likelihood of the validation rows, or of their targets given inputs, in nats
    seconds: float
    edges: int  # of the circuit
    finished: bool  # whether its time was enough
    fault: str = ""  # why there is no model; the score is then -inf

    @property
    def rank(self) -> tuple[bool, float, int]:
        """The sort key of trials: those with a model first, by score, then in order."""
        return (not self.fault, self.score, -self.number)


def best_of(trials: Iterable[Trial]) -> Trial | None:
    """The trial with the best score, or None if no trial has a model."""
    best = max(trials, key=lambda trial: trial.rank, default=None)
    return None if best is None or best.fault else best


@dataclass(frozen=True, kw_only=True, eq=False)
class TrialTask:
    """The inputs of a trial, which may run in another process."""

    number: int
    settings: Mapping[str, Any]
    learner: CircuitLearner
    train: Table
    valid: Table
    seed: int
    seconds: float | None  # that it may take; None: as long as it takes


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a trial."""

    trial: Trial
    graph: Graph | None  # None if the settings do not suit the tables
    interrupted: bool  # by somebody, not by its time budget


def attempt(task: TrialTask, search: Watch) -> Outcome:
    """Run a trial with the watch of a search.

    Raises:
        ValueError: if the learner refuses the tables even with its defaults, in trial 0.
    """
    started = time.perf_counter()

    def tell(progress: Progress) -> None:
        search.report(f"trial {task.number}: {progress.stage}", *progress[1:])

    watch = InnerWatch(search, tell, seconds=inf if task.seconds is None else task.seconds)
    graph, score, fault = None, -inf, ""
    try:
        graph = task.learner.learn(
            task.train, np.random.default_rng(task.seed), valid=task.valid, watch=watch
        )
        score = _score(graph, task.valid)
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
    return Outcome(trial, graph, watch.interrupted)


def _score(graph: Graph, table: Table) -> float:
    """The mean log-likelihood of rows, or of their targets for a conditional circuit."""
    if not graph.schema.inputs.size:
        return mean_log_prob(graph, table)
    return float(log_prob(graph, table.values) @ table.row_weights) / table.total_weight
