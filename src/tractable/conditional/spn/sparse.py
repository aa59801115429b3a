"""Which inputs each target's regression has: an L1 penalty, as penalties of squares that are found anew.

The L1 penalty of a weight w is about `l1 / |w|` times half its square. Fitted with such factors of the
squares again and again, the weights of useless inputs go to zero, and are left out from then on. The last
factors are kept: they say how far the regressions of parts may be from those of the whole.
"""

import numpy as np

from tractable.arrays import Floats
from tractable.conditional.trees.regression import Effort, Penalty, fit_regression, log_probs
from tractable.conditional.trees.rows import RegressionRows
from tractable.conditional.trees.tree import ConditionalTree, Prior
from tractable.progress import Watch

ROUNDS = 6  # of fits with new factors
FIT = Effort(2, 1e-3)
LEAST_WEIGHT = 0.01  # a smaller one is zero
LEAST_FACTOR = 0.2


def sparse_regressions(
    rows: RegressionRows,
    held: RegressionRows | None,
    start: tuple[ConditionalTree, Prior],
    penalties: list[float],
    watch: Watch,
) -> tuple[ConditionalTree, Prior]:
    """Regressions of all targets without edges, and a prior around them, from those with a plain penalty.

    Of some L1 penalties, given in ascending order, the one is taken that suits the held-out rows of a target
    best, or the plain regression; the middle one without held-out rows.
    """
    alone, plain = start
    beta, factors = list(alone.beta), []
    for j in range(rows.states.size):
        watch.report("inputs of targets", j, rows.states.size)
        unit = np.full(rows.x.shape[1], plain.l2)
        if watch.should_stop() or rows.states[j] < 2:
            factors.append(unit)
            continue
        found = _path(rows, j, (alone.beta[j][0], plain.means[j]), penalties)
        tried = [(alone.beta[j][0], unit), *found]
        best = (len(tried) - 1) // 2 + 1 if held is None else _best(held, j, [line for line, _ in tried])
        beta[j] = tried[min(best, len(tried) - 1)][0][None]
        factors.append(tried[min(best, len(tried) - 1)][1])
    return ConditionalTree(alone.parent, tuple(beta)), Prior(1.0, tuple(b[0] for b in beta), tuple(factors))


def _path(
    rows: RegressionRows, target: int, start: tuple[Floats, Floats], penalties: list[float]
) -> list[tuple[Floats, Floats]]:
    """The weights of a regression and their factors for each L1 penalty, each from the one before."""
    beta, mean = start
    answer = []
    factor = np.ones(rows.x.shape[1])
    for l1 in penalties:
        for _ in range(ROUNDS):
            size = np.sqrt((beta**2).sum(axis=0))
            gone = (size < LEAST_WEIGHT) | np.isinf(factor)
            gone[-1] = False  # the intercept
            factor = np.maximum(l1 / np.maximum(size, LEAST_WEIGHT), LEAST_FACTOR)
            factor[gone] = np.inf
            factor[-1] = 1.0
            beta = np.where(gone, 0.0, beta)
            penalty = Penalty(1.0, mean, factor)
            beta = fit_regression(rows.x, rows.y[:, target], rows.weight, penalty, beta, FIT)
        answer.append((beta, factor))
    return answer


def _best(held: RegressionRows, target: int, tried: list[Floats]) -> int:
    each = np.arange(len(held.x))
    scores = [held.weight @ log_probs(held.x, beta)[each, held.y[:, target]] for beta in tried]
    return int(np.argmax(scores))
