"""Which runs stand for which learners, and who is better than whom."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from tractable.cli.benchmark.datasets import published_first
from tractable.cli.benchmark.published import counterparts
from tractable.cli.benchmark.questions import Answers
from tractable.cli.benchmark.runs import Measured, Run
from tractable.cli.benchmark.significance import Verdict, verdict


@dataclass(frozen=True)
class Comparison:
    """For each data set and learner the run that stands for it: of several the best on validation rows."""

    runs: tuple[Run, ...]  # all of them, those that failed, too
    chosen: dict[str, dict[str, Run]]  # by data set and learner; those that went well
    failed: frozenset[tuple[str, str]]  # data sets and learners of which no run went well
    against: str  # the learner that marks compare with

    @property
    def datasets(self) -> list[str]:
        """The data sets, in the order of the published tables."""
        return list(self.chosen)

    @property
    def learners(self) -> list[str]:
        """The learners, in the order of the published tables, then the alphabet."""
        order = list(counterparts())
        names = {run.learner for run in self.runs}
        return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))

    @property
    def networks(self) -> list[str]:
        """The learners of networks, which have no log-likelihoods, and whose answers are approximate."""
        runs = [run for of_set in self.chosen.values() for run in of_set.values()]
        names = {run.learner for run in runs if run.measured is not None and run.measured.is_network}
        return [name for name in self.learners if name in names]

    def measured(self, dataset: str, learner: str) -> Measured | None:
        """What was measured of a learner on a data set."""
        run = self.chosen[dataset].get(learner)
        return None if run is None else run.measured

    def verdict(self, dataset: str, learner: str, other: str | None = None) -> Verdict:
        """Whether a learner's test rows are significantly more probable than another's."""
        ours, theirs = self.measured(dataset, learner), self.measured(dataset, other or self.against)
        if ours is None or theirs is None or ours.is_network or theirs.is_network:
            return ""
        return verdict(np.array(ours.log_prob), np.array(theirs.log_prob))

    def wins(self, learner: str, other: str) -> int:
        """On how many data sets a learner is significantly better than another."""
        return sum(self.verdict(dataset, learner, other) == "better" for dataset in self.datasets)

    def answers(self, dataset: str, learner: str, percent: int) -> Answers | None:
        """How a learner answered the questions of one percentage."""
        measured = self.measured(dataset, learner)
        answers = [] if measured is None else [one for one in measured.answers if one.percent == percent]
        return answers[0] if answers else None

    def answer_verdict(self, dataset: str, learner: str, percent: int) -> Verdict:
        """Whether a learner's answers are significantly better than those of `against`.

        There is no verdict if the queries differ, or only one of the learners answers by sampling.
        """
        ours = self.answers(dataset, learner, percent)
        theirs = self.answers(dataset, self.against, percent)
        if (
            ours is None
            or theirs is None
            or self._questions(dataset, learner) != self._questions(dataset, self.against)
            or (learner in self.networks) != (self.against in self.networks)
        ):
            return ""
        return verdict(np.array(ours.log_prob), np.array(theirs.log_prob))

    def _questions(self, dataset: str, learner: str) -> tuple[int, int]:
        """What settles which questions a run was asked."""
        run = self.chosen[dataset][learner]
        return run.seed, run.queries


def compare(runs: Iterable[Run], against: str, inputs: float | None = None) -> Comparison:
    """The comparison of all runs of joint models, or of targets given a share of the columns."""
    ordered = tuple(
        sorted(
            (r for r in runs if r.inputs == inputs), key=lambda run: (published_first(run.dataset), run.data)
        )
    )
    tables = [list(of_table) for _, of_table in groupby(ordered, key=lambda run: (run.dataset, run.data))]
    names = [of_table[0].dataset for of_table in tables]
    chosen: dict[str, dict[str, Run]] = {}
    failed: set[tuple[str, str]] = set()
    for name, of_table in zip(names, tables, strict=True):
        label = name if names.count(name) == 1 else f"{name} ({of_table[0].data})"
        chosen[label] = _best(of_table)
        failed |= {(label, run.learner) for run in of_table if run.learner not in chosen[label]}
    return Comparison(ordered, chosen, frozenset(failed), against)


def _best(runs: list[Run]) -> dict[str, Run]:
    best: dict[str, tuple[float, Run]] = {}
    for run in runs:
        if run.measured is not None:
            score = run.measured.valid_score
            if run.learner not in best or score > best[run.learner][0]:
                best[run.learner] = score, run
    return {learner: run for learner, (_, run) in best.items()}
