"""Which inputs each target's regression has: penalties of squares with factors that are found anew.

The L1 penalty of a weight w is about `l1 / |w|` times half its square. Fitted with such factors of the
squares again and again, the weights of useless inputs go to zero, and are left out from then on. A power of
`|w|` above one penalises large weights less, as suits targets that hang on few inputs. The last factors are
kept: they say how far the regressions of parts may be from those of the whole.
"""

from collections.abc import Sequence

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.learning.conditional.spn.generative import are_few, hybrid_regressions
from tractable.learning.conditional.trees.regression import Effort, Penalty, fit_regression, log_probs
from tractable.learning.conditional.trees.rows import RegressionRows
from tractable.learning.conditional.trees.tree import ConditionalTree, Prior

POWERS = (1.0, 1.5)  # of the size of a weight, that its penalty is divided by
ROUNDS = 3  # of fits with new factors
FIT = Effort(2, 1e-3)
LEAST_WEIGHT = 0.01  # a smaller one is zero
LEAST_FACTOR = 0.05
OTHERS = 2.0  # how much the mean of all targets counts where one chooses its penalty


def sparse_regressions(
    rows: RegressionRows,
    held: RegressionRows | None,
    start: tuple[ConditionalTree, Prior],
    tried: tuple[list[float], Sequence[float]],
    watch: Watch,
) -> tuple[ConditionalTree, Prior]:
    """Regressions of all targets without edges, and a prior around them, from those with a plain penalty.

    `tried` are L1 penalties, in ascending order, and shares of generative weights. Of these, and of the plain
    regression, the one is taken that suits the held-out rows best. Each target chooses, but what the others
    choose counts too: its own rows may be few. Without held-out rows it is the middle penalty.
    """
    penalties, shares = tried
    alone, plain = start
    paths = []
    for j in range(rows.states.size):
        watch.report("inputs of targets", j, rows.states.size)
        if watch.should_stop():
            return alone, plain._replace(means=tuple(beta[0] for beta in alone.beta))
        first = (alone.beta[j][0], np.full(rows.x.shape[1], plain.l2))
        found = [
            line for power in POWERS for line in _path(rows, j, (first[0], plain.means[j]), penalties, power)
        ]
        paths.append([first, *found])
        if held is not None and are_few(rows):
            paths[-1] += hybrid_regressions(rows, j, first[0], shares)
    best = np.full(len(paths), 1 + (len(penalties) - 1) // 2)
    if held is not None:
        scores = np.array([_scores(held, j, [beta for beta, _ in path]) for j, path in enumerate(paths)])
        best = np.argmax(scores + OTHERS * scores.mean(axis=0), axis=1)
    chosen = [path[number] for path, number in zip(paths, best.tolist(), strict=True)]
    tree = ConditionalTree(alone.parent, tuple(beta[None] for beta, _ in chosen))
    return tree, Prior(1.0, tuple(beta for beta, _ in chosen), tuple(factor for _, factor in chosen))


def _path(
    rows: RegressionRows, target: int, start: tuple[Floats, Floats], penalties: list[float], power: float
) -> list[tuple[Floats, Floats]]:
    """The weights of a regression and their factors for each penalty, each from the one before.

    `start` has the first weights and their prior mean.
    """
    beta, mean = start
    answer = []
    gone = np.zeros(beta.shape[1], dtype=np.bool_)
    for l1 in penalties:
        for _ in range(ROUNDS):
            size = np.sqrt((beta**2).sum(axis=0))
            gone = gone | (size < LEAST_WEIGHT)
            gone[-1] = False  # the intercept
            factor = np.maximum(l1 / np.maximum(size, LEAST_WEIGHT) ** power, LEAST_FACTOR)
            factor[gone] = np.inf
            beta = np.where(gone, 0.0, beta)
            penalty = Penalty(1.0, mean, factor)
            beta = fit_regression(rows.x, rows.y[:, target], rows.weight, penalty, beta, FIT)
        answer.append((beta, factor))
    return answer


def _scores(held: RegressionRows, target: int, tried: list[Floats]) -> list[float]:
    """The log-likelihood of a target in held-out rows, for each of some regressions."""
    each = np.arange(len(held.x))
    return [float(held.weight @ log_probs(held.x, beta)[each, held.y[:, target]]) for beta in tried]
