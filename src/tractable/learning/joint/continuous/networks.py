"""Training of networks with several strengths, as far as time allows."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tractable.base.processes import rounds_of, side_by_side
from tractable.base.progress import Key, Watch
from tractable.base.threads import default_threads
from tractable.learning.joint.continuous.components import Components
from tractable.learning.joint.continuous.joint_training import ComponentTrainer
from tractable.learning.joint.continuous.training import (
    STRENGTHS,
    Trained,
    Trainer,
    TrainingData,
)

NETWORK_PART = 0.2  # of the time that each of several networks may take, if there is enough for ...
ENOUGH_STEPS = 300  # ... so many steps of it ...
LONE_PART = 0.4  # ... and the part that the only one may take otherwise
JOINT_TIMES = 2  # the time that training the components takes, beside that of a network
WIDE = 100  # columns from which on regularisation is strong at first, if rows are few


class Choice(NamedTuple):
    """The strength with the best score on the held-out rows, and its networks."""

    strength: str
    networks: list[Trained]


Plan = tuple[str, int]  # a strength, and a seed
TRIAL, NETWORK = Key(__name__, "trial", float), Key(__name__, "network", Trained)


@dataclass(eq=False)
class NetworkTraining:
    """Trains networks in parallel, each within a share of the time."""

    data: TrainingData
    trainer: Trainer
    watch: Watch
    trained: dict[Plan, Trained] = field(default_factory=dict)
    seconds: float | None = field(init=False)  # that a network may take
    longest: float = 0.0  # seconds that one took, at most

    def __post_init__(self) -> None:
        left = self.watch.left
        self.seconds = left
        if left is not None:
            enough = ENOUGH_STEPS * self.trainer.seconds_a_step()
            self.seconds = left * (NETWORK_PART if left * NETWORK_PART > enough else LONE_PART)

    def choose(self, names: Sequence[str], seeds: Sequence[int], count: int) -> Choice:
        """Networks with the best strength on the held-out rows, one for each seed.

        Strengths are compared after a few steps of training `count` components, since evenly distributed
        points favour small latent spaces. If time is short, other strengths are omitted first, and then all
        networks but the first.
        """
        best = names[0]
        self._run([(best, seed) for seed in seeds[: default_threads()]])
        others = [(name, seeds[0]) for name in names[1:]]
        hurried = self.trained[best, seeds[0]].hurried  # then a comparison would say little
        if others and not hurried and self._has_time(others, [(best, seed) for seed in seeds]):
            self._run(others)
            trials = side_by_side([partial(self._trial, name, seeds[0], count) for name in names], self.watch)
            best = names[int(np.argmax(trials))]
        plans = [(best, seed) for seed in seeds]
        if self._has_time(plans):
            self._run(plans)
        return Choice(best, [self.trained[plan] for plan in plans if plan in self.trained])

    def _run(self, plans: Sequence[Plan]) -> None:
        """Train the networks that are not trained yet."""
        plans = self._missing(plans)
        if plans:
            begin = time.monotonic()
            works = [partial(self._train, *plan) for plan in plans]
            self.trained |= dict(zip(plans, side_by_side(works, self.watch, self.seconds), strict=True))
            self.longest = max(self.longest, (time.monotonic() - begin) / rounds_of(len(plans)))

    def _has_time(self, *groups: Sequence[Plan]) -> bool:
        """Whether there is time for the networks, and for the components afterwards."""
        if self.watch.should_stop():
            return False
        if self.watch.left is None:
            return True
        times = sum(rounds_of(len(self._missing(group))) for group in groups) + JOINT_TIMES
        return self.watch.left > self.longest * times

    def _missing(self, plans: Sequence[Plan]) -> list[Plan]:
        return [plan for plan in plans if plan not in self.trained]

    def _trial(self, name: str, seed: int, count: int, watch: Watch) -> float:
        """The score of the components of a network after a few steps."""
        trainer = ComponentTrainer(self.data, STRENGTHS[name], self.trainer.batch)
        start = Components.begin(self.trained[name, seed].decoder, count)
        return watch.remember(TRIAL.at(name), partial(trainer.trial, start, 0))

    def _train(self, name: str, seed: int, watch: Watch) -> Trained:
        trainer = replace(self.trainer, strength=STRENGTHS[name])
        return watch.remember(NETWORK.at(name, seed), partial(trainer.run, seed))


def strengths_for(data: TrainingData) -> list[str]:
    """All strengths in the order of trial."""
    strong = len(data.shape.schema) > WIDE and data.has_few_rows
    first = "strong" if strong else "medium"
    return [first, *(name for name in STRENGTHS if name != first)]
