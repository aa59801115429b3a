"""The weights of a mixture of given members that suit rows best, by EM (stacking: Wolpert, 1992)."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints

NEGLIGIBLE = 0.001  # members with less weight are left out
STEPS = 1000  # of EM, at most
SETTLED = 1e-7  # EM ends when no weight moves by more


class StackWeights(NamedTuple):
    """The weight of each member, zero for those that are left out, and the rows' mean log-likelihood."""

    weights: Floats  # (members,)
    score: float


def choose_weights(
    logs: Floats,
    row_weights: Floats,
    edges: Ints,
    pseudo_count: float = 1.0,
    max_edges: int | None = None,
    negligible: float = NEGLIGIBLE,
) -> StackWeights:
    """Weights of members, from the log-likelihoods (rows, members) and the edges of each.

    Members with less than a `negligible` weight are left out.

    Raises:
        ValueError: if each member alone has too many edges.
    """
    limit = np.inf if max_edges is None else max_edges
    kept = np.flatnonzero(edges <= limit)
    if not kept.size:
        raise ValueError(f"the smallest member has {edges.min():,} edges, more than {max_edges:,}")

    def fit(members: Ints) -> StackWeights:
        return fit_weights(logs[:, members], row_weights, pseudo_count)

    fitted = fit(kept)
    while kept.size > 1 and (fitted.weights < negligible).any():
        kept = kept[fitted.weights >= min(negligible, fitted.weights.max())]
        fitted = fit(kept)
    while kept.size > 1 and edges[kept].sum() + kept.size > limit:
        rest = [np.delete(kept, i) for i in range(kept.size)]
        kept = max(rest, key=lambda members: fit(members).score)
        fitted = fit(kept)
    weights = np.zeros(edges.size)
    weights[kept] = fitted.weights
    return StackWeights(weights, fitted.score)


def fit_weights(
    logs: Floats,
    row_weights: Floats,
    pseudo_count: float | Floats,
    start: Floats | None = None,
    steps: int = STEPS,
    *,
    last: float = 0.0,
    settled: float = SETTLED,
) -> StackWeights:
    """The weights of a mixture by EM, from the log-likelihoods (rows, members) of rows.

    The pseudo-count is spread evenly over all members, unless there is one for each. EM begins with the
    weights of `start`, which are positive, or with even ones, and takes at most this number of `steps`. The
    weight of the last member is at least `last`.
    """
    members = logs.shape[1]
    pseudo_counts = pseudo_count if isinstance(pseudo_count, np.ndarray) else pseudo_count / members
    share = np.full(members, 1 / members) if start is None else start / start.sum()
    top = logs.max(axis=1, keepdims=True)
    scaled = np.exp(logs - np.where(np.isneginf(top), 0.0, top))
    for _ in range(steps):
        total = scaled @ share
        counts = (row_weights / np.where(total > 0, total, 1.0)) @ scaled * share + pseudo_counts
        before, share = share, _at_least(last, counts / counts.sum())
        if np.abs(share - before).max() < settled:
            break
    with np.errstate(divide="ignore"):
        mean = np.log(scaled @ share) + top[:, 0]
    return StackWeights(share, float(row_weights @ mean) / (float(row_weights.sum()) or 1.0))


def _at_least(last: float, share: Floats) -> Floats:
    """Normalised weights of which the last one is at least `last`."""
    if share[-1] < last:
        share[:-1] *= (1 - last) / share[:-1].sum()
        share[-1] = last
    return share
