"""Softmax regressions with an L2 penalty, fitted by Newton's method.

A regression is an array (outcomes - 1, features): the scores of all outcomes but the first, whose score is
zero. The penalty treats all outcomes alike: it is that of the scores minus their mean over the outcomes. For
two outcomes it is l2 / 2 times the squares of the distances of weights from their prior mean. The last
feature is the intercept, whose prior has a variance of one. Outcomes are given as states of the rows, or as
their shares in each row, which add up to one.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.leaves.multivariate.normal import square_root

INTERCEPT_PENALTY = 1.0
LARGEST_SYSTEM = 400  # unknowns of a Newton step that are solved for directly; more by conjugate gradients
CONJUGATE_STEPS = 60
HALVINGS = 12  # of a step that does not lower the loss


class Effort(NamedTuple):
    """How far a regression is fitted."""

    steps: int  # of Newton's method
    tolerance: float  # the loss in nats that another step may still gain


class Penalty(NamedTuple):
    """Half the square of the distance of weights from their prior mean, weighted."""

    l2: float
    mean: Floats  # (outcomes - 1, features) prior mean of the weights
    factor: Floats | None = None  # (features,) of the penalty of each; infinite where the mean is kept

    def matrix(self) -> Floats:
        """How the weights of different outcomes for one feature belong together."""
        size = len(self.mean)
        return 2.0 * (np.eye(size) - 1.0 / (size + 1))

    def scale(self, features: int) -> Floats:
        """The penalty of each feature. Shape (features,)."""
        scale = np.full(features, self.l2) if self.factor is None else self.l2 * self.factor
        scale[-1] = INTERCEPT_PENALTY
        return scale

    def slope(self, beta: Floats) -> Floats:
        """The gradient of the penalty, of the shape of the weights."""
        return self.matrix() @ (beta - self.mean) * self.scale(beta.shape[1])

    def loss(self, beta: Floats) -> float:
        """The penalty itself."""
        return 0.5 * float(((beta - self.mean) * self.slope(beta)).sum())

    def select(self, some: Bools) -> "Penalty":
        """The penalty of some features, none of which is kept at its mean."""
        return Penalty(self.l2, self.mean[:, some], None if self.factor is None else self.factor[some])


def log_probs(x: Floats, beta: Floats) -> Floats:
    """The log-probability of each outcome. Shape (rows, outcomes)."""
    scores = np.zeros((len(x), len(beta) + 1))
    scores[:, 1:] = x @ beta.T
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


def fit_regression(
    x: Floats, y: Ints | Floats, weight: Floats, penalty: Penalty, start: Floats, effort: Effort
) -> Floats:
    """The weights of least penalised loss for weighted rows, from a start.

    Weights with an infinite penalty stay as they are, and are taken to be zero.
    """
    if penalty.factor is not None and not np.isfinite(penalty.factor).all():
        some = np.isfinite(penalty.factor)
        answer = start.copy()
        answer[:, some] = fit_regression(x[:, some], y, weight, penalty.select(some), start[:, some], effort)
        return answer
    beta, loss = start, _loss(x, y, weight, penalty, start)
    if not len(start):
        return start
    for _ in range(effort.steps):
        p = np.exp(log_probs(x, beta))
        slope = _slope(x, y, weight, p) + penalty.slope(beta)
        step = _newton_step(x, weight, p, penalty, slope)
        gain = 0.5 * float((slope * step).sum())
        if not gain > effort.tolerance:
            break
        size = 1.0
        for _ in range(HALVINGS):
            tried = beta - size * step
            new = _loss(x, y, weight, penalty, tried)
            if new < loss:
                break
            size /= 2
        else:
            break
        beta, loss = tried, new
    return beta


def _loss(x: Floats, y: Ints | Floats, weight: Floats, penalty: Penalty, beta: Floats) -> float:
    logs = log_probs(x, beta)
    each = logs[np.arange(len(y)), y] if y.ndim == 1 else (y * logs).sum(axis=1)
    return penalty.loss(beta) - float(weight @ each)


def _slope(x: Floats, y: Ints | Floats, weight: Floats, p: Floats) -> Floats:
    """The gradient of the loss without penalty. Shape (outcomes - 1, features)."""
    excess = p[:, 1:] - (y[:, None] == np.arange(1, p.shape[1]) if y.ndim == 1 else y[:, 1:])
    return (excess * weight[:, None]).T @ x


def curvature(x: Floats, weight: Floats, p: Floats) -> Floats:
    """The second derivatives of the loss without penalty. Shape (outcomes - 1, features) twice, flat."""
    above, features = p.shape[1] - 1, x.shape[1]
    answer = np.empty((above, features, above, features))
    for a in range(above):
        for b in range(a, above):
            s = weight * p[:, a + 1] * ((a == b) - p[:, b + 1])
            answer[a, :, b] = (x * s[:, None]).T @ x
            answer[b, :, a] = answer[a, :, b].T
    return answer.reshape(above * features, above * features)


def penalty_curvature(penalty: Penalty, features: int) -> Floats:
    """The second derivatives of the penalty, in the order of `curvature`."""
    return np.asarray(np.kron(penalty.matrix(), np.diag(penalty.scale(features))), dtype=np.float64)


def _newton_step(x: Floats, weight: Floats, p: Floats, penalty: Penalty, slope: Floats) -> Floats:
    if slope.size > LARGEST_SYSTEM:
        return _conjugate_gradients(x, weight, p, penalty, slope)
    system = curvature(x, weight, p) + penalty_curvature(penalty, x.shape[1])
    try:
        factor = cho_factor(system)
    except LinAlgError:  # the penalty is lost beside rows of huge weight
        factor = square_root(system), True
    step: Floats = cho_solve(factor, slope.ravel()).reshape(slope.shape)
    return step


def _conjugate_gradients(x: Floats, weight: Floats, p: Floats, penalty: Penalty, slope: Floats) -> Floats:
    """About the same step without the matrix, scaled by its diagonal."""
    scale, matrix, q = penalty.scale(x.shape[1]), penalty.matrix(), p[:, 1:]
    spread = (q * (1 - q) * weight[:, None]).T @ (x * x) + np.diag(matrix)[:, None] * scale

    def times(v: Floats) -> Floats:
        u = x @ v.T
        inner = weight[:, None] * q * (u - (q * u).sum(axis=1, keepdims=True))
        return inner.T @ x + matrix @ v * scale

    step, rest = np.zeros_like(slope), slope.copy()
    ahead = rest / spread
    size = float((rest * ahead).sum())
    least = 1e-6 * size
    for _ in range(CONJUGATE_STEPS):
        if size <= least:
            break
        pulled = times(ahead)
        length = size / float((ahead * pulled).sum())
        step += length * ahead
        rest -= length * pulled
        scaled = rest / spread
        new = float((rest * scaled).sum())
        ahead = scaled + new / size * ahead
        size = new
    return step
