"""Mixtures of products of leaves, fitted by expectation maximisation (EM).

Both steps are matrix products over an encoding. Smoothing adds pseudo-counts to every component; EM then
increases `objective`: the log-likelihood of the rows plus that of the pseudo-counts in their components.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Key, Stopped, Watch
from tractable.circuit import Builder
from tractable.learning.statistics.encoding import Encoding, Matrix
from tractable.learning.statistics.estimates import (
    LEAST_SMOOTHING,
    Estimates,
    coefficients,
    estimates,
    product_nodes,
    pseudo_counts,
    smoothed_sums,
)
from tractable.learning.statistics.leaf_choice import columns_that_need_rows

PART = 1 << 20  # responsibilities held at a time: rows times components may exceed the memory


@dataclass(frozen=True, kw_only=True)
class ProductEM:
    """How EM is run."""

    smoothing: float = 1.0  # pseudo-counts of each component
    restarts: int = 4  # random starting points, of which the best is followed to convergence
    trial_steps: int = 5  # iterations after which starting points are compared
    steps: int = 200  # maximum number of iterations
    tolerance: float = 1e-4  # EM stops when an iteration gains less than this many nats a row


class Mixture(NamedTuple):
    """A fitted mixture, given by the statistics of its components."""

    sums: Floats  # (features, components) pseudo-counts included
    log_likelihood: float  # of all rows together
    objective: float  # what EM increases

    @property
    def log_weights(self) -> Floats:
        """The logarithms of the mixture weights. Shape (components,)."""
        return log_shares(self.sums)


class Reached(NamedTuple):
    """How far EM has come."""

    step: int
    mixture: Mixture


REACHED, START = Key(__name__, "reached", Reached), Key(__name__, "start", Mixture)


def fit_mixture(
    encoding: Encoding,
    components: int,
    rng: np.random.Generator,
    settings: ProductEM,
    watch: Watch | None = None,
) -> Mixture:
    """The best of several mixtures fitted from random rows; distinct rows limit the components."""
    watch = watch or Watch()
    size = max(1, min(components, len(encoding.weights)))
    saved = watch.checkpoint(REACHED, rng)
    if saved is not None:
        done, best = saved
        return _converge(encoding, best, rng, settings, watch, done)
    best = _best_start(encoding, size, rng, settings, watch)
    return best if size == 1 else _converge(encoding, best, rng, settings, watch)


def _converge(
    encoding: Encoding,
    best: Mixture,
    rng: np.random.Generator,
    settings: ProductEM,
    watch: Watch,
    done: int = 0,
) -> Mixture:
    """The mixture after EM has converged, continuing after a number of iterations.

    It uses no random numbers; `rng` is only recorded in its checkpoints.
    """
    size = best.sums.shape[1]
    steps = islice(iterate_em(encoding, best.sums, settings, watch), 1, settings.steps - done + 1)
    with suppress(Stopped):
        for step, mixture in enumerate(steps, start=done + 1):
            gained = mixture.objective - best.objective
            best = mixture
            watch.report(f"{size} components", step, settings.steps, best.log_likelihood / encoding.rows)
            if gained < settings.tolerance * encoding.total or watch.should_stop():
                break
            watch.save_checkpoint(REACHED, partial(Reached, step, mixture), rng)
    return best


def _best_start(
    encoding: Encoding, size: int, rng: np.random.Generator, settings: ProductEM, watch: Watch
) -> Mixture:
    """The best mixture after a few iterations from each of several random starting points."""
    steps = max(1, settings.trial_steps) if size > 1 else 1  # one iteration fits a single component
    begun: list[Mixture] = []
    for number in range(max(1, settings.restarts) if size > 1 else 1):
        work = partial(_start, encoding, initial_sums(encoding, size, rng), settings, steps)
        begun.append(watch.remember(START.at(number), work))
        if watch.should_stop():
            break
    return max(begun, key=lambda mixture: mixture.objective)


def _start(encoding: Encoding, sums: Floats, settings: ProductEM, steps: int, watch: Watch) -> Mixture:
    """The mixture after some iterations, or fewer if there is no time for them."""
    reached = Mixture(sums, -np.inf, -np.inf)
    with suppress(Stopped):
        for mixture in islice(iterate_em(encoding, sums, settings, watch), steps + 1):
            reached = mixture
    return reached


def iterate_em(
    encoding: Encoding, sums: Floats, settings: ProductEM, watch: Watch | None = None
) -> Iterator[Mixture]:
    """The mixture of the given statistics, and after each further iteration of EM, without end.

    Raises:
        Stopped: if the watch says so.
    """
    watch = watch or Watch()
    smoothing = max(settings.smoothing, LEAST_SMOOTHING)
    parts = _parts(encoding, sums.shape[1])
    added = pseudo_counts(encoding, sums, smoothing)
    while True:
        weighed = mixture_coefficients(encoding, sums)
        gathered = np.zeros_like(sums)
        log_likelihood = 0.0
        for matrix, weights, constant in parts:
            watch.break_off()
            share, logs = responsibilities(matrix, weighed)
            log_likelihood += float(weights @ (logs + constant))
            share *= weights[:, None]
            gathered += matrix.T @ share
        objective = log_likelihood + smoothing * _pseudo_log_likelihood(added, weighed)
        yield Mixture(sums, log_likelihood, objective)
        added = pseudo_counts(encoding, gathered, smoothing)
        sums = gathered + smoothing * added


def _pseudo_log_likelihood(added: Floats, weighed: Floats) -> float:
    """The log-likelihood of one pseudo-count in each component."""
    if added.shape[1] == 1:
        return float((added[:, 0] @ weighed).sum())
    return float((added * weighed).sum())


def _parts(encoding: Encoding, components: int) -> list[tuple[Matrix, Floats, Floats]]:
    """The rows with their weights and constants, in batches."""
    size = max(64, PART // components)
    cuts = [slice(first, first + size) for first in range(0, len(encoding.weights), size)]
    return [(encoding.matrix[cut], encoding.weights[cut], encoding.constant[cut]) for cut in cuts]


def initial_sums(encoding: Encoding, components: int, rng: np.random.Generator) -> Floats:
    """Statistics that EM starts from: a random row for each component, plus the average row."""
    sums = smoothed_sums(encoding, encoding.sums(np.ones((len(encoding.weights), 1))), 1.0)
    average = sums / sums[0]
    if components == 1 or not encoding.total:
        return np.repeat(average, components, axis=1)
    rows = encoding.matrix[_draw_distinct(encoding.weights, components, rng)]
    lines = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return average + np.asarray(lines, dtype=np.float64).T


def _draw_distinct(weights: Floats, count: int, rng: np.random.Generator) -> Ints:
    """Distinct rows, drawn by weight one after the other; weights may be of very different magnitude."""
    chance = weights / weights.sum()
    if np.count_nonzero(chance) >= count:
        return rng.choice(chance.size, size=count, replace=False, p=chance)
    return np.argsort(np.log(weights) + rng.gumbel(size=weights.size))[::-1][:count]


def responsibilities(matrix: Matrix, weighed: Floats) -> tuple[Floats, Floats]:
    """The probability of each component given each row, (rows, components), and the rows' log-probabilities.

    `matrix` holds the rows' features, `weighed` the coefficients, mixture weights included. The
    log-probabilities are up to the encoding's constant.
    """
    share = np.asarray(matrix @ weighed, dtype=np.float64)
    top = share.max(axis=1, initial=-np.inf)
    share -= top[:, None]
    np.exp(share, out=share)
    total = share.sum(axis=1)
    share /= total[:, None]
    return share, top + np.log(total)


def memberships(encoding: Encoding, mixture: Mixture) -> Floats:
    """The probability of each component given each distinct row. Shape (rows, components)."""
    return responsibilities(encoding.matrix, mixture_coefficients(encoding, mixture.sums))[0]


def mixture_node(builder: Builder, encoding: Encoding, mixture: Mixture, smoothing: float) -> int:
    """The mixture as a sum over products of leaves; a product if there is one component."""
    fitted: Estimates = estimates(encoding, mixture.sums)
    share = memberships(encoding, mixture) if columns_that_need_rows(encoding.schema) else np.zeros((0, 0))
    products = product_nodes(builder, encoding, fitted, share, smoothing)
    return products[0] if len(products) == 1 else builder.sum(products, mixture.log_weights)


def mixture_coefficients(encoding: Encoding, sums: Floats) -> Floats:
    """Coefficients of the features, with the log mixture weights in that of the constant feature."""
    answer = coefficients(encoding, estimates(encoding, sums))
    answer[0] += log_shares(sums)
    return answer


def log_shares(sums: Floats) -> Floats:
    """The logarithms of the mixture weights. Shape (components,)."""
    weight: Floats = sums[0]
    return np.log(weight) - np.log(weight.sum())
