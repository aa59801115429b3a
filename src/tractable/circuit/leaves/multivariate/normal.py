"""The arithmetic of multivariate normal distributions: parts of them, given other parts."""

from math import log, tau
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.base.late import linalg

LEAST_VARIANCE = 1e-14  # of what is left of a variance once other columns are known: rounding takes more away
LARGEST = float(np.finfo(np.float64).max)
FARTHEST = 1e300  # stands for the square of a distance, in sd, that is no double


class Given(NamedTuple):
    """The distribution of the open columns given those seen: a mean for each row, one covariance for all."""

    mean: Floats  # (rows, open)
    covariance: Floats  # (open, open)


def log_normal(z: Floats, mean: Floats, covariance: Floats) -> Floats:
    """The log-density of each row. `z` is (rows, columns)."""
    return log_normal_by_factor(z, mean, square_root(covariance))


def log_normal_by_factor(z: Floats, mean: Floats, factor: Floats) -> Floats:
    """The log-density of a normal distribution given the lower Cholesky factor. Shape (rows,)."""
    if not mean.size:
        return np.zeros(len(z))
    with np.errstate(over="ignore", invalid="ignore"):
        away = linalg.solve_triangular(factor, (z - mean).T, lower=True, check_finite=False)
    log_scale = float(np.log(np.diag(factor)).sum()) + 0.5 * mean.size * log(tau)
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.einsum("cr,cr->r", away, away)
    return -0.5 * np.where(square < FARTHEST, square, FARTHEST) - log_scale


def given_seen(z: Floats, mean: Floats, covariance: Floats, seen: Bools) -> Given:
    """The conditional distribution of unobserved columns; `z` (rows, columns) is read only where observed.

    Raises:
        ValueError: if the observed cells are so extreme that the conditional means overflow.
    """
    open_, known = np.flatnonzero(~seen), np.flatnonzero(seen)
    own = covariance[np.ix_(open_, open_)]
    if not known.size:
        return Given(np.broadcast_to(mean[open_], (len(z), open_.size)), own)
    between = covariance[np.ix_(open_, known)]
    gain = linalg.cho_solve(linalg.cho_factor(covariance[np.ix_(known, known)]), between.T).T
    left = own - gain @ between.T
    place = np.arange(open_.size)
    left[place, place] = np.maximum(left[place, place], LEAST_VARIANCE * own[place, place])
    with np.errstate(over="ignore", invalid="ignore"):
        moved = mean[open_] + (z[:, known] - mean[known]) @ gain.T
    if np.isnan(moved).any():
        raise ValueError("a cell is too extreme for the other columns of its multivariate leaf")
    return Given(np.clip(moved, -LARGEST, LARGEST), left)


def square_root(covariance: Floats) -> Floats:
    """The lower Cholesky factor; of a covariance that rounding has made singular, one next to it."""
    spread = np.sqrt(np.diag(covariance))
    scaled = covariance / np.outer(spread, spread)
    for jitter in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        try:
            factor = np.linalg.cholesky(scaled + jitter * np.eye(len(scaled)))
        except np.linalg.LinAlgError:
            continue
        return factor * spread[:, None]
    raise ValueError("a covariance matrix is not positive definite")


def square_roots(covariances: Floats) -> Floats:
    """The factors of several covariances, (covariances, columns, columns)."""
    try:
        return np.asarray(np.linalg.cholesky(covariances), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.stack([square_root(one) for one in covariances])


def patterns(x: Floats) -> list[tuple[Bools, Ints]]:
    """The rows grouped by which cells they have: (cells that are seen, rows)."""
    seen = ~np.isnan(x)
    if seen.all():
        return [(np.ones(x.shape[1], dtype=np.bool_), np.arange(len(x)))]
    packed = np.packbits(seen, axis=1)
    _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1])
    return [(seen[i], rows) for i, rows in zip(first.tolist(), parts, strict=True)]
