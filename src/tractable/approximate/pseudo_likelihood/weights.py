"""Weights of features by penalised pseudo-likelihood.

Besag, «Statistical Analysis of Non-Lattice Data», 1975.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from tractable.approximate.pseudo_likelihood.objective import PseudoLikelihood
from tractable.arrays import Floats
from tractable.networks import FeatureFactor

TOLERANCE = 1e-6  # of the objective, relative; smaller steps than that end the optimisation
LEAST_CURVATURE = 1e-3  # of a weight about which no row says anything


def log_weights(features: Sequence[FeatureFactor]) -> Floats:
    """The log weight of each feature. Shape (features,)."""
    return np.array([f.log_weight for f in features])


def l1_penalties(features: Sequence[FeatureFactor], l1: float) -> Floats:
    """The L1 penalty of each feature's weight: none for features of a single column. Shape (features,)."""
    return np.array([l1 if len(f.scope) > 1 else 0.0 for f in features])


def reweight(features: Sequence[FeatureFactor], weight: Floats) -> list[FeatureFactor]:
    """The features with new weights, without those of several columns whose weight is zero."""
    pairs = zip(features, weight.tolist(), strict=True)
    return [replace(feature, log_weight=w) for feature, w in pairs if w != 0 or len(feature.scope) < 2]


def maximise(objective: PseudoLikelihood, start: Floats, l1: Floats, l2: float, steps: int) -> Floats:
    """The weights of highest penalised objective, by at most so many iterations of L-BFGS from a start.

    `l1` is the penalty of the absolute value of each weight, `l2` that of half the square of any, both in
    nats of the log pseudo-likelihood over all rows. A weight is the difference of two non-negative numbers,
    which makes its L1 penalty smooth, and is scaled by its curvature, so that all have the same.
    """
    size = start.size
    if not size:
        return start
    unit = 1.0 / np.sqrt(objective.curvatures(start) + l2 + LEAST_CURVATURE)

    def loss(both: Floats) -> tuple[float, Floats]:
        weight = unit * (both[:size] - both[size:])
        value, slope = objective(weight)
        away = unit * (l2 * weight - slope)
        cost = float((l1 * unit) @ (both[:size] + both[size:])) + 0.5 * l2 * float(weight @ weight)
        return cost - value, np.concatenate([l1 * unit + away, l1 * unit - away])

    best = minimize(
        loss,
        np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)]) / np.tile(unit, 2),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * size),
        options={"maxiter": steps, "ftol": TOLERANCE, "maxcor": 20},
    )
    answer: Floats = unit * (best.x[:size] - best.x[size:])
    return answer
