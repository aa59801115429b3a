"""The search: sequential or parallel trials, each recorded as it ends."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from typing import Any, NamedTuple

from tractable.base.processes import run_in_processes
from tractable.base.progress import Watch
from tractable.learning.tuning.best import Best
from tractable.learning.tuning.journal import Journal
from tractable.learning.tuning.samplers import SAMPLERS
from tractable.learning.tuning.trial import Outcome, Problem, TimeBudget, Trial, TrialTask, attempt


class SearchPlan(NamedTuple):
    """The number of trials, the number of parallel trials, and the time budget."""

    trials: int  # in all, with those of earlier runs
    jobs: int  # trials side by side
    seconds: float | None  # in which to do them


class TrialSearch:
    """A search that runs the remaining trials."""

    def __init__(
        self, problem: Problem, best: Best, journal: Journal | None, watch: Watch, plan: SearchPlan
    ) -> None:
        self._problem = problem
        self._sampler = SAMPLERS[problem.sampler]
        self._best = best
        self._journal = journal
        self._watch = watch
        self._count = plan.trials
        self._jobs = plan.jobs
        self._budget = TimeBudget(plan.seconds, plan.jobs)
        self._given_up: list[Outcome] = []  # trials that somebody interrupted
        self.trials: list[Trial] = [] if journal is None else list(journal.trials)

    def run(self) -> None:
        """Run trials up to the planned number, the end of the budget or an interrupt.

        There is a model afterwards in any case.
        """
        done = {trial.number for trial in self.trials}
        pending = [number for number in range(self._count) if number not in done]
        for numbers in self._rounds(pending):
            if not self._goes_on():
                break
            self._round(numbers, to_come=len(pending) - pending.index(numbers[0]))
        self._finish()

    def _rounds(self, pending: Sequence[int]) -> Iterator[list[int]]:
        """Groups of trials that may run in parallel; adaptive samplers wait for all earlier trials."""
        if not self._sampler.learns:
            yield from [list(pending)] if pending else []
            return
        for _, numbers in groupby(pending, key=lambda number: number // self._jobs):
            yield list(numbers)

    def _goes_on(self) -> bool:
        return not self._watch.should_stop() or not (self.trials or self._given_up)

    def _round(self, numbers: Sequence[int], to_come: int) -> None:
        first = numbers[0] - numbers[0] % self._jobs
        earlier = sorted((t for t in self.trials if t.number < first), key=lambda trial: trial.number)

        def tasks() -> Iterator[TrialTask]:
            for place, number in enumerate(numbers):
                if place == 0 or not self._watch.should_stop():
                    seconds = self._seconds(to_come - place)
                    yield self._task(number, self._settings(number, earlier), seconds)

        workers = min(self._jobs, len(numbers))
        here = (attempt(task, self._watch) for task in tasks())
        elsewhere = run_in_processes(attempt, tasks(), self._watch, workers, most=workers)
        with closing(elsewhere if workers > 1 else here) as outcomes:
            for outcome in outcomes:
                self._record(outcome)

    def _seconds(self, to_come: int) -> float | None:
        """The time limit of the next trial."""
        first = next((trial for trial in self.trials if trial.number == 0), None)
        if first is None:
            return self._budget.for_defaults(to_come)
        return self._budget.share(to_come, first.seconds if first.finished else None)

    def _settings(self, number: int, earlier: Sequence[Trial]) -> Mapping[str, Any]:
        problem = self._problem
        if number == 0:
            return problem.defaults
        return self._sampler.settings(problem.space, problem.defaults, problem.seed, number, earlier)

    def _task(self, number: int, settings: Mapping[str, Any], seconds: float | None) -> TrialTask:
        problem = self._problem
        return TrialTask(
            number=number,
            settings=settings,
            learner=problem.learner(settings),
            train=problem.train,
            valid=problem.valid,
            seed=problem.seed,
            seconds=seconds,
        )

    def _record(self, outcome: Outcome) -> None:
        trial = outcome.trial
        if outcome.interrupted:  # it is done again, whole, when the search goes on
            self._given_up.append(outcome)
            return
        # The model goes first: a kill between the two costs a trial done twice, not a model.
        if outcome.graph is not None:
            self._best.offer(trial, outcome.graph)
        if self._journal is not None:
            self._journal.add(trial)
        self.trials.append(trial)
        score = None if self._best.trial is None else self._best.trial.score
        self._watch.report("trials", len(self.trials), self._count, score)

    def _finish(self) -> None:
        """Make sure that there is a model: an interrupted one, or a lost one learned again.

        Raises:
            KeyboardInterrupt: if the search was interrupted before there was a model.
        """
        if self._best.trial is None:
            begun = max(self._given_up, key=lambda outcome: outcome.trial.rank, default=None)
            if begun is None or begun.graph is None:
                raise KeyboardInterrupt
            self.trials.append(begun.trial)
            self._best.keep(begun.trial, begun.graph)
        elif self._best.circuit is None:
            self._learn_again(self._best.trial)
        self.trials.sort(key=lambda trial: trial.number)

    def _learn_again(self, trial: Trial) -> None:
        seconds = None if trial.finished else trial.seconds
        outcome = attempt(self._task(trial.number, trial.settings, seconds), self._watch)
        if outcome.graph is None:
            raise ValueError(f"trial {trial.number} could not be learned again: {outcome.trial.fault}")
        self._best.keep(outcome.trial if outcome.interrupted else trial, outcome.graph)
