"""Training of a decoder by stochastic gradients, with early stopping on held-out rows.

The step size stays the same until the held-out rows have not become more likely for some passes; then it
falls to zero. A running average of the parameters is what is scored and kept.
"""

import time
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np

from tractable.arrays import AnyArray, Floats
from tractable.learners.continuous.adam import Adam, move_average
from tractable.learners.continuous.decoder import HIDDEN, Decoder, initial_decoder
from tractable.learners.continuous.likelihood import plain_score, shares
from tractable.learners.continuous.points import latent_points
from tractable.learners.continuous.rows import TreeRows
from tractable.learners.continuous.shape import TreeShape
from tractable.learners.continuous.trees import Trees
from tractable.parameters.mini_batches import mini_batches
from tractable.progress import Form, State, Stopped, Watch, generator_state, restore_generator

STEP_SIZE = 3e-3
WARM_UP = 30  # steps in which the step size grows to that
AVERAGE = 0.99  # how much of the running average of parameters stays after a step
LEAST_GAIN = 1e-3  # nats a row below which a better score is no reason to go on
LEAST_STEPS = 10  # of a pass: small tables are gone through several times
LEAST_LATENT, COLUMNS_A_DIMENSION = 8, 6  # dimensions of the latent space for narrow tables
TO_SPARE = 0.9  # share of the steps there is time for that are planned
FALL = 2 / 3  # length of the second phase, as a share of the steps that led to the best average


@dataclass(frozen=True, kw_only=True)
class Strength:
    """How strongly a decoder is regularised. Decays are shares of a weight that a unit of step size takes."""

    latent: int  # dimensions, at most
    dropout: float  # of units of the last hidden layer
    decay: float  # of all weights but those of links
    link_decay: float  # of weights of the outputs that tell how a link changes a column
    link_bias_decay: float  # of their biases


STRENGTHS = {
    "strong": Strength(latent=16, dropout=0.2, decay=1.0, link_decay=100.0, link_bias_decay=3.0),
    "medium": Strength(latent=16, dropout=0.2, decay=0.5, link_decay=0.5, link_bias_decay=0.0),
    "weak": Strength(latent=6, dropout=0.05, decay=0.1, link_decay=0.1, link_bias_decay=0.0),
}


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How training goes on."""

    points: int  # of each step
    batch: int  # rows of each step
    patience: int  # passes without a better score before the step size falls
    steps: int  # after which the step size falls in any case


@dataclass
class Course:
    """Training so far."""

    decoder: Decoder
    average: Decoder
    best: Decoder
    adam: Adam
    best_score: float = -np.inf
    best_step: int = 0
    since: int = 0  # passes since the best score
    passes: int = 0
    step: int = 0
    fall_begin: int = -1  # the step at which the step size began to fall; -1 before
    fall_steps: int = 0
    hurried: bool = False  # whether the step size fell for want of time
    rng: State = field(default=None)  # after the last pass

    @classmethod
    def begin(cls, decoder: Decoder) -> "Course":
        """Training that begins with a decoder."""
        return cls(copy_of(decoder), copy_of(decoder), copy_of(decoder), Adam(decoder))

    def state(self) -> State:
        """Training so far, for a checkpoint."""
        numbers = [self.best_score, self.best_step, self.since, self.passes, self.step]
        nets = [[*net] for net in (self.decoder, self.average, self.best)]
        falling = [self.fall_begin, self.fall_steps, self.hurried]
        return [*nets, self.adam.state(), *numbers, *falling, self.rng]

    @classmethod
    def from_state(cls, state: State) -> "Course":
        """Training that a state describes."""
        decoder, average, best, moments, *rest = state
        adam = Adam(decoder)
        adam.restore(moments)
        return cls(Decoder(*decoder), Decoder(*average), Decoder(*best), adam, *rest)

    def step_size(self) -> float:
        """The size of the next step."""
        size = STEP_SIZE * min(1.0, (self.step + 1) / WARM_UP)
        if self.fall_begin >= 0:
            size *= max(0.0, 1 - (self.step - self.fall_begin) / self.fall_steps)
        return size

    def record(self, score: float, how: Schedule) -> None:
        """Take in the score after a pass, and begin to lower the step size if it is time for that."""
        self.passes += 1
        self.since = 0 if score > self.best_score + LEAST_GAIN else self.since + 1
        if score > self.best_score:
            self.best, self.best_score, self.best_step = copy_of(self.average), score, self.step
        if self.fall_begin < 0 and (self.since >= how.patience or self.step >= how.steps):
            self._begin_fall(max(WARM_UP, int(FALL * self.best_step)))

    def hurry(self, steps_left: float) -> None:
        """Begin to lower the step size if there is only time for so few steps."""
        if self.fall_begin < 0 and steps_left < FALL * self.step:
            self._begin_fall(max(1, int(steps_left)))
            self.hurried = True

    def _begin_fall(self, steps: int) -> None:
        self.fall_begin, self.fall_steps, self.since = self.step, steps, 0

    def is_over(self, how: Schedule) -> bool:
        """Whether training has come to its end."""
        if self.fall_begin < 0:
            return False
        return self.step >= self.fall_begin + self.fall_steps or self.since >= 3 * how.patience


class Pace:
    """How fast training goes."""

    def __init__(self, step: int) -> None:
        self._first = step
        self._begin = time.monotonic()

    def steps_left(self, step: int, seconds: float | None) -> float:
        """The steps for which there will be time, but for some to spare."""
        if seconds is None:
            return inf
        done = max(1, step - self._first)
        return TO_SPARE * seconds * done / max(1e-9, time.monotonic() - self._begin)


def copy_of(decoder: Decoder) -> Decoder:
    """A decoder with arrays of its own."""
    return Decoder(*(each.copy() for each in decoder))


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What a mixture is trained for: a shape, the outputs to begin with, rows, and held-out rows."""

    shape: TreeShape
    start: Floats  # (statistics,)
    rows: TreeRows
    held_out: TreeRows


