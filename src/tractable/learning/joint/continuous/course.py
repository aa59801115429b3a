"""Training by stochastic gradients: step sizes, running averages and early stopping.

The step size is constant until the score on the held-out rows has stopped improving, and then decreases to
zero. A running average of the parameters is scored and kept.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Self

import numpy as np

from tractable.base.arrays import AnyArray
from tractable.base.progress import Key

WARM_UP = 30  # steps in which the step size grows to its full size
AVERAGE = 0.99  # how much of the running average of parameters stays after a step
LEAST_GAIN = 1e-3  # nats a row below which a better score is no reason to go on
FALL = 2 / 3  # length of the second phase, as a share of the steps that led to the best average
TO_SPARE = 0.9  # share of the steps there is time for that are planned
MEAN_DECAY, SQUARE_DECAY = 0.9, 0.99
LEAST_ROOT = 1e-8  # added to the root of the mean square


@dataclass
class Adam:
    """Running means of the gradients and of their squares for arrays of parameters.

    Steps have sizes that adapt to each parameter (Kingma and Ba, 2015).
    """

    mean: list[AnyArray]
    square: list[AnyArray]
    steps: int = 0

    @classmethod
    def begin(cls, parameters: Sequence[AnyArray]) -> Self:
        """The means before the first step."""
        return cls([np.zeros_like(p) for p in parameters], [np.zeros_like(p) for p in parameters])

    def climb(
        self, parameters: Sequence[AnyArray], gradient: Sequence[AnyArray], sizes: Sequence[float]
    ) -> None:
        """Update the parameters in place by gradient ascent with the given step sizes."""
        self.steps += 1
        root = float(np.sqrt(1 - SQUARE_DECAY**self.steps))
        move_average(self.mean, gradient, MEAN_DECAY)
        move_average(self.square, [slope * slope for slope in gradient], SQUARE_DECAY)
        for value, size, mean, square in zip(parameters, sizes, self.mean, self.square, strict=True):
            step = np.sqrt(square)
            step += LEAST_ROOT * root
            np.divide(mean, step, out=step)
            step *= size * root / (1 - MEAN_DECAY**self.steps)
            np.add(value, step, out=value)


def move_average(average: Sequence[AnyArray], values: Sequence[AnyArray], stays: float) -> None:
    """Update running averages in place; `stays` is the weight of the old values."""
    for old, new in zip(average, values, strict=True):
        np.multiply(old, stays, out=old)
        np.add(old, (1 - stays) * new, out=old)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The schedule of the step size."""

    patience: int  # scores without a better one
    steps: int  # steps after which it falls in any case


@dataclass
class Course:
    """The state of training of some arrays of parameters."""

    values: list[AnyArray]
    average: list[AnyArray]
    best: list[AnyArray]
    adam: Adam
    best_score: float = -np.inf
    best_step: int = 0
    since: int = 0  # scores since the best one
    step: int = 0
    fall_begin: int = -1  # the step at which the step size began to fall; -1 before
    fall_steps: int = 0
    hurried: bool = False  # whether the step size fell for want of time
    too_fast: bool = False  # whether it fell because scores had become no better

    @classmethod
    def begin(cls, values: Sequence[AnyArray]) -> "Course":
        """The initial state of training; the given arrays are not modified."""
        return cls(copies(values), copies(values), copies(values), Adam.begin(values))

    @property
    def pace(self) -> float:
        """The size of the next step as a fraction of the full size."""
        pace = min(1.0, (self.step + 1) / WARM_UP)
        if self.fall_begin >= 0:
            pace *= max(0.0, 1 - (self.step - self.fall_begin) / self.fall_steps)
        return pace

    def climb(self, gradient: Sequence[AnyArray], sizes: Sequence[float]) -> None:
        """Update the values in place along a gradient; `sizes` are full step sizes."""
        pace = self.pace
        self.adam.climb(self.values, gradient, [size * pace for size in sizes])

    def end_step(self) -> None:
        """Update the running average."""
        self.step += 1
        move_average(self.average, self.values, min(AVERAGE, (1 + self.step) / (10 + self.step)))

    def record(self, score: float, schedule: Schedule) -> None:
        """Record the score of the average, and start to reduce the step size if it is time."""
        self.since = 0 if score > self.best_score + LEAST_GAIN else self.since + 1
        if score > self.best_score:
            self.best, self.best_score, self.best_step = copies(self.average), score, self.step
        if self.fall_begin < 0 and (self.since >= schedule.patience or self.step >= schedule.steps):
            self.too_fast = self.since >= schedule.patience or not self.best_step
            self._begin_fall(max(WARM_UP, int(FALL * self.best_step)))

    def hurry(self, steps_left: float) -> None:
        """Start to reduce the step size if only a few steps remain."""
        if self.fall_begin < 0 and steps_left < FALL * self.step:
            self._begin_fall(max(1, int(steps_left)))
            self.hurried = True

    def _begin_fall(self, steps: int) -> None:
        self.fall_begin, self.fall_steps, self.since = self.step, steps, 0

    def is_over(self, schedule: Schedule) -> bool:
        """Whether training has finished."""
        if self.fall_begin < 0:
            return False
        return self.step >= self.fall_begin + self.fall_steps or self.since >= 3 * schedule.patience


COURSE = Key(__name__, "course", Course)


class Speed:
    """The speed of training."""

    def __init__(self, step: int) -> None:
        self._first = step
        self._begin = time.monotonic()

    def steps_left(self, step: int, seconds: float | None) -> float:
        """The number of steps for which there will be time, with a reserve."""
        if seconds is None:
            return inf
        done = max(1, step - self._first)
        return TO_SPARE * seconds * done / max(1e-9, time.monotonic() - self._begin)


def copies(arrays: Sequence[AnyArray]) -> list[AnyArray]:
    """Copies of arrays."""
    return [each.copy() for each in arrays]
