"""How much better a log-linear model fits when one feature is split, all other weights left as they are.

Adding factors exp(d_k) for the states k of a column multiplies the model's sum by 1 + sum p_k (exp(d_k) - 1).
What is gained over `total` rows is a concave function of the d_k; priors are taken off.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tractable.arrays import Floats, Ints

ROUNDS = 50  # over the states of a column
STEPS = 60  # of the search for one weight
FARTHEST = 30.0  # that a weight begins from zero: what the model holds for impossible is no reason for more
CLOSE = 1e-4  # how far a weight may be off: its gain is off by the square of that


class Priors(NamedTuple):
    """What weights cost: absolute values, and squares as under a Gaussian."""

    l1: float
    variance: float

    def cost(self, weight: Floats) -> float:
        """The penalty of weights, in nats."""
        return float(self.l1 * np.abs(weight).sum() + (weight @ weight) / (2 * self.variance))


@njit(cache=True, nogil=True)
def split_gains(
    total: float, model: Floats, data: Floats, states: Ints, priors: Priors, least: Floats, gain: Floats,
    weight: Floats,
) -> None:  # fmt: skip
    """Fill in what splits on each column gain, and the new weights.

    `model` and `data` are chances of the feature together with each state of each column. A column that
    cannot gain more than `least` is not looked at closer: its gain is zero.
    """
    first = 0
    for column in range(states.size):
        last = first + states[column]
        p, q, d = model[first:last], data[first:last], weight[first:last]
        d[:] = 0.0
        gain[column] = 0.0
        if total * _bound(p, q) > least[column] and total * _most(p, q) > least[column]:
            gain[column] = _best_weights(total, p, q, priors, d)
        first = last


@njit(cache=True, nogil=True, inline="always")
def _bound(p: Floats, q: Floats) -> float:
    """At least what `_most` finds, without logarithms: squared differences as parts of the model."""
    rest_p, rest_q, apart = 1.0, 1.0, 0.0
    for k in range(p.size):
        rest_p -= p[k]
        rest_q -= q[k]
        apart += (q[k] - p[k]) ** 2 / max(p[k], 1e-300)
    return float(apart + (rest_q - rest_p) ** 2 / max(rest_p, 1e-12))


@njit(cache=True, nogil=True)
def _most(p: Floats, q: Floats) -> float:
    """What could be gained a row without priors: how far apart the two are."""
    rest_p, rest_q, apart = 1.0, 1.0, 0.0
    for k in range(p.size):
        rest_p -= p[k]
        rest_q -= q[k]
        if q[k] > 0:
            apart += q[k] * np.log(q[k] / max(p[k], 1e-300))
    if rest_q > 1e-12:
        apart += rest_q * np.log(rest_q / max(rest_p, 1e-12))
    return float(apart)


@njit(cache=True, nogil=True)
def _best_weights(total: float, p: Floats, q: Floats, priors: Priors, d: Floats) -> float:
    """Fill in the best weights, one after the other until none moves; answer with the gain."""
    scale = 1.0
    for _ in range(ROUNDS):
        moved = 0.0
        for k in range(p.size):
            old = d[k]
            scale -= p[k] * np.exp(old)
            d[k] = _best_weight(total, p[k], q[k], max(scale, 1e-300), priors, old)
            scale += p[k] * np.exp(d[k])
            moved = max(moved, abs(d[k] - old))
        if moved < CLOSE:
            break
    gained, size, square = 0.0, 0.0, 0.0
    for k in range(p.size):
        gained += q[k] * d[k]
        size += abs(d[k])
        square += d[k] * d[k]
    return float(total * (gained - np.log(scale)) - priors.l1 * size - square / (2 * priors.variance))


@njit(cache=True, nogil=True)
def _best_weight(total: float, p: float, q: float, rest: float, priors: Priors, d: float) -> float:
    """The maximum of total (q d - log(rest + p exp(d))) less the priors: Newton steps between two bounds."""
    slope = total * (q - p / (rest + p))
    if abs(slope) <= priors.l1:
        return 0.0
    sign = 1.0 if slope > 0 else -1.0
    low, high = (0.0, FARTHEST) if sign > 0 else (-FARTHEST, 0.0)
    if d * sign <= 0:
        d = sign * 1e-3
    for _ in range(STEPS):
        grown = p * np.exp(d)
        share = grown / (rest + grown)
        slope = total * (q - share) - priors.l1 * sign - d / priors.variance
        if slope > 0:
            low = d
        else:
            high = d
        step = slope / (total * share * (1 - share) + 1 / priors.variance)
        if abs(step) < 0.1 * CLOSE:
            break
        d += min(max(step, -2.0), 2.0)
        if not low < d < high:
            d = 0.5 * (low + high)
    return d
