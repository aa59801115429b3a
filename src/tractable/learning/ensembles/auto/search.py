"""The schedule of members: rounds that give more time to fewer learners.

Jamieson and Talwalkar, «Non-stochastic Best Arm Identification and Hyperparameter Optimization», 2016, halve
the number of arms in each round. Here an arm is a learner, whose value is the loss of the mixture without it;
it continues its unfinished member or, if there is none, starts the next one.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from math import inf, isfinite

import numpy as np
from joblib import effective_n_jobs

from tractable.base.arrays import Floats
from tractable.base.processes import ProcessKilledError, run_in_processes
from tractable.base.progress import InnerWatch, Progress, Watch
from tractable.base.threads import default_threads
from tractable.learning.ensembles.auto.candidates import (
    FLOOR,
    Candidate,
    TableFacts,
    candidates_for,
    kinds_for,
)
from tractable.learning.ensembles.auto.members import Fold, Member, Task
from tractable.learning.ensembles.auto.mixing import Mix, MixingSettings, mix
from tractable.learning.learner import Learner

FIRST_SHARE = 0.4  # of the time goes to the first round ...
SECOND_SHARE = 0.5  # ... of the rest to the second one, and what is left to the third and later ones
LEAST_SECONDS, MOST_LEAST = 3.0, 20.0  # that a member needs in the first round, of small and of large tables
CELLS_A_SECOND = 100_000  # of a table; with less time for a member than that, fewer learners are tried
LEAST_GAIN = 1e-3  # nats a row that a round must gain, beyond its standard error, for another one


class MemberSearch:
    """A run of the search."""

    def __init__(
        self,
        folds: list[Fold],
        facts: TableFacts,
        settings: MixingSettings,
        make: Callable[[Candidate], Learner],
        seed: int,
    ) -> None:
        self._folds = folds
        self._row_weights: Floats = np.concatenate([fold.scored.row_weights for fold in folds])
        self._how = settings
        self._make = make
        self._seed = seed
        self._workers = 1 if facts.is_tiny or effective_n_jobs(-1) == 1 else default_threads()
        self._least = min(MOST_LEAST, max(LEAST_SECONDS, facts.distinct * facts.columns / CELLS_A_SECOND))
        self._kinds = kinds_for(facts)
        self._plan = {kind: candidates_for(kind, facts) for kind in (*FLOOR, *self._kinds)}
        self._members: dict[str, Member] = {}  # by the name of the candidate
        self._mix: Mix | None = None
        self._score: float | None = None  # of the best mixture so far

    def run(self, outer: Watch) -> None:
        """Learn members until the time is over, no candidate is left, or the mixture no longer improves."""

        def tell(progress: Progress) -> None:
            outer.report(*progress[:3], self._score)

        watch = InnerWatch(outer, tell)
        self._learn_floor(watch)
        number = 0
        while not watch.should_stop():
            tasks = self._tasks(number, watch.left)
            if not tasks:
                break
            before = self.mix()
            self._round(tasks, watch)
            number += 1
            done = [self._members[task.candidate.name] for task in tasks if self._has(task)]
            if number > 1 and all(member.finished for member in done) and not self._gained(before):
                break

    def mix(self) -> Mix:
        """The best mixture so far."""
        if self._mix is None:
            usable = [member for _, member in sorted(self._members.items()) if member.graph is not None]
            self._mix = mix(usable, self._row_weights, self._how)
        return self._mix

    @property
    def faults(self) -> list[Member]:
        """The candidates without a model, with the reasons."""
        return [member for _, member in sorted(self._members.items()) if member.graph is None]

    def _learn_floor(self, watch: Watch) -> None:
        """The baseline models; the first one is learned even if there is no time."""
        for kind in FLOOR:
            if not self._members or not watch.should_stop():
                self._record(self._task(self._plan[kind][0], None).run(watch), watch)

    def _round(self, tasks: Sequence[Task], watch: Watch) -> None:
        with suppress(ProcessKilledError), closing(self._members_of(tasks, watch)) as members:
            for member in members:
                self._record(member, watch)
        lost = [task for task in tasks if not self._has(task)]
        if lost and not watch.should_stop():  # a process was killed, for want of memory as a rule
            self._workers = 1
            for task in lost:
                killed = Member(task.candidate, None, np.zeros(0), 0.0, True, "its process was killed")
                self._members[task.candidate.name] = killed

    def _members_of(self, tasks: Sequence[Task], watch: Watch) -> Generator[Member, None, None]:
        """The members as soon as they are available, without those that would start after the end."""
        waiting = (task for task in tasks if not watch.should_stop())
        workers = min(self._workers, len(tasks))
        if workers == 1:
            return (task.run(watch) for task in waiting)
        return run_in_processes(
            Task.run, waiting, watch, workers, most=workers, part=lambda task: task.candidate.name
        )

    def _record(self, member: Member, watch: Watch) -> None:
        name = member.candidate.name
        self._members[name] = member.after(self._members.get(name), self._row_weights)
        self._mix = None
        if any(m.graph is not None for m in self._members.values()):
            self._score = self.mix().score
        watch.report("members", len(self._members))

    def _tasks(self, number: int, left: float | None) -> list[Task]:
        """The tasks of a round, each with its share of the round's time."""
        share = {0: FIRST_SHARE, 1: SECOND_SHARE}.get(number, 1.0)
        seconds = inf if left is None else left * share
        most = len(self._kinds) if number == 0 else max(self._workers, len(self._kinds) >> number)
        if number == 0 and isfinite(seconds):
            most = min(most, max(1, int(seconds * self._workers / self._least)))
        chosen = [candidate for kind in self._ranked() if (candidate := self._next(kind)) is not None][:most]
        span = total_span([candidate.share for candidate in chosen], self._workers)
        return [self._task(c, c.share * seconds / span if isfinite(seconds) else None) for c in chosen]

    def _ranked(self) -> list[str]:
        """The learners in descending order of contribution, then those not tried yet."""
        mixed = self.mix()

        def worth(kind: str) -> tuple[float, float]:
            mine = [m for m in mixed.members if m.candidate.learner == kind]
            if not mine:
                return (0.0 if self._is_new(kind) else -inf, -self._kinds.index(kind))
            loss = mixed.loss_without(kind)
            best = max(float(self._row_weights @ m.logs) for m in mine)
            return (loss if loss > LEAST_GAIN else -1.0, best)

        return sorted(self._kinds, key=worth, reverse=True)

    def _next(self, kind: str) -> Candidate | None:
        """The next unfinished candidate of a learner, or None."""
        for candidate in self._plan[kind]:
            member = self._members.get(candidate.name)
            if member is None or not member.finished:
                return candidate
            if member.graph is None:
                return None
        return None

    def _is_new(self, kind: str) -> bool:
        return self._plan[kind][0].name not in self._members

    def _has(self, task: Task) -> bool:
        return task.candidate.name in self._members

    def _gained(self, before: Mix) -> bool:
        """Whether the mixture has improved significantly."""
        gain = self.mix().logs - before.logs
        rows = self._row_weights
        known = np.isfinite(gain)
        if not known.all():
            return True
        mean = float(rows @ gain) / float(rows.sum())
        spread = float(rows @ (gain - mean) ** 2) / float(rows.sum())
        return mean > max(LEAST_GAIN, (spread / float(rows.sum())) ** 0.5)

    def _task(self, candidate: Candidate, seconds: float | None) -> Task:
        return Task(candidate, self._make(candidate), self._folds, self._seed, seconds)


def total_span(lengths: Sequence[float], workers: int) -> float:
    """The total duration of tasks with given durations on a number of workers."""
    busy = [0.0] * workers
    for length in lengths:
        busy[busy.index(min(busy))] += length
    return max(busy)
