"""Maximum likelihood fitting of multivariate Gaussian leaves with fixed maps."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.leaves.multivariate.leaf import GaussianLeaf
from tractable.circuit.leaves.multivariate.normal import given_seen, patterns, square_root

LEAST_SPREAD = 1e-6  # a fitted variance is at least this part of the pooled one


def refit_leaves_together(
    leaves: Sequence[GaussianLeaf], x: Floats, weight: Floats, smoothing: float
) -> list[GaussianLeaf]:
    """The leaves of maximum likelihood, of leaves over the same columns through the same kind of map.

    `x` is (rows, columns) with NaN for missing cells, which are filled by their expectation under the leaf as
    it is (the E step); `weight` is (leaves, rows). `smoothing` is a pseudo-count in rows, distributed around
    the leaf's own mean like the rows within all leaves: it makes no group wider than groups are.
    """
    total = weight.sum(axis=1)
    moments = [weighted_moments(leaf, x, w) for leaf, w in zip(leaves, weight, strict=True)]
    whole = float(total.sum())
    if whole == 0:
        return list(leaves)
    pooled = sum(t * covariance for t, (_, covariance) in zip(total, moments, strict=True)) / whole
    least = LEAST_SPREAD * np.diag(np.maximum(np.diag(pooled), 1e-300))
    return [
        leaf if t == 0 else _moved(leaf, mean, (t * own + smoothing * pooled) / (t + smoothing) + least)
        for leaf, t, (mean, own) in zip(leaves, total, moments, strict=True)
    ]


def blend_leaves(old: GaussianLeaf, new: GaussianLeaf, step: float) -> GaussianLeaf:
    """The leaf whose mean and covariance lie `step` from 0 to 1 of the way from one leaf to another."""
    covariance = (1 - step) * old.covariance + step * new.covariance
    return _moved(old, (1 - step) * old.mean + step * new.mean, covariance)


def weighted_moments(leaf: GaussianLeaf, x: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Expected mean and covariance of the mapped values of weighted rows, missing cells under the leaf."""
    total = float(weight.sum())
    filled, beside = np.empty(x.shape), np.zeros(leaf.factor.shape)
    if total == 0:
        return leaf.mean, leaf.covariance
    for seen, rows in patterns(x):
        z = leaf.mapped(x[rows], seen)
        open_ = np.flatnonzero(~seen)
        if open_.size:
            given = given_seen(z, leaf.mean, leaf.covariance, seen)
            z[:, open_] = given.mean
            beside[np.ix_(open_, open_)] += weight[rows].sum() * given.covariance
        filled[rows] = z
    mean = weight @ filled / total
    away = filled - mean
    return mean, ((away * weight[:, None]).T @ away + beside) / total


def _moved(leaf: GaussianLeaf, mean: Floats, covariance: Floats) -> GaussianLeaf:
    return replace(leaf, mean=mean, factor=square_root(covariance))
