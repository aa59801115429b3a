"""Distributions over a few states, as blocks of log-probabilities: what several families are made of."""

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.late import sparse


def quiet_log(x: Floats) -> Floats:
    """The logarithm, -inf at zero without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(x)


def state_weights(state: Ints, weight: Floats, states: int) -> Floats:
    """The weight of the rows in each state. `weight` is (leaves, rows), the answer (leaves, states)."""
    rows = np.arange(state.size + 1)
    one_hot = sparse.csr_array((np.ones(state.size), state, rows), shape=(state.size, states))
    return np.asarray(weight @ one_hot, dtype=np.float64)


def overall_shares(weight: Floats) -> Floats:
    """The share of each row in the weight of all leaves; equal shares if all weigh zero. Shape (rows,)."""
    total = weight.sum(axis=0)
    whole = total.sum()
    return total / whole if whole > 0 else np.full(total.size, 1 / max(1, total.size))


def smooth_counts(counts: Floats, smoothing: float) -> Floats:
    """Probabilities of maximum likelihood, with a pseudo-count divided evenly among the states.

    Where there is nothing to count, all states are equally probable. Shapes (leaves, states).
    """
    counts = counts + smoothing / counts.shape[1]
    total = counts.sum(axis=1, keepdims=True)
    empty = total == 0
    return np.where(empty, 1.0 / counts.shape[1], counts / np.where(empty, 1.0, total))


def restrict_states(log_p: Floats, allowed: Bools | None) -> Floats:
    """The log-probabilities, with -inf for states that are not allowed."""
    return log_p if allowed is None else np.where(allowed, log_p, -np.inf)


def log_total(log_p: Floats) -> Floats:
    """The log of the sum of each line, -inf when it is all -inf. Shape (leaves,)."""
    top, p = _scale_lines(log_p)
    return top + quiet_log(p.sum(axis=1))


def shares(log_p: Floats) -> Floats:
    """Each line as probabilities that sum to one; zeros where it is all -inf. Shape (leaves, states)."""
    p = _scale_lines(log_p)[1]
    total = p.sum(axis=1, keepdims=True)
    return p / np.where(total == 0, 1.0, total)


def state_entropy(log_p: Floats) -> Floats:
    """The entropy of each line, from its logarithms alone, so that near certainty is told from it.

    Shape (leaves,).
    """
    possible = log_p > -np.inf
    return -np.sum(np.exp(log_p) * np.where(possible, log_p, 0.0), axis=1) + 0.0


def pick(log_p: Floats, uniform: Floats) -> tuple[Ints, Floats]:
    """The state at which each line's distribution function passes `uniform`, and how far into it that is.

    The second answer lies in [0, 1] and is uniform again. A state of probability zero is never picked
    unless the line has no other. Shapes (leaves,).
    """
    p = shares(log_p)
    below = np.cumsum(p, axis=1)
    aim = uniform * below[:, -1]
    last = p.shape[1] - 1 - (p[:, ::-1] > 0).argmax(axis=1)  # rounding must not carry us past it
    state = np.minimum((below <= aim[:, None]).sum(axis=1), last)
    line = np.arange(len(p))
    own = p[line, state]
    into = (aim - (below[line, state] - own)) / np.where(own == 0, 1.0, own)
    return state, np.clip(into, 0.0, 1.0)


def _scale_lines(log_p: Floats) -> tuple[Floats, Floats]:
    """A finite number near the top of each line, and the probabilities divided by its exponential."""
    top = log_p.max(axis=1)
    top = np.where(np.isfinite(top), top, 0.0)
    return top, np.exp(log_p - top[:, None])
