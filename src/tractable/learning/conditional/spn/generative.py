"""Regressions that are drawn to a generative model of the inputs where rows are few.

Inputs that are independent given the target, with means of their own and one variance, lead to a logistic
regression whose weights are known from counts: linear discriminant analysis with a diagonal covariance. Such
weights need far fewer rows than those of highest conditional likelihood (Ng and Jordan, «On Discriminative
vs. Generative Classifiers», 2001), but inputs that tell the same count twice. As a prior mean, scaled down,
they give way to the conditional likelihood as rows become many.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tractable.base.arrays import Floats
from tractable.learning.conditional.trees.regression import Effort, Penalty, fit_regression
from tractable.learning.conditional.trees.rows import RegressionRows

STRENGTHS = (3.0, 30.0)  # L2 penalties of the distance from the generative weights
ROWS_AN_INPUT = 50  # from which on rows are many
PSEUDO_ROWS = 1.0  # of each state, with the mean of all rows
LEAST_VARIANCE = 0.01  # of a standardised input, given the target
FIT = Effort(4, 1e-3)


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
                rows.x, rows.y[:, target], rows.weight, Penalty(1.0, mean, factor), mean, FIT
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
