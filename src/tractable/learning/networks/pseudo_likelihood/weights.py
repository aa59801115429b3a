"""Fitting of feature weights by penalised pseudo-likelihood.

Besag, «Statistical Analysis of Non-Lattice Data», 1975.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from tractable.base.arrays import Floats
from tractable.base.progress import Key, Stopped, Watch
from tractable.learning.networks.pseudo_likelihood.objective import PseudoLikelihood
from tractable.networks import FeatureFactor

RECORD = Key(__name__, "record", list[tuple[float, Floats]])

TOLERANCE = 1e-6  # of the objective, relative; smaller steps than that end the optimisation
LEAST_CURVATURE = 1e-3  # of a weight about which no row says anything


def log_weights(features: Sequence[FeatureFactor]) -> Floats:
    """The log weight of each feature. Shape (features,)."""
    return np.array([f.log_weight for f in features])


def l1_penalties(features: Sequence[FeatureFactor], l1: float) -> Floats:
    """The L1 penalty of each feature's weight: zero for features of a single column. Shape (features,)."""
    return np.array([l1 if len(f.scope) > 1 else 0.0 for f in features])


def reweight(features: Sequence[FeatureFactor], weight: Floats) -> list[FeatureFactor]:
    """The features with new weights, without those of several columns that have weight zero."""
    pairs = zip(features, weight.tolist(), strict=True)
    return [replace(feature, log_weight=w) for feature, w in pairs if w != 0 or len(feature.scope) < 2]


def maximise(
    objective: PseudoLikelihood,
    start: Floats,
    l1: Floats,
    l2: float,
    steps: int,
    watch: Watch | None = None,
) -> Floats:
    """The weights that maximise the penalised objective, by a limited number of L-BFGS iterations.

    `l1` is the penalty of the absolute value of each weight, `l2` that of half the square of any, both in
    nats of the log pseudo-likelihood over all rows. A weight is parametrised as the difference of two
    non-negative numbers, which makes its L1 penalty smooth, and is scaled by its curvature. When the watch
    says to stop, the best weights so far are returned.
    """
    size = start.size
    if not size:
        return start
    unit = 1.0 / np.sqrt(objective.curvatures(start) + l2 + LEAST_CURVATURE)
    evaluate = _RecordedObjective(objective, watch or Watch())
    least, best = np.inf, start

    def loss(both: Floats) -> tuple[float, Floats]:
        nonlocal least, best
        weight = unit * (both[:size] - both[size:])
        value, slope = evaluate(weight)
        away = unit * (l2 * weight - slope)
        cost = float((l1 * unit) @ (both[:size] + both[size:])) + 0.5 * l2 * float(weight @ weight)
        if cost - value < least:
            least, best = cost - value, weight
        return cost - value, np.concatenate([l1 * unit + away, l1 * unit - away])

    try:
        optimum = minimize(
            loss,
            np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)]) / np.tile(unit, 2),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * (2 * size),
            options={"maxiter": steps, "ftol": TOLERANCE, "maxcor": 20},
        )
    except Stopped:
        return best
    answer: Floats = unit * (optimum.x[:size] - optimum.x[size:])
    return answer


class _RecordedObjective:
    """An objective whose values are recorded in a checkpoint.

    The optimiser does not expose its state, but its path is determined by these values, so a continued run
    replays those of the earlier run.
    """

    def __init__(self, objective: PseudoLikelihood, watch: Watch) -> None:
        self._objective = objective
        self._watch = watch
        self._record = watch.checkpoint(RECORD) or []
        self._asked = 0

    def __call__(self, weight: Floats) -> tuple[float, Floats]:
        self._asked += 1
        if self._asked > len(self._record):
            self._watch.break_off()
            self._record.append(self._objective(weight))
            self._watch.save_checkpoint(RECORD, lambda: self._record)
        value, slope = self._record[self._asked - 1]
        return value, slope
