"""The trees that become the components of the mixture, and their weights.

Points that are spread evenly serve many models badly: most of them lie where hardly a row is. Here a fixed
number of points, their weights and the decoders are trained together, so that each point finds its rows.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.arrays import AnyArray, Floats
from tractable.learners.continuous.course import Course, Schedule, Speed
from tractable.learners.continuous.decoder import Decoder, unit_factors
from tractable.learners.continuous.likelihood import mean_score, shares
from tractable.learners.continuous.points import latent_points
from tractable.learners.continuous.rows import TreeRows
from tractable.learners.continuous.shape import TreeShape
from tractable.learners.continuous.training import Strength, TrainingData
from tractable.learners.continuous.trees import Trees
from tractable.parameters.mini_batches import mini_batches
from tractable.progress import Form, Stopped, Watch, generator_state, restore_generator

POINT_STEP, WEIGHT_STEP = 0.02, 0.05
SCORE_STEPS = 20  # steps between two scores
PATIENCE = 5  # scores without a better one before the step size falls
MOST_STEPS, LEAST_STEPS = 1000, 60  # before it falls in any case; in between one for each row
TRIAL_STEPS = 60  # of a trial that tells which decoder will be best
ARRAYS = len(Decoder._fields)


class Components(NamedTuple):
    """Decoders, points (latent, points) of each, and the log-weights of all points."""

    decoders: list[Decoder]
    points: list[AnyArray]
    log_weight: AnyArray

    @classmethod
    def begin(cls, decoders: Sequence[Decoder], count: int) -> "Components":
        """Points that are spread evenly, about as many for each decoder."""
        sizes = [len(part) for part in np.array_split(np.arange(count), len(decoders))]
        dtype = decoders[0].weight1.dtype
        points = [latent_points(n, d.latent).astype(dtype) for n, d in zip(sizes, decoders, strict=True)]
        return cls(list(decoders), list(points), np.full(count, -np.log(count), dtype=dtype))

    @classmethod
    def from_arrays(cls, arrays: Sequence[AnyArray]) -> "Components":
        """Components that look at arrays in the order of `arrays`."""
        count = (len(arrays) - 1) // (ARRAYS + 1)
        decoders = [Decoder(*arrays[i * ARRAYS : (i + 1) * ARRAYS]) for i in range(count)]
        return cls(decoders, list(arrays[count * ARRAYS : -1]), arrays[-1])

    def arrays(self) -> list[AnyArray]:
        """All parameters: those of the decoders, the points, and the log-weights."""
        return [*(array for decoder in self.decoders for array in decoder), *self.points, self.log_weight]

    def trees(self, shape: TreeShape, dtype: type[np.floating] | None = None) -> Trees:
        """The trees at the points, with the precision of the points or a given one."""
        outputs = [
            Decoder(*(each.astype(dtype or each.dtype, copy=False) for each in decoder)).outputs(
                z.astype(dtype or z.dtype, copy=False)
            )
            for decoder, z in zip(self.decoders, self.points, strict=True)
        ]
        return Trees.from_outputs(shape, np.concatenate(outputs, axis=1))

    @property
    def log_shares(self) -> AnyArray:
        """The log-weights, normalised."""
        return np.asarray(self.log_weight - np.logaddexp.reduce(self.log_weight))


class Found(NamedTuple):
    """Trained components."""

    components: Components
    score: float  # mean log-likelihood of the held-out rows
    hurried: bool  # whether more time would have led further


FOUND_FORM: Form[Found] = Form(
    lambda found: [found.components.arrays(), found.score, found.hurried],
    lambda state: Found(Components.from_arrays(state[0]), *state[1:]),
)


@dataclass(frozen=True, eq=False)
class ComponentTrainer:
    """A way to train components."""

    data: TrainingData
    strength: Strength
    batch: int  # rows of each step

    def run(self, start: Components, seed: int, watch: Watch) -> Found:
        """The components of the best score. More time goes on where the step size had not begun to fall."""
        steps = min(MOST_STEPS, LEAST_STEPS + len(self.data.rows))
        found = self._train(start, Schedule(patience=PATIENCE, steps=steps), seed, watch)
        if found.hurried:
            watch.note_hurry()
        return found

    def trial(self, start: Components, seed: int, watch: Watch) -> float:
        """The score after a few steps."""
        return self._train(start, Schedule(patience=PATIENCE, steps=TRIAL_STEPS), seed, watch).score

    def _train(self, start: Components, how: Schedule, seed: int, watch: Watch) -> Found:
        rng = np.random.default_rng(seed)
        course = Course.begin(start.arrays())
        if (state := watch.checkpoint()) is not None:
            course = Course.from_state(state)
            restore_generator(rng, course.rng)
        with suppress(Stopped):
            self._climb(course, how, rng, watch)
        return Found(Components.from_arrays(course.best), course.best_score, course.hurried)

    def _climb(self, course: Course, how: Schedule, rng: np.random.Generator, watch: Watch) -> None:
        speed = Speed(course.step)
        if course.step == 0:
            watch.break_off()
            course.record(self._score(course), how)
        while not course.is_over(how):
            for part, times in mini_batches(self.data.rows.weights, self.batch, rng):
                watch.break_off()
                self._step(course, self.data.rows.take(part), times, rng)
                if course.step % SCORE_STEPS == 0:
                    course.record(self._score(course), how)
                    course.hurry(speed.steps_left(course.step, watch.left))
                if course.is_over(how):
                    break
            watch.report("components", course.step, None, course.best_score)
            course.rng = generator_state(rng)
            if not course.hurried:
                watch.save_checkpoint(course.state)

    def _score(self, course: Course) -> float:
        average = Components.from_arrays(course.average)
        return mean_score(average.trees(self.data.shape), average.log_shares, self.data.held_out)

    def _step(self, course: Course, rows: TreeRows, times: Floats, rng: np.random.Generator) -> None:
        now = Components.from_arrays(course.values)
        gradient = self.gradient(now, rows, times, rng)
        size = self.strength.joint_step
        shrinkage = size * course.pace
        networks, points = ARRAYS * len(now.decoders), len(now.points)
        course.climb(gradient, [size] * networks + [POINT_STEP] * points + [WEIGHT_STEP])
        for decoder in now.decoders:
            self.strength.shrink(decoder, self.data.shape.base.statistics, shrinkage)
        course.end_step()

    def gradient(
        self, now: Components, rows: TreeRows, times: Floats, rng: np.random.Generator
    ) -> list[AnyArray]:
        """The derivatives of the mean log-likelihood of rows that count several times, by all parameters."""
        traces = [
            decoder.trace(z, unit_factors(z.shape[1], self.strength.dropout, rng, z.dtype))
            for decoder, z in zip(now.decoders, now.points, strict=True)
        ]
        trees = Trees.from_outputs(self.data.shape, np.concatenate([t.output for t in traces], axis=1))
        share = shares(trees.log_likelihoods(rows) + now.log_weight)[0]
        share *= (times / times.sum()).astype(share.dtype)[:, None]
        ends = np.cumsum([z.shape[1] for z in now.points])[:-1]
        slopes = np.split(trees.output_gradient(rows, share), ends, axis=1)
        both = list(zip(traces, slopes, strict=True))
        return [
            *(array for trace, slope in both for array in trace.gradient(slope)),
            *(trace.point_gradient(slope) for trace, slope in both),
            share.sum(axis=0) - np.exp(now.log_shares),
        ]
