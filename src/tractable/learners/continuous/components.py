"""The points of a trained decoder that become the components of the mixture, and their weights.

Points that are spread evenly serve many models badly: most of them lie where hardly a row is. Here they move,
and their weights change, so that the rows become more likely; the decoder stays as it is.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tractable.arrays import AnyArray
from tractable.learners.continuous.adam import Adam
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
MOST_STEPS = 600
SCORE_STEPS = 20  # steps between two scores
LEAST_GAIN = 5e-4  # nats a row below which a better score is no reason to go on
PATIENCE = 5  # scores without a better one after which it ends


@dataclass
class Components:
    """Points and log-weights so far, (latent, points) and (points,)."""

    points: AnyArray
    log_weight: AnyArray
    average: list[AnyArray]  # of both
    best: list[AnyArray]
    adam: Adam
    best_score: float = -np.inf
    since: int = 0  # scores since the best
    step: int = 0
    rng: State = field(default=None)

    @classmethod
    def begin(cls, decoder: Decoder, count: int) -> "Components":
        """Points that are spread evenly."""
        points = latent_points(count, decoder.latent).astype(decoder.weight1.dtype)
        weight = np.full(count, -np.log(count), dtype=points.dtype)
        both = [points, weight]
        return cls(
            points.copy(), weight.copy(), [b.copy() for b in both], [b.copy() for b in both], Adam(both)
        )

    def state(self) -> State:
        """What a checkpoint keeps."""
        scores = [self.best_score, self.since, self.step, self.rng]
        return [self.points, self.log_weight, self.average, self.best, self.adam.state(), *scores]

    @classmethod
    def from_state(cls, state: State) -> "Components":
        """Points that a state describes."""
        points, log_weight, average, best, moments, *rest = state
        adam = Adam([points, log_weight])
        adam.restore(moments)
        return cls(points, log_weight, average, best, adam, *rest)

    def record(self, score: float) -> None:
        """Take in a score of the averages."""
        self.since = 0 if score > self.best_score + LEAST_GAIN else self.since + 1
        if score > self.best_score:
            self.best, self.best_score = [each.copy() for each in self.average], score

    def is_over(self) -> bool:
        """Whether it is time to end."""
        return self.step >= MOST_STEPS or self.since >= PATIENCE


class Found(NamedTuple):
    """Points (latent, points) and log-weights (points,)."""

    points: AnyArray
    log_weight: AnyArray


FOUND_FORM: Form[Found] = Form(lambda found: [*found], lambda state: Found(*state))


@dataclass(frozen=True, eq=False)
class PointSearch:
    """What the points are moved for."""

    data: TrainingData
    decoder: Decoder
    count: int  # points

    def run(self, seed: int, watch: Watch) -> Found:
        """The points and weights of the best score; checkpoints after passes."""
        rng = np.random.default_rng(seed)
        components = Components.begin(self.decoder, self.count)
        if (state := watch.checkpoint()) is not None:
            components = Components.from_state(state)
            restore_generator(rng, components.rng)
        with suppress(Stopped):
            self._move(components, rng, watch)
        points, log_weight = components.best
        return Found(points, log_weight - _log_total(log_weight))

    def trees(self, points: AnyArray) -> Trees:
        """The trees at some points, with their precision."""
        decoder = Decoder(*(each.astype(points.dtype, copy=False) for each in self.decoder))
        return Trees.from_outputs(self.data.shape, decoder.outputs(points))

    def _move(self, components: Components, rng: np.random.Generator, watch: Watch) -> None:
        if components.step == 0:
            watch.break_off()
            components.record(self._score(components))
        while not components.is_over():
            for part, times in mini_batches(self.data.rows.weights, BATCH, rng):
                watch.break_off()
                self._step(components, self.data.rows.take(part), (times / times.sum())[:, None])
                if components.step % SCORE_STEPS == 0:
                    components.record(self._score(components))
                if components.is_over():
                    break
            done = min(components.step, MOST_STEPS)
            watch.report("components", done, MOST_STEPS, components.best_score)
            components.rng = generator_state(rng)
            watch.save_checkpoint(components.state)

    def _score(self, components: Components) -> float:
        points, weight = components.average
        return mean_score(self.trees(points), weight - _log_total(weight), self.data.held_out)

    def _step(self, components: Components, rows: TreeRows, times: AnyArray) -> None:
        trace = self.decoder.trace(components.points)
        trees = Trees.from_outputs(self.data.shape, trace.output)
        share = shares(trees.log_likelihoods(rows) + components.log_weight)[0]
        share *= times.astype(share.dtype)
        slope = trace.point_gradient(trees.output_gradient(rows, share))
        even = np.exp(components.log_weight - _log_total(components.log_weight))
        step = components.step + 1
        fall = max(0.05, 1 - components.step / MOST_STEPS)
        both, slopes = [components.points, components.log_weight], [slope, share.sum(axis=0) - even]
        components.adam.climb(both, slopes, [POINT_STEP * fall, WEIGHT_STEP * fall])
        components.step = step
        stays = min(AVERAGE, (1 + step) / (10 + step))
        for average, value in zip(components.average, both, strict=True):
            average *= stays
            average += (1 - stays) * value


def _log_total(log_weight: AnyArray) -> AnyArray:
    return np.logaddexp.reduce(log_weight)
