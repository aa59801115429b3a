"""Fitting of monotone transformations that make the values of a column more normal."""

from math import ceil

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri

from tractable.base.arrays import Floats
from tractable.circuit.leaves.gaussian import LEAST_SCALE
from tractable.circuit.leaves.maps import YeoJohnsonMap

LAMBDAS = (-2.0, 3.0)  # the powers that are searched
MANY = 4000  # a power is fitted to at most about so many values, spread evenly over the ranks
MOST_KNOTS = 64
NORMAL_SHARE = 0.05  # of a normal distribution in the one that knots are taken from: no slope is near zero
NARROWEST = 1e-3  # two knots are at least this part of the sd apart: no slope is near infinity
ROUNDING = 1e-12  # values whose sd is this part of their size differ by rounding only


def centre_and_scale(values: Floats, weights: Floats) -> tuple[float, float]:
    """Weighted mean and standard deviation; a constant or empty column gets a positive scale."""
    total = float(weights.sum())
    if not values.size or total <= 0:
        return 0.0, 1.0
    largest = float(np.abs(values).max()) or 1.0
    share = weights / total
    centre = float(share @ (values / largest))
    spread = float(np.sqrt(share @ (values / largest - centre) ** 2))
    if spread <= ROUNDING * max(abs(centre), ROUNDING):
        size = abs(centre) if abs(centre) > ROUNDING else 1.0  # zero beside other values that hardly weigh
        return centre * largest, max(size * largest, LEAST_SCALE)
    return centre * largest, max(spread * largest, LEAST_SCALE)


def fit_yeo_johnson(values: Floats, weights: Floats) -> Floats:
    """Shift, scale and lambda of a Yeo-Johnson map.

    Shift and scale are mean and standard deviation. Lambda maximises the likelihood of a normal distribution
    of the images minus a penalty of (lambda - 1)^2 / 2 nats, which keeps it near one if there are few rows.
    """
    centre, scale = centre_and_scale(values, weights)
    values, counts = _thin_out(values, weights)
    total = counts.sum()
    if values.size < 3:
        return np.array([centre, scale, 1.0])

    def cost(lam: float) -> float:
        params = np.array([centre, scale, lam])
        z = YEO_JOHNSON.forward(params, values)
        mean = counts @ z / total
        variance = max(counts @ (z - mean) ** 2 / total, 1e-12)
        slopes = counts @ YEO_JOHNSON.log_slope(params, values)
        return float(0.5 * total * np.log(variance) - slopes + 0.5 * (lam - 1) ** 2)

    optimum = minimize_scalar(cost, bounds=LAMBDAS, method="bounded", options={"xatol": 1e-3})
    return np.array([centre, scale, float(optimum.x)])


YEO_JOHNSON = YeoJohnsonMap()


def _thin_out(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """At most about `MANY` of the sorted values, with aggregated weights."""
    order = np.argsort(values, kind="stable")
    every = max(1, ceil(values.size / MANY))
    middle = np.minimum(np.arange(every // 2, values.size + every // 2, every), values.size - 1)
    if not values.size:
        return values, weights
    return values[order][middle], np.add.reduceat(weights[order], np.arange(0, values.size, every))


def number_of_knots(rows: float) -> int:
    """Twice the cube root of the number of rows, within limits."""
    return int(np.clip(ceil(2 * rows ** (1 / 3)), 2, MOST_KNOTS))


def fit_piecewise(values: Floats, weights: Floats, knots: int) -> Floats:
    """A piecewise linear map of quantiles to normal scores, with exactly this number of knots.

    The knots are equally probable quantiles of the values. Their images are normal scores of a mixture of
    the values' distribution, in which a repeated value stands at the middle of its ranks, with a small share
    of the normal distribution of the same mean and sd. Shape (2 * knots,).
    """
    centre, scale = centre_and_scale(values, weights)
    distinct, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place.ravel(), weights, minlength=distinct.size)
    distinct, mass = distinct[mass > 0], mass[mass > 0]
    if distinct.size < 2:
        x = centre + scale * np.linspace(-1.0, 1.0, knots)
        return np.concatenate([x, (x - centre) / scale])
    rank = (np.cumsum(mass) - mass / 2) / mass.sum()
    wanted = np.interp((np.arange(knots) + 0.5) / knots, rank, distinct)
    x = _fill_gaps(_keep_apart(wanted, NARROWEST * scale), knots, scale)
    below = (1 - NORMAL_SHARE) * np.interp(x, distinct, rank) + NORMAL_SHARE * ndtr((x - centre) / scale)
    return np.concatenate([x, _ascending(ndtri(below))])


def _keep_apart(x: Floats, gap: float) -> Floats:
    """Ascending numbers without those too close to their predecessor."""
    kept = [float(x[0])]
    for value in x[1:].tolist():
        if value - kept[-1] >= gap:
            kept.append(value)
    return np.array(kept)


def _fill_gaps(x: Floats, knots: int, scale: float) -> Floats:
    """Numbers with additional ones in the middle of the widest gaps, until there are enough."""
    if x.size == 1:
        x = x + scale * np.array([-0.5, 0.5])
    while x.size < knots:
        widest = int(np.diff(x).argmax())
        x = np.insert(x, widest + 1, (x[widest] + x[widest + 1]) / 2)
    return x


def _ascending(z: Floats) -> Floats:
    """The numbers, made strictly increasing."""
    least = 1e-6 * np.arange(z.size)
    return np.maximum.accumulate(z - least) + least
