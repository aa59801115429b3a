"""Joint training of components: a fixed number of points, their weights and the decoder.

Evenly distributed points are inefficient, because most of them explain hardly any rows. They are therefore
trained together with the decoder. With few rows the score on the held-out rows may soon stop improving; then
training starts again with smaller steps.

Components of several networks are trained apart. Trained together, networks would divide the rows among them,
and each would know its own rows only: where rows are few, unseen ones become less likely. Trained apart, they
are several opinions of all rows. Where rows are many, all components from one network may be better than a
few from each.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import AnyArray, Floats
from tractable.base.processes import side_by_side
from tractable.base.progress import Key, Stopped, Watch
from tractable.learning.joint.continuous.components import Components, mean_score, row_logs, shares
from tractable.learning.joint.continuous.course import COURSE, Course, Schedule, Speed
from tractable.learning.joint.continuous.decoder import unit_factors
from tractable.learning.joint.continuous.rows import TreeRows
from tractable.learning.joint.continuous.training import Strength, Trained, TrainingData
from tractable.learning.joint.continuous.trees import Trees
from tractable.learning.parameters.online_em import mini_batches
from tractable.learning.statistics.stack_weights import fit_weights

POINT_STEP, WEIGHT_STEP = 0.02, 0.05
PACES = (1.0, 1 / 4)  # of all steps: the second one where the first one was too fast
SCORE_STEPS = 20  # steps between two scores
PATIENCE = 5  # scores without a better one before the step size falls
MOST_STEPS, LEAST_STEPS = 1000, 60  # before it falls in any case; in between one for each row
TRIAL_STEPS = 60  # of a trial that tells which decoder will be best


class Found(NamedTuple):
    """Trained components."""

    components: Components
    score: float  # mean log-likelihood of the held-out rows
    hurried: bool  # whether more time would have led further
    too_fast: bool  # whether smaller steps might have led further


AT_PACE = Key(__name__, "found at pace", Found)


@dataclass(frozen=True, eq=False)
class ComponentTrainer:
    """A way to train components."""

    data: TrainingData
    strength: Strength
    batch: int  # rows of each step
    pace: float = 1.0  # by which all step sizes are multiplied

    def run(self, start: Components, seed: int, watch: Watch) -> Found:
        """The components with the best score. Training continues if the step size had not been reduced."""
        steps = min(MOST_STEPS, LEAST_STEPS + len(self.data.rows))
        return self._best_pace(start, Schedule(patience=PATIENCE, steps=steps), seed, watch)

    def trial(self, start: Components, seed: int, watch: Watch) -> float:
        """The score after a few steps."""
        return self._train(start, Schedule(patience=PATIENCE, steps=TRIAL_STEPS), seed, watch).score

    def _best_pace(self, start: Components, schedule: Schedule, seed: int, watch: Watch) -> Found:
        """The components with the best score among several step sizes."""
        best: Found | None = None
        for pace in PACES:
            work = partial(replace(self, pace=pace)._train, start, schedule, seed)
            trained = watch.remember(AT_PACE.at(pace), work)
            gained = best is None or trained.score > best.score
            best = trained if best is None or gained else best._replace(hurried=trained.hurried)
            if not (gained and trained.too_fast) or watch.should_stop():
                break
        assert best is not None
        return best

    def _train(self, start: Components, schedule: Schedule, seed: int, watch: Watch) -> Found:
        rng = np.random.default_rng(seed)
        course = Course.begin(start.arrays())
        course = watch.checkpoint(COURSE, rng) or course
        with suppress(Stopped):
            self._climb(course, schedule, rng, watch)
        if course.hurried:
            watch.wish.note_hurry()
        components = Components.from_arrays(course.best)
        return Found(components, course.best_score, course.hurried, course.too_fast)

    def _climb(self, course: Course, schedule: Schedule, rng: np.random.Generator, watch: Watch) -> None:
        speed = Speed(course.step)
        if course.step == 0:
            watch.break_off()
            course.record(self._score(course), schedule)
        while not course.is_over(schedule):
            for part, times in mini_batches(self.data.rows.weights, self.batch, rng):
                watch.break_off()
                self._step(course, self.data.rows.take(part), times, rng)
                if course.step % SCORE_STEPS == 0:
                    course.record(self._score(course), schedule)
                    course.hurry(speed.steps_left(course.step, watch.left))
                if course.is_over(schedule):
                    break
            watch.report("components", course.step, None, course.best_score)
            if not course.hurried:
                watch.save_checkpoint(COURSE, lambda: course, rng)

    def _score(self, course: Course) -> float:
        average = Components.from_arrays(course.average)
        return mean_score(average.trees(self.data.shape), average.log_shares, self.data.held_out)

    def _step(self, course: Course, rows: TreeRows, times: Floats, rng: np.random.Generator) -> None:
        now = Components.from_arrays(course.values)
        gradient = self.gradient(now, rows, times, rng)
        size = self.strength.joint_step * self.pace
        sizes = [size] * len(now.decoder) + [POINT_STEP * self.pace, WEIGHT_STEP * self.pace]
        course.climb(gradient, sizes)
        self.strength.shrink(now.decoder, self.data.shape.base.statistics, size * course.pace)
        course.end_step()

    def gradient(
        self, now: Components, rows: TreeRows, times: Floats, rng: np.random.Generator
    ) -> list[AnyArray]:
        """The gradient of the mean log-likelihood of weighted rows with respect to all parameters."""
        kept = unit_factors(now.points.shape[1], self.strength.dropout, rng, now.points.dtype)
        trace = now.decoder.trace(now.points, kept)
        trees = Trees.from_outputs(self.data.shape, trace.output)
        share = shares(trees.log_likelihoods(rows) + now.log_weight)[0]
        share *= (times / times.sum()).astype(share.dtype)[:, None]
        decoder, points = trace.gradient(trees.output_gradient(rows, share))
        return [*decoder, points, share.sum(axis=0) - np.exp(now.log_shares)]


COMPONENTS = Key(__name__, "components", Found)

PSEUDO_COUNT = 1.0  # of the weights of members, so that few held-out rows leave none out
TO_SPARE = 3  # times the seconds that several members took that one with all components may take


def best_members(
    trainer: ComponentTrainer, networks: Sequence[Trained], count: int, seed: int, watch: Watch
) -> list[Components]:
    """Members with `count` components together, from all networks or, if it is better, from one of them."""
    begin = time.monotonic()
    several = train_members(trainer, networks, count, seed, watch)
    too_long = TO_SPARE * (time.monotonic() - begin)
    if len(networks) == 1 or trainer.data.has_few_rows or watch.should_stop():
        return several
    if watch.left is not None and watch.left < too_long:
        return several
    best = max(networks, key=lambda trained: trained.score)
    one = train_members(trainer, [best], count, seed, watch)
    rows = trainer.data.held_out
    return max(several, one, key=lambda members: mean_score(*mixed_trees(members, trainer), rows))


def train_members(
    trainer: ComponentTrainer, networks: Sequence[Trained], count: int, seed: int, watch: Watch
) -> list[Components]:
    """About as many components from each network, `count` of them together."""
    sizes = [len(part) for part in np.array_split(np.arange(count), len(networks))]
    seeds = np.random.default_rng(seed).integers(2**63, size=len(networks)).tolist()

    def train(place: int, watch: Watch) -> Found:
        start = Components.begin(networks[place].decoder, sizes[place])
        work = partial(trainer.run, start, seeds[place])
        return watch.remember(COMPONENTS.at(place, "of", len(networks)), work)

    members = side_by_side([partial(train, place) for place in range(len(networks))], watch)
    return [each.components for each in members]


def mixed_trees(members: Sequence[Components], trainer: ComponentTrainer) -> tuple[Trees, AnyArray]:
    """The trees of all members, and their log-weights; the held-out rows tell the weight of each member."""
    shape, rows = trainer.data.shape, trainer.data.held_out
    output = np.concatenate([member.exact_outputs() for member in members], axis=1)
    weights: Floats = np.ones(1)
    if len(members) > 1:
        logs = [row_logs(member.trees(shape), member.log_shares, rows) for member in members]
        weights = fit_weights(np.column_stack(logs), rows.weights, PSEUDO_COUNT).weights
    shares = [member.log_shares + np.log(w) for member, w in zip(members, weights, strict=True)]
    return Trees.from_outputs(shape, output), np.concatenate(shares)
