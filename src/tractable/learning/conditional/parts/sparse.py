"""Which inputs each target's regression has: penalties of squares with factors that are found anew.

The L1 penalty of a weight w is about `l1 / |w|` times half its square. Fitted with such factors of the
squares again and again, the weights of useless inputs go to zero, and are left out from then on. A power of
`|w|` above one penalises large weights less, as suits targets that hang on few inputs. The last factors are
kept: they say how far the regressions of parts may be from those of the whole.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.learning.conditional.parts.regression import Effort, Penalty, fit_regression, log_probs
from tractable.learning.conditional.parts.rows import RegressionRows
from tractable.learning.conditional.parts.tree import ConditionalTree, Prior

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
        fitted = [
            line for power in POWERS for line in _path(rows, j, (first[0], plain.means[j]), penalties, power)
        ]
        paths.append([first, *fitted])
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


STRENGTHS = (3.0, 30.0)  # L2 penalties of the distance from the generative weights
ROWS_AN_INPUT = 50  # from which on rows are many
PSEUDO_ROWS = 1.0  # of each state, with the mean of all rows
LEAST_VARIANCE = 0.01  # of a standardised input, given the target
HYBRID_FIT = Effort(4, 1e-3)


def are_few(rows: RegressionRows) -> bool:
    """Whether rows are so few that a generative model may help."""
    return rows.total < ROWS_AN_INPUT * (rows.x.shape[1] - 1)


def hybrid_regressions(
    rows: RegressionRows, target: int, start: Floats, shares: Sequence[float]
) -> Iterator[tuple[Floats, Floats]]:
    """Regressions drawn to shares of the generative weights, and the factors of their penalties.

    They are fitted from a start, (states - 1, features).
    """
    whole = generative_weights(rows, target)
    for share in shares:
        mean = share * whole
        mean[:, -1] = start[:, -1]  # the intercept of scaled weights is another one
        for l2 in STRENGTHS:
            factor = np.full(start.shape[1], l2)
            fitted = fit_regression(
                rows.x, rows.y[:, target], rows.weight, Penalty(1.0, mean, factor), mean, HYBRID_FIT
            )
            yield fitted, factor


def generative_weights(rows: RegressionRows, target: int) -> Floats:
    """The regression that independent normal inputs imply. Shape (states - 1, features)."""
    x, weight = rows.x[:, :-1], rows.weight
    states = int(rows.states[target])
    centre = weight @ x / max(rows.total, 1e-9)
    members = rows.indicators(target) * weight[:, None]
    count = members.sum(axis=0)[:, None]
    mean = (members.T @ x + PSEUDO_ROWS * centre) / (count + PSEUDO_ROWS)
    square = weight @ (x - mean[rows.y[:, target]]) ** 2
    variance = np.maximum(square / max(rows.total, 1e-9), LEAST_VARIANCE)
    share = (count[:, 0] + PSEUDO_ROWS) / (rows.total + states * PSEUDO_ROWS)
    height = np.log(share) - 0.5 * (mean**2 / variance).sum(axis=1)
    slopes = (mean[1:] - mean[0]) / variance
    return np.concatenate([slopes, (height[1:] - height[0])[:, None]], axis=1)
