"""Networks of several strengths, as many as there is time for."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import NamedTuple

from joblib import Parallel, delayed

from tractable.learners.continuous.components import Components, ComponentTrainer
from tractable.learners.continuous.training import STRENGTHS, TRAINED_FORM, Trained, Trainer, TrainingData
from tractable.progress import PLAIN, Form, InnerWatch, Watch
from tractable.threads import default_threads

JOINT_TIMES = 3  # the time that training the components takes, beside that of a network
WIDE, MANY_ROWS = 100, 12_000  # columns from which, and rows up to which, regularisation is strong at first


class Choice(NamedTuple):
    """The strength that suits the held-out rows best, and networks of it."""

    strength: str
    networks: list[Trained]


CHOICE_FORM: Form[Choice] = Form(
    lambda choice: [choice.strength, [TRAINED_FORM.to_state(each) for each in choice.networks]],
    lambda state: Choice(state[0], [TRAINED_FORM.from_state(each) for each in state[1]]),
)


@dataclass(eq=False)
class NetworkTraining:
    """Trains networks side by side, on as many threads as there are."""

    data: TrainingData
    trainer: Trainer
    watch: Watch
    longest: float = 0.0  # seconds that networks took, at most

    def run(self, plans: list[tuple[str, int]], part: float | None = None) -> list[Trained]:
        """A network for each strength and seed; `part` of the time budget is the most that they take."""
        threads = min(default_threads(), max(1, len(plans)))
        seconds = None if self.watch.left is None or part is None else self.watch.left * part
        begin = time.monotonic()
        trained = Parallel(threads, prefer="threads")(delayed(self._train)(*p, seconds) for p in plans)
        rounds = ceil(len(plans) / threads)
        if rounds:
            self.longest = max(self.longest, (time.monotonic() - begin) / rounds)
        return list(trained)

    def has_time(self, *groups: Sequence[object]) -> bool:
        """Whether there is time for groups of networks, and for the components afterwards."""
        if self.watch.should_stop():
            return False
        if self.watch.left is None:
            return True
        times = sum(ceil(len(group) / default_threads()) for group in groups) + JOINT_TIMES
        return self.watch.left > self.longest * times

    def trial(self, name: str, trained: Trained, count: int) -> float:
        """The score of components that a network has soon."""
        trainer = ComponentTrainer(self.data, STRENGTHS[name], self.trainer.batch)
        start = Components.begin([trained.decoder], count)
        return self.watch.remember(f"trial {name}", partial(trainer.trial, start, 0), PLAIN)

    def _train(self, name: str, seed: int, seconds: float | None) -> Trained:
        trainer = replace(self.trainer, strength=STRENGTHS[name])
        inner = InnerWatch(self.watch, seconds=seconds)
        return inner.remember(f"{name} {seed}", partial(trainer.run, seed), TRAINED_FORM)


def strengths_for(data: TrainingData) -> list[str]:
    """All strengths, the most promising one first: there may be no time for others."""
    strong = len(data.shape.schema) > WIDE and data.rows.weights.sum() < MANY_ROWS
    first = "strong" if strong else "medium"
    return [first, *(name for name in STRENGTHS if name != first)]
