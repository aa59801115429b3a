"""Log-densities of rows under several Gaussians, and the sums from which these are fitted again.

Cells may be missing. Under one Gaussian the missing cells of a row are normal given those observed, with a
covariance that depends on the pattern of missing cells only. With W the inverse of the covariance of the
observed cells, filled up with zeros, and S the whole covariance, the expected row is mean + S W (row - mean),
and the covariance of what is missing is S - S W S: no matrix of its own shape for each pattern is needed.
"""

from dataclasses import dataclass

import numpy as np

from tractable.arrays import Bools, Floats, Ints

CHUNK = 4096  # rows at a time
CELLS = 2_000_000  # most numbers in the matrices of a chunk of incomplete rows


@dataclass(frozen=True, slots=True, eq=False)
class Gaussians:
    """Several Gaussians over the same columns."""

    mean: Floats  # (components, columns)
    covariance: Floats  # (components, columns, columns)

    def __len__(self) -> int:
        return len(self.mean)


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Rows sorted into those that are complete and those that miss some cells."""

    values: Floats  # (rows, columns), zeros where missing
    complete: Ints  # rows
    incomplete: Ints  # rows
    pattern: Ints  # (incomplete rows,) the pattern of each
    masks: Floats  # (patterns, columns) one where observed


def sort_patterns(values: Floats, seen: Bools) -> Patterns:
    """The rows by their pattern of missing cells."""
    whole = seen.all(axis=1)
    incomplete = np.flatnonzero(~whole)
    masks, pattern = np.unique(seen[incomplete], axis=0, return_inverse=True)
    return Patterns(values, np.flatnonzero(whole), incomplete, pattern.reshape(-1), masks.astype(np.float64))


def log_densities(rows: Patterns, gaussians: Gaussians) -> Floats:
    """The log-density of the observed cells of each row under each Gaussian. Shape (rows, components)."""
    count, columns = gaussians.mean.shape
    answer = np.zeros((len(rows.values), count))
    if not columns:
        return answer
    answer[rows.complete] = _complete_densities(rows.values[rows.complete], gaussians)
    for k in range(count if rows.incomplete.size else 0):
        inverse, log_det = _observed_inverses(rows.masks, gaussians.covariance[k])
        constant = -0.5 * (log_det + rows.masks.sum(axis=1) * np.log(2 * np.pi))
        for part, deviation, turned in _turned(rows, gaussians.mean[k], inverse):
            square = np.einsum("ij,ij->i", deviation, turned)
            answer[rows.incomplete[part], k] = constant[rows.pattern[part]] - 0.5 * square
    return answer


def _complete_densities(values: Floats, gaussians: Gaussians) -> Floats:
    """Log-densities of complete rows, all components by one matrix product."""
    count, columns = gaussians.mean.shape
    root = np.linalg.cholesky(gaussians.covariance)
    whiten = np.linalg.inv(root)  # (components, columns, columns)
    offset = np.einsum("kij,kj->ki", whiten, gaussians.mean)
    constant = -np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) - 0.5 * columns * np.log(2 * np.pi)
    matrix = whiten.reshape(count * columns, columns).T
    answer = np.empty((len(values), count))
    for start in range(0, len(values), CHUNK):
        white = values[start : start + CHUNK] @ matrix - offset.ravel()
        square = (white**2).reshape(-1, count, columns).sum(axis=2)
        answer[start : start + CHUNK] = constant - 0.5 * square
    return answer


def _observed_inverses(masks: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """The inverse of the covariance of the observed cells, filled up with zeros, and the log-determinant.

    Shapes (patterns, columns, columns) and (patterns,).
    """
    both = masks[:, :, None] * masks[:, None, :]
    filled = covariance * both + np.eye(masks.shape[1]) * (1 - masks)[:, :, None]
    return np.linalg.inv(filled) * both, np.linalg.slogdet(filled)[1]


def _turned(rows: Patterns, mean: Floats, inverse: Floats) -> "list[tuple[slice, Floats, Floats]]":
    """Parts of the incomplete rows: deviations from the mean, and these times their pattern's inverse."""
    parts = []
    step = max(1, CELLS // max(1, mean.size**2))
    for start in range(0, rows.incomplete.size, step):
        part = slice(start, start + step)
        pattern = rows.pattern[part]
        deviation = (rows.values[rows.incomplete[part]] - mean) * rows.masks[pattern]
        parts.append((part, deviation, np.einsum("nij,nj->ni", inverse[pattern], deviation)))
    return parts


def expected_sums(rows: Patterns, gaussians: Gaussians, share: Floats) -> tuple[Floats, Floats]:
    """Expected sums of rows and of their outer products, weighted by each component's share of each row.

    `share` is (rows, components). Shapes (components, columns) and (components, columns, columns).
    """
    whole = rows.values[rows.complete]
    part = share[rows.complete]
    total = part.T @ whole
    square = np.stack([(whole * part[:, k : k + 1]).T @ whole for k in range(len(gaussians))])
    for k in range(len(gaussians) if rows.incomplete.size else 0):
        own_total, own_square = _incomplete_sums(rows, gaussians, k, share[rows.incomplete, k])
        total[k] += own_total
        square[k] += own_square
    return total, square


def _incomplete_sums(rows: Patterns, gaussians: Gaussians, k: int, share: Floats) -> tuple[Floats, Floats]:
    """The same sums over the incomplete rows of one component."""
    mean, covariance = gaussians.mean[k], gaussians.covariance[k]
    inverse, _ = _observed_inverses(rows.masks, covariance)
    total, square = np.zeros_like(mean), np.zeros_like(covariance)
    for part, _, turned in _turned(rows, mean, inverse):
        expected = mean + turned @ covariance
        total += share[part] @ expected
        square += (expected * share[part, None]).T @ expected
    by_pattern = np.bincount(rows.pattern, share, minlength=len(rows.masks))
    average = np.einsum("p,pij->ij", by_pattern, inverse)
    return total, square + share.sum() * covariance - covariance @ average @ covariance