class Trained(NamedTuple):
    """A decoder, and the mean log-likelihood of the held-out rows."""

    decoder: Decoder
    score: float
    hurried: bool  # whether more time would have led further


TRAINED_FORM: Form[Trained] = Form(
    lambda trained: [[*trained.decoder], trained.score, trained.hurried],
    lambda state: Trained(Decoder(*state[0]), *state[1:]),
)


@dataclass(frozen=True, eq=False)
class Trainer:
    """A way to train a decoder."""

    data: TrainingData
    strength: Strength
    schedule: Schedule

    def run(self, seed: int, watch: Watch) -> Trained:
        """The decoder after training, or when the watch says stop; checkpoints after passes."""
        rng = np.random.default_rng(seed)
        course = Course.begin(initial_decoder(self.data.shape, self.data.start, self._latent(), rng))
        if (state := watch.checkpoint()) is not None:
            course = Course.from_state(state)
            restore_generator(rng, course.rng)
        try:
            self._train(course, rng, watch)
        except Stopped:
            course.hurried = True
            if course.passes == 0:  # the average so far is all there is
                course.best = course.average
        return Trained(course.best, course.best_score, course.hurried)

    def _train(self, course: Course, rng: np.random.Generator, watch: Watch) -> None:
        pace = Pace(course.step)
        while not course.is_over(self.schedule):
            for _ in range(self._rounds()):
                self._pass(course, rng, watch)
            shape, points = self.data.shape, self.schedule.points
            course.record(plain_score(shape, course.average, points, self.data.held_out), self.schedule)
            course.hurry(pace.steps_left(course.step, watch.left))
            watch.report("network", course.step, None, course.best_score)
            course.rng = generator_state(rng)
            watch.save_checkpoint(course.state)

    def _latent(self) -> int:
        """The dimensions of the latent space: few columns have no use for many."""
        columns = len(self.data.shape.schema)
        return min(self.strength.latent, max(LEAST_LATENT, columns // COLUMNS_A_DIMENSION))

    def _rounds(self) -> int:
        """How often all rows are gone through between two scores: small tables need few steps for that."""
        return ceil(LEAST_STEPS / _steps_a_pass(self.data.rows, self.schedule.batch))

    def _pass(self, course: Course, rng: np.random.Generator, watch: Watch) -> None:
        """Steps over all rows."""
        for part, times in mini_batches(self.data.rows.weights, self.schedule.batch, rng):
            watch.break_off()
            self._step(course, self.data.rows.take(part), times, rng)
            if course.is_over(self.schedule):
                break

    def _step(self, course: Course, rows: TreeRows, times: Floats, rng: np.random.Generator) -> None:
        decoder = course.decoder
        dtype = decoder.weight1.dtype
        shift = rng.random(decoder.latent)
        points = latent_points(self.schedule.points, decoder.latent, shift).astype(dtype)
        trace = decoder.trace(points, self._kept(rng, dtype))
        trees = Trees.from_outputs(self.data.shape, trace.output)
        share = shares(trees.log_likelihoods(rows))[0]
        share *= (times / times.sum()).astype(dtype)[:, None]
        gradient = trace.gradient(trees.output_gradient(rows, share))
        size = course.step_size()
        course.adam.climb(decoder, gradient, [size] * len(decoder))
        _decay(decoder, self.strength, self.data.shape.base.statistics, size)
        course.step += 1
        stays = min(AVERAGE, (1 + course.step) / (10 + course.step))
        move_average(course.average, decoder, stays)

    def _kept(self, rng: np.random.Generator, dtype: "np.dtype[Any]") -> AnyArray | None:
        """Which units of the last hidden layer take part, times what makes up for the others."""
        drop = self.strength.dropout
        if not drop:
            return None
        kept = rng.random((HIDDEN[-1], self.schedule.points), dtype=np.float32) >= drop
        return kept.astype(dtype) / dtype.type(1 - drop)


def steps_a_score(rows: TreeRows, batch: int) -> float:
    """The number of steps between two scores of the held-out rows."""
    return max(LEAST_STEPS, _steps_a_pass(rows, batch))


def _steps_a_pass(rows: TreeRows, batch: int) -> float:
    return max(1.0, float(rows.weights.sum()) / batch)


def _decay(decoder: Decoder, strength: Strength, base: int, size: float) -> None:
    """Shrink the weights, in place; `base` is the number of outputs that are no changes by links."""
    keep = max(0.0, 1 - size * strength.decay)
    link, link_bias = (max(0.0, 1 - size * d) for d in (strength.link_decay, strength.link_bias_decay))
    arrays = (
        decoder.weight1,
        decoder.weight2,
        decoder.weight3[:base],
        decoder.weight3[base:],
        decoder.bias3[base:],
    )
    for array, factor in zip(arrays, (keep, keep, keep, link, link_bias), strict=True):
        np.multiply(array, factor, out=array)
