"""Growing sums: division of rows between two components, fits with early stopping, and when a sum pays.

These three steps are the same for mixtures of trees, for conditional sum-product networks and for mixtures of
conditional random fields.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from scipy.special import expit

from tractable.base.arrays import Floats
from tractable.base.progress import NO_FORMS, Forms, Key, Watch

SHARPNESS = 2.0  # of the first responsibilities of a new component

M = TypeVar("M")


class Scored(NamedTuple, Generic[M]):
    """A model and its mean log-likelihood of the rows that choose between models."""

    model: M
    score: float


class Stopping(NamedTuple):
    """When an iterative fit ends."""

    iterations: int  # at most
    patience: int  # iterations without progress
    least_progress: float = 0.0  # of the score, in nats a row, that counts as progress


def divide_rows(matrix: Floats, weight: Floats, *others: Floats) -> list[Floats]:
    """The share of each row that goes to the second of two components, and those of the rows of `others`.

    Rows of the weighted `matrix`, (rows, columns), are divided along its first principal component: those far
    on its positive side go to the second component.
    """
    if not matrix.shape[1]:
        return [np.full(len(some), 0.5) for some in (matrix, *others)]
    centre = np.average(matrix, axis=0, weights=weight)
    centred = matrix - centre
    direction = np.linalg.eigh((centred * weight[:, None]).T @ centred)[1][:, -1]
    direction = direction * (1.0 if direction[np.abs(direction).argmax()] > 0 else -1.0)
    along = [centred @ direction, *((some - centre) @ direction for some in others)]
    deviation = np.sqrt(float(np.average(along[0] ** 2, weights=weight))) or 1.0
    return [expit(SHARPNESS * some / deviation) for some in along]


def best_iterate(
    start: Scored[M], steps: Iterator[Scored[M]], stopping: Stopping, stage: str, watch: Watch
) -> Scored[M]:
    """The model of highest score among a start and the iterates of a fit, which is stopped early."""
    best, waited = start, 0
    for iteration in range(stopping.iterations):
        watch.report(stage, iteration, stopping.iterations, best.score)
        if watch.should_stop() or waited == stopping.patience:
            break
        reached = next(steps, None)
        if reached is None:
            break
        waited = 0 if reached.score > best.score + stopping.least_progress else waited + 1
        best = reached if reached.score > best.score else best
    return best


def add_components(
    first: M,
    most: int,
    enlarge: Callable[[M, Watch], M | None],
    is_worth: Callable[[M, M], bool],
    watch: Watch,
    key: Key[M | None],
    forms: Forms = NO_FORMS,
) -> M:
    """The model with as many components as pay, at most `most`; `enlarge` adds one, or answers with none."""
    best = first
    for number in range(2, most + 1):
        if watch.should_stop():
            break
        larger = watch.remember(key.at(number), partial(enlarge, best), forms=forms)
        if larger is None or not is_worth(larger, best):
            break
        best = larger
    return best


def pays(gain: float, weight: float, parameters: Callable[[], float] | None, least: float = 0.0) -> bool:
    """Whether a larger model is worth its gain in mean log-likelihood over rows of some weight.

    With held-out rows all of them together must gain `least` nats. Without them `parameters` is the number of
    additional parameters, and the Bayesian information criterion decides.
    """
    if parameters is None:
        return weight * gain > least
    return weight * gain > 0.5 * parameters() * np.log(max(weight, 1.0))
