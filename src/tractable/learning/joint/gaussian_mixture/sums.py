"""Log-densities of rows under several Gaussians, and the sufficient statistics for fitting them.

Log-densities and sufficient statistics of complete rows are matrix products with the products of any two
cells. The missing cells of an incomplete row are normal given the others: with P the inverse covariance, d
the deviation from the mean with zeros where cells are missing, and B the inverse of the block of P over the
missing cells, their expected deviation is -B (P d) and their covariance is B. Only small matrices are
inverted, one for each pattern of missing cells; patterns with equal numbers of missing cells are processed
together.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.leaves.multivariate.normal import square_roots

FEATURE_CELLS = 4_000_000  # most numbers that are held for a part of the rows


@dataclass(frozen=True, slots=True, eq=False)
class Gaussians:
    """Several Gaussians over the same columns."""

    mean: Floats  # (components, columns)
    covariance: Floats  # (components, columns, columns)

    def __len__(self) -> int:
        return len(self.mean)


class PatternGroup(NamedTuple):
    """Incomplete rows with equal numbers of missing cells."""

    rows: Ints  # (group rows,)
    pattern: Ints  # (group rows,) the pattern of each
    missing: Ints  # (patterns, missing cells) columns


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Complete rows, and incomplete rows grouped by their numbers of missing cells."""

    values: Floats  # (rows, columns), zeros where missing
    seen: Bools  # (rows, columns)
    complete: Ints  # rows
    groups: tuple[PatternGroup, ...]


def sort_patterns(values: Floats, seen: Bools) -> Patterns:
    """The rows by their pattern of missing cells."""
    lost = (~seen).sum(axis=1)
    groups = []
    for count in np.unique(lost[lost > 0]).tolist():
        rows = np.flatnonzero(lost == count)
        masks, pattern = np.unique(seen[rows], axis=0, return_inverse=True)
        missing = np.nonzero(~masks)[1].reshape(len(masks), count)
        groups.append(PatternGroup(rows, pattern.reshape(-1), missing))
    return Patterns(values, seen, np.flatnonzero(lost == 0), tuple(groups))


@dataclass(frozen=True, slots=True, eq=False)
class Conditionals:
    """Gaussians with precomputed matrices for the rows of a table."""

    gaussians: Gaussians
    precision: Floats  # (components, columns, columns)
    log_det: Floats  # (components,) of the covariance
    blocks: tuple[Floats, ...]  # by group: covariances of missing cells (components, patterns, cells, cells)
    block_log_det: tuple[Floats, ...]  # by group, of their inverses (components, patterns)


def conditionals(rows: Patterns, gaussians: Gaussians) -> Conditionals:
    """The distributions of missing cells given observed ones."""
    root = square_roots(gaussians.covariance)
    whiten = np.linalg.inv(root)
    precision = whiten.transpose(0, 2, 1) @ whiten
    log_det = 2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    parts = [precision[:, g.missing[:, :, None], g.missing[:, None, :]] for g in rows.groups]
    blocks = tuple(np.linalg.inv(part) for part in parts)
    return Conditionals(
        gaussians, precision, log_det, blocks, tuple(np.linalg.slogdet(part)[1] for part in parts)
    )


def log_densities(rows: Patterns, given: Conditionals) -> Floats:
    """The log-density of the observed cells of each row under each Gaussian. Shape (rows, components)."""
    count, columns = given.gaussians.mean.shape
    answer = np.zeros((len(rows.values), count))
    if not columns:
        return answer
    coefficients = _coefficients(given)
    for chunk in _chunks(rows.complete, columns):
        answer[chunk] = _features(rows.values[chunk]) @ coefficients
    for i, group in enumerate(rows.groups):
        cells = columns - group.missing.shape[1]
        log_det = given.log_det[:, None] + given.block_log_det[i]
        constant = -0.5 * (log_det + cells * np.log(2 * np.pi))
        for part in _parts(group, given):
            lost = _expected_cells(rows, given, i, part)
            square = (lost.deviation * lost.turned).sum(axis=2) + (lost.at * lost.expected).sum(axis=2)
            answer[group.rows[part]] = (constant[:, group.pattern[part]] - 0.5 * square).T
    return answer


