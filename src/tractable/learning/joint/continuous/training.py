"""Training of a decoder on random points of the latent space."""

import time
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Stopped, Watch
from tractable.learning.joint.continuous.components import latent_points, plain_score, shares
from tractable.learning.joint.continuous.course import COURSE, Course, Schedule, Speed
from tractable.learning.joint.continuous.decoder import Decoder, initial_decoder, unit_factors
from tractable.learning.joint.continuous.rows import TreeRows
from tractable.learning.joint.continuous.shape import TreeShape
from tractable.learning.joint.continuous.trees import Trees
from tractable.learning.parameters.online_em import mini_batches

MANY_ROWS = 12_000
STEP_SIZE = 3e-3
LEAST_STEPS = 10  # of a pass: small tables are gone through several times
LEAST_LATENT, COLUMNS_A_DIMENSION = 8, 6  # dimensions of the latent space for narrow tables


@dataclass(frozen=True, kw_only=True)
class Strength:
    """The strength of regularisation of a decoder; decays are per unit of step size."""

    latent: int  # dimensions, at most
    dropout: float  # of units of the last hidden layer
    decay: float  # of all weights but those of links
    link_decay: float  # of weights of the outputs that tell how a link changes a column
    link_bias_decay: float  # of their biases
    joint_step: float  # step size of the decoder while the components are trained

    def shrink(self, decoder: Decoder, base: int, size: float) -> None:
        """Shrink weights in place; the first `base` outputs are not differences from a base cell."""
        keep = max(0.0, 1 - size * self.decay)
        link, link_bias = (max(0.0, 1 - size * d) for d in (self.link_decay, self.link_bias_decay))
        arrays = (
            decoder.weight1,
            decoder.weight2,
            decoder.weight3[:base],
            decoder.weight3[base:],
            decoder.bias3[base:],
        )
        for array, factor in zip(arrays, (keep, keep, keep, link, link_bias), strict=True):
            np.multiply(array, factor, out=array)


STRENGTHS = {
    "strong": Strength(
        latent=16, dropout=0.2, decay=1.0, link_decay=100.0, link_bias_decay=3.0, joint_step=2e-3
    ),
    "medium": Strength(
        latent=16, dropout=0.2, decay=0.5, link_decay=0.5, link_bias_decay=0.0, joint_step=5e-4
    ),
    "weak": Strength(
        latent=6, dropout=0.05, decay=0.1, link_decay=0.1, link_bias_decay=0.0, joint_step=3e-4
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The data of training: structure, initial outputs, rows and held-out rows."""

    shape: TreeShape
    start: Floats  # (statistics,)
    rows: TreeRows
    held_out: TreeRows

    @property
    def has_few_rows(self) -> bool:
        """Whether there are so few rows that overfitting is the main risk."""
        return bool(self.rows.weights.sum() < MANY_ROWS)


class Trained(NamedTuple):
    """A decoder and its score on the held-out rows."""

    decoder: Decoder
    score: float
    hurried: bool  # whether more time would have led further


@dataclass(frozen=True, eq=False)
class Trainer:
    """A trainer of decoders."""

    data: TrainingData
    strength: Strength
    schedule: Schedule
    points: int  # of each step
    batch: int  # rows of each step

    def run(self, seed: int, watch: Watch) -> Trained:
        """The decoder after training, or when the watch says to stop."""
        rng = np.random.default_rng(seed)
        course = Course.begin(initial_decoder(self.data.shape, self.data.start, self._latent(), rng))
        course = watch.checkpoint(COURSE, rng) or course
        try:
            self._train(course, rng, watch)
        except Stopped:
            course.hurried = True
            if not np.isfinite(course.best_score):  # the average so far is all there is
                course.best = course.average
        return Trained(Decoder(*course.best), course.best_score, course.hurried)

    def seconds_a_step(self) -> float:
        """The duration of a step once everything is compiled."""
        rng = np.random.default_rng(0)
        course = Course.begin(initial_decoder(self.data.shape, self.data.start, self._latent(), rng))
        part, times = next(iter(mini_batches(self.data.rows.weights, self.batch, rng)))
        seconds = inf
        for _ in range(2):
            begin = time.monotonic()
            self._step(course, self.data.rows.take(part), times, rng)
            seconds = min(seconds, time.monotonic() - begin)
        return seconds

    def _train(self, course: Course, rng: np.random.Generator, watch: Watch) -> None:
        speed = Speed(course.step)
        while not course.is_over(self.schedule):
            for _ in range(self._rounds()):
                self._pass(course, rng, watch)
            average = Decoder(*course.average)
            score = plain_score(self.data.shape, average, self.points, self.data.held_out)
            course.record(score, self.schedule)
            course.hurry(speed.steps_left(course.step, watch.left))
            watch.report("network", course.step, None, course.best_score)
            watch.save_checkpoint(COURSE, lambda: course, rng)

    def _latent(self) -> int:
        """The dimension of the latent space, which is smaller for few columns."""
        columns = len(self.data.shape.schema)
        return min(self.strength.latent, max(LEAST_LATENT, columns // COLUMNS_A_DIMENSION))

    def _rounds(self) -> int:
        """The number of passes over the rows between two scores, which is larger for small tables."""
        return ceil(LEAST_STEPS / _steps_a_pass(self.data.rows, self.batch))

    def _pass(self, course: Course, rng: np.random.Generator, watch: Watch) -> None:
        """A pass over all rows."""
        for part, times in mini_batches(self.data.rows.weights, self.batch, rng):
            watch.break_off()
            self._step(course, self.data.rows.take(part), times, rng)
            if course.is_over(self.schedule):
                break

    def _step(self, course: Course, rows: TreeRows, times: Floats, rng: np.random.Generator) -> None:
        decoder = Decoder(*course.values)
        dtype: np.dtype[Any] = decoder.weight1.dtype
        shift = rng.random(decoder.latent)
        points = latent_points(self.points, decoder.latent, shift).astype(dtype)
        trace = decoder.trace(points, unit_factors(self.points, self.strength.dropout, rng, dtype))
        trees = Trees.from_outputs(self.data.shape, trace.output)
        share = shares(trees.log_likelihoods(rows))[0]
        share *= (times / times.sum()).astype(dtype)[:, None]
        gradient, _ = trace.gradient(trees.output_gradient(rows, share))
        size = STEP_SIZE * course.pace
        course.climb(gradient, [STEP_SIZE] * len(decoder))
        self.strength.shrink(decoder, self.data.shape.base.statistics, size)
        course.end_step()


def steps_a_score(rows: TreeRows, batch: int) -> float:
    """The number of steps between two scores of the held-out rows."""
    return max(LEAST_STEPS, _steps_a_pass(rows, batch))


def _steps_a_pass(rows: TreeRows, batch: int) -> float:
    return max(1.0, float(rows.weights.sum()) / batch)
