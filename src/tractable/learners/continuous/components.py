"""The points of a trained decoder that become the components of the mixture, and their weights.

Points that are spread evenly serve many models badly: most of them lie where hardly a row is. Here they move,
and their weights change, so that the rows become more likely; the decoder stays as it is.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tractable.arrays import AnyArray
from tractable.learners.continuous.adam import Adam, move_average
from tractable.learners.continuous.decoder import Decoder
from tractable.learners.continuous.likelihood import mean_score, shares
from tractable.learners.continuous.points import latent_points
from tractable.learners.continuous.rows import TreeRows
from tractable.learners.continuous.training import TrainingData
from tractable.learners.continuous.trees import Trees
from tractable.parameters.mini_batches import mini_batches
from tractable.progress import Form, State, Stopped, Watch, generator_state, restore_generator

POINT_STEP, WEIGHT_STEP = 0.02, 0.05
AVERAGE = 0.98  # how much of the running averages stays after a step
BATCH = 512  # rows of a step
MOST_STEPS, LEAST_STEPS = 600, 100  # in between one for each row
LEAST_PACE = 0.05  # of the step sizes at the end
SCORE_STEPS = 20  # steps between two scores
LEAST_GAIN = 5e-4  # nats a row below which a better score is no reason to go on
PATIENCE = 5  # scores without a better one after which it ends


@dataclass
class Components:
    """Points and log-weights so far."""

    values: list[AnyArray]  # for each decoder its points (latent, points), and last the log-weights (all,)
    average: list[AnyArray]  # of these
    best: list[AnyArray]
    adam: Adam
    best_score: float = -np.inf
    since: int = 0  # scores since the best
    step: int = 0
    rng: State = field(default=None)

    @classmethod
    def begin(cls, decoders: Sequence[Decoder], count: int) -> "Components":
        """Points that are spread evenly, about as many for each decoder."""
        sizes = [len(part) for part in np.array_split(np.arange(count), len(decoders))]
        dtype = decoders[0].weight1.dtype
        values = [latent_points(n, d.latent).astype(dtype) for n, d in zip(sizes, decoders, strict=True)]
        values.append(np.full(count, -np.log(count), dtype=dtype))
        return cls(_copies(values), _copies(values), _copies(values), Adam(values))

    def state(self) -> State:
        """What a checkpoint keeps."""
        scores = [self.best_score, self.since, self.step, self.rng]
        return [self.values, self.average, self.best, self.adam.state(), *scores]

    @classmethod
    def from_state(cls, state: State) -> "Components":
        """Points that a state describes."""
        values, average, best, moments, *rest = state
        adam = Adam(values)
        adam.restore(moments)
        return cls(values, average, best, adam, *rest)

    def record(self, score: float) -> None:
        """Take in a score of the averages."""
        self.since = 0 if score > self.best_score + LEAST_GAIN else self.since + 1
        if score > self.best_score:
            self.best, self.best_score = _copies(self.average), score

    def is_over(self, steps: int) -> bool:
        """Whether it is time to end, after so many steps at the latest."""
        return self.step >= steps or self.since >= PATIENCE


class Found(NamedTuple):
    """Points (latent, points) of each decoder, and the log-weights of all of them."""

    points: list[AnyArray]
    log_weight: AnyArray


FOUND_FORM: Form[Found] = Form(lambda found: [*found], lambda state: Found(*state))


@dataclass(frozen=True, eq=False)
class PointSearch:
    """What the points are moved for."""

    data: TrainingData
    decoders: Sequence[Decoder]
    count: int  # points

    def run(self, seed: int, watch: Watch) -> Found:
        """The points and weights of the best score; checkpoints after passes."""
        rng = np.random.default_rng(seed)
        components = Components.begin(self.decoders, self.count)
        if (state := watch.checkpoint()) is not None:
            components = Components.from_state(state)
            restore_generator(rng, components.rng)
        with suppress(Stopped):
            self._move(components, rng, watch)
        *points, log_weight = components.best
        return Found(points, log_weight - _log_total(log_weight))

    def trees(self, points: Sequence[AnyArray]) -> Trees:
        """The trees at some points of each decoder, with their precision."""
        outputs = [
            Decoder(*(each.astype(z.dtype, copy=False) for each in decoder)).outputs(z)
            for decoder, z in zip(self.decoders, points, strict=True)
        ]
        return Trees.from_outputs(self.data.shape, np.concatenate(outputs, axis=1))

    def _move(self, components: Components, rng: np.random.Generator, watch: Watch) -> None:
        steps = min(MOST_STEPS, LEAST_STEPS + len(self.data.rows))
        if components.step == 0:
            watch.break_off()
            components.record(self._score(components))
        while not components.is_over(steps):
            for part, times in mini_batches(self.data.rows.weights, BATCH, rng):
                watch.break_off()
                self._step(components, self.data.rows.take(part), (times / times.sum())[:, None])
                if components.step % SCORE_STEPS == 0:
                    components.record(self._score(components))
                if components.is_over(steps):
                    break
            watch.report("components", components.step, steps, components.best_score)
            components.rng = generator_state(rng)
            watch.save_checkpoint(components.state)

    def _score(self, components: Components) -> float:
        *points, weight = components.average
        return mean_score(self.trees(points), weight - _log_total(weight), self.data.held_out)

    def _step(self, components: Components, rows: TreeRows, times: AnyArray) -> None:
        *points, log_weight = components.values
        traces = [decoder.trace(z) for decoder, z in zip(self.decoders, points, strict=True)]
        output = np.concatenate([trace.output for trace in traces], axis=1)
        trees = Trees.from_outputs(self.data.shape, output)
        share = shares(trees.log_likelihoods(rows) + log_weight)[0]
        share *= times.astype(share.dtype)
        ends = np.cumsum([z.shape[1] for z in points])[:-1]
        slopes = np.split(trees.output_gradient(rows, share), ends, axis=1)
        gradient = [trace.point_gradient(slope) for trace, slope in zip(traces, slopes, strict=True)]
        gradient.append(share.sum(axis=0) - np.exp(log_weight - _log_total(log_weight)))
        fall = max(LEAST_PACE, 1 - components.step / MOST_STEPS)
        sizes = [POINT_STEP * fall] * len(points) + [WEIGHT_STEP * fall]
        components.adam.climb(components.values, gradient, sizes)
        components.step += 1
        stays = min(AVERAGE, (1 + components.step) / (10 + components.step))
        move_average(components.average, components.values, stays)


def _copies(arrays: Sequence[AnyArray]) -> list[AnyArray]:
    return [each.copy() for each in arrays]


def _log_total(log_weight: AnyArray) -> AnyArray:
    return np.logaddexp.reduce(log_weight)