def expected_sums(rows: Patterns, given: Conditionals, share: Floats) -> tuple[Floats, Floats]:
    """Expected sums of rows and of their outer products, weighted by responsibilities.

    `share` is (rows, components). Shapes (components, columns) and (components, columns, columns).
    """
    count, columns = given.gaussians.mean.shape
    sums = np.zeros((count, 1 + columns + columns * (columns + 1) // 2))
    for chunk in _chunks(rows.complete, columns):
        sums += share[chunk].T @ _features(rows.values[chunk])
    total, square = sums[:, 1 : 1 + columns], np.zeros((count, columns, columns))
    first, second = np.triu_indices(columns)
    square[:, first, second] = square[:, second, first] = sums[:, 1 + columns :]
    for i, group in enumerate(rows.groups):
        by_pattern = np.zeros((len(group.missing), count))
        for part in _parts(group, given):
            own, pattern = share[group.rows[part]].T, group.pattern[part]
            filled = _filled_rows(rows, given, i, part)
            total += (own[:, None, :] @ filled)[:, 0]
            square += (filled * own[:, :, None]).transpose(0, 2, 1) @ filled
            np.add.at(by_pattern, pattern, own.T)
        where: Any = slice(None), group.missing[:, :, None], group.missing[:, None, :]
        np.add.at(square, where, by_pattern.T[:, :, None, None] * given.blocks[i])
    return total, square


def _chunks(rows: Ints, columns: int) -> list[Ints]:
    """The rows in chunks of limited feature size."""
    step = max(1, FEATURE_CELLS // (1 + columns + columns * (columns + 1) // 2))
    return [rows[start : start + step] for start in range(0, rows.size, step)]


def _features(values: Floats) -> Floats:
    """One, the cells, and the products of any two cells of each row."""
    columns = values.shape[1]
    answer = np.empty((1 + columns + columns * (columns + 1) // 2, len(values)))
    flat = np.ascontiguousarray(values.T)
    answer[0], answer[1 : 1 + columns] = 1.0, flat
    start = 1 + columns
    for column in range(columns):
        np.multiply(flat[column], flat[column:], out=answer[start : start + columns - column])
        start += columns - column
    return answer.T


def _coefficients(given: Conditionals) -> Floats:
    """The coefficient of each feature in the log-densities. Shape (features, components)."""
    mean, precision = given.gaussians.mean, given.precision
    linear = np.einsum("kij,kj->ki", precision, mean)
    constant = given.log_det + mean.shape[1] * np.log(2 * np.pi) + (linear * mean).sum(axis=1)
    first, second = np.triu_indices(mean.shape[1])
    products = precision[:, first, second] * np.where(first == second, -0.5, -1.0)
    return np.concatenate([-0.5 * constant[:, None], linear, products], axis=1).T


def _parts(group: PatternGroup, given: Conditionals) -> list[slice]:
    """The rows of a group in chunks of limited matrix size."""
    count, columns = given.gaussians.mean.shape
    step = max(1, FEATURE_CELLS // (count * (columns + group.missing.shape[1] ** 2)))
    return [slice(start, start + step) for start in range(0, group.rows.size, step)]


class _Lost(NamedTuple):
    """The conditional moments of missing cells, by component and row."""

    deviation: Floats  # from the mean, zeros where missing
    turned: Floats  # the same times the precision
    at: Floats  # of this, the missing cells
    expected: Floats  # deviations of the missing cells


def _expected_cells(rows: Patterns, given: Conditionals, i: int, part: slice) -> _Lost:
    """The expected missing cells of a chunk of rows."""
    group = rows.groups[i]
    own, pattern = group.rows[part], group.pattern[part]
    deviation = (rows.values[own] - given.gaussians.mean[:, None, :]) * rows.seen[own]
    turned = deviation @ given.precision
    at = turned[:, np.arange(own.size)[:, None], group.missing[pattern]]
    return _Lost(deviation, turned, at, -(given.blocks[i][:, pattern] @ at[..., None])[..., 0])


def _filled_rows(rows: Patterns, given: Conditionals, i: int, part: slice) -> Floats:
    """A chunk of rows with missing cells replaced by their expectations. (components, rows, columns)."""
    group = rows.groups[i]
    lost = _expected_cells(rows, given, i, part)
    line = np.arange(lost.at.shape[1])[:, None]
    lost.deviation[:, line, group.missing[group.pattern[part]]] = lost.expected
    return given.gaussians.mean[:, None, :] + lost.deviation
