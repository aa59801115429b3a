"""Weights of features by pseudo-likelihood: each column given all others, which needs no partition function.

Besag, «Statistical Analysis of Non-Lattice Data», 1975.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize

from tractable.approximate.pseudo_kernels import Cells, bends, deciding_literals, pseudo_likelihood
from tractable.arrays import Floats, Int32s, Ints
from tractable.data import Table, collapse
from tractable.engine.sweep import map_threads, threads_or_default
from tractable.networks import FeatureFactor, Network
from tractable.networks.flat import flat_features
from tractable.networks.literals import Literals, literals_of

PARTS = 8  # of the rows, summed apart: the same sums whatever the number of threads
TOLERANCE = 1e-6  # of the objective; smaller steps than that end the climb
LEAST_BEND = 1e-3  # of a weight that nothing tells about


class PseudoLikelihood:
    """The log pseudo-likelihood of a table as a function of the features' log weights.

    Missing cells tell nothing about their column, and features that ask about them do not hold.
    """

    def __init__(self, features: Sequence[FeatureFactor], table: Table) -> None:
        weighs = table.row_weights > 0
        distinct, _ = collapse(table if weighs.all() else table.take(weighs))
        codes: Int32s = np.where(distinct.missing, -1, distinct.values).astype(np.int32)
        states: Ints = table.schema.cardinalities
        self.rows = distinct.total_weight
        self.features = len(features)
        self._literals = literals_of(flat_features(features), states)
        self._sign = _signs(self._literals, states)
        entries = deciding_literals(self._literals, codes)
        self._cells = Cells(codes, distinct.row_weights, states, *entries)
        self._parts = list(pairwise(np.linspace(0, len(codes), PARTS + 1).astype(np.int64).tolist()))

    def __call__(self, log_weight: Floats) -> tuple[float, Floats]:
        """The value over all rows, and its slope along each feature."""
        own = log_weight[self._literals.feature]

        def run(part: tuple[int, int]) -> tuple[float, Floats]:
            slope = np.zeros(own.size)
            total = pseudo_likelihood(self._cells, self._literals, self._sign, own, *part, slope)
            return float(total), slope

        parts = map_threads(run, self._parts, threads_or_default(None))
        return sum(total for total, _ in parts), self._by_feature([slope for _, slope in parts])

    def bends(self, log_weight: Floats) -> Floats:
        """How the value bends along each feature, as if its literals were apart. Shape (features,)."""
        own = log_weight[self._literals.feature]

        def run(part: tuple[int, int]) -> Floats:
            curve = np.zeros(own.size)
            bends(self._cells, self._literals, own, *part, curve)
            return curve

        return self._by_feature(map_threads(run, self._parts, threads_or_default(None)))

    def mean(self, log_weight: Floats) -> float:
        """The value a row."""
        return self(log_weight)[0] / (self.rows or 1.0)

    def _by_feature(self, parts: list[Floats]) -> Floats:
        return np.bincount(self._literals.feature, np.sum(parts, axis=0), self.features).astype(np.float64)


def _signs(literals: Literals, states: Ints) -> Floats:
    """What each literal on two states says for the second against the first; 0 on others."""
    two = states[literals.column] == 2
    answer = np.zeros(two.size)
    answer[two] = literals.allowed[literals.offset[two] + 1].astype(np.float64)
    answer[two] -= literals.allowed[literals.offset[two]]
    return answer


def fit_weights(
    features: Sequence[FeatureFactor], table: Table, *, l1: float = 0.0, l2: float = 1.0, steps: int = 200
) -> list[FeatureFactor]:
    """The features with the weights of largest penalised pseudo-likelihood; those of weight zero are gone.

    `l1` and `l2` are prices on the total log pseudo-likelihood of the size of a weight, and of half its
    square; features of one column pay the second only, since they cost nothing to keep.
    """
    begin = np.array([f.log_weight for f in features])
    weight = climbed(PseudoLikelihood(features, table), begin, prices(features, l1), l2, steps)
    return weighted(features, weight)


def prices(features: Sequence[FeatureFactor], l1: float) -> Floats:
    """What the size of each feature's weight costs: nothing for those of a single column."""
    return np.array([l1 if len(f.scope) > 1 else 0.0 for f in features])


def weighted(features: Sequence[FeatureFactor], weight: Floats) -> list[FeatureFactor]:
    """The features with new weights, without those of several columns that weigh nothing."""
    pairs = zip(features, weight.tolist(), strict=True)
    return [replace(feature, log_weight=w) for feature, w in pairs if w != 0 or len(feature.scope) < 2]


def climbed(objective: PseudoLikelihood, begin: Floats, price: Floats, l2: float, steps: int) -> Floats:
    """The best weights, in at most so many steps of L-BFGS from where they begin.

    A weight is the difference of two numbers from nought up, so that its price is smooth, in units in which
    all bend alike.
    """
    size = begin.size
    if not size:
        return begin
    unit = 1.0 / np.sqrt(objective.bends(begin) + l2 + LEAST_BEND)

    def loss(both: Floats) -> tuple[float, Floats]:
        weight = unit * (both[:size] - both[size:])
        value, slope = objective(weight)
        away = unit * (l2 * weight - slope)
        cost = float((price * unit) @ (both[:size] + both[size:])) + 0.5 * l2 * float(weight @ weight)
        return cost - value, np.concatenate([price * unit + away, price * unit - away])

    best = minimize(
        loss,
        np.concatenate([np.maximum(begin, 0.0), np.maximum(-begin, 0.0)]) / np.tile(unit, 2),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * size),
        options={"maxiter": steps, "ftol": TOLERANCE, "maxcor": 20},
    )
    answer: Floats = unit * (best.x[:size] - best.x[size:])
    return answer


def mean_log_pseudo_likelihood(network: Network, table: Table) -> float:
    """The mean over rows of the log-probabilities of each cell given the others, under features only.

    Raises:
        ValueError: if the network holds tables or trees.
    """
    features = [f for f in network.factors if isinstance(f, FeatureFactor)]
    if len(features) < len(network.factors):
        raise ValueError("pseudo-likelihoods are of networks of features only")
    return PseudoLikelihood(features, table).mean(np.array([f.log_weight for f in features]))
