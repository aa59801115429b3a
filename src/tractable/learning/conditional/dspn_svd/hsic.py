"""Directions with maximum dependence on a class, by the Hilbert-Schmidt independence criterion (HSIC).

With the centring matrix H and L_ij = 1 where the classes of rows i and j agree, X'HLHX is the sum over
classes of n_c^2 (mean_c - mean)(mean_c - mean)'. So its eigenvectors come from a thin singular value
decomposition of the weighted class means, no matrix of rows by rows is ever formed, and there are at most as
many directions as classes less one.

Random Fourier features (Rahimi and Recht, 2007) stand for a Gaussian kernel in the place of the dot product.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.late import linalg

CHUNK = 4096  # rows whose features are held at once
NEGLIGIBLE = 1e-10  # a singular value that is a smaller share of the largest is zero
MOST_TRIES = 20  # to make a covariance positive definite, each with ten times more on its diagonal
PAIRS = 2000  # of rows, whose distances tell how wide a kernel is

Kernel: TypeAlias = Literal["linear", "rbf"]


class FeatureSettings(NamedTuple):
    """The settings of feature extraction."""

    kernel: Kernel = "linear"  # dot products, or a Gaussian kernel
    whiten: bool = False  # whether features have variance one within classes
    components: int = 2000  # random Fourier features of the Gaussian kernel
    width: float = 0.5  # of the Gaussian kernel, as a share of the median distance of two rows
    shrinkage: float = 0.01  # share of the mean variance that is added to variances within classes


@dataclass(frozen=True, slots=True, eq=False)
class FourierMap:
    """Random Fourier features, whose dot products approximate a Gaussian kernel.

    Their approximation error exceeds that of single precision, which halves the time.
    """

    frequencies: Floats  # (numbers, components)
    phases: Floats  # (components,)

    def __call__(self, x: Floats) -> Floats:
        """The features of some rows. Shape (rows, components)."""
        angle = x.astype(np.float32) @ self.frequencies.astype(np.float32) + self.phases.astype(np.float32)
        return np.asarray(np.float32(self.scale) * np.cos(angle))

    @property
    def scale(self) -> float:
        """The factor of all cosines."""
        return float(np.sqrt(2.0 / self.phases.size))


def identity(x: Floats) -> Floats:
    """The numbers themselves as features."""
    return x


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Features of numeric rows: directions of the inputs or of their random Fourier features."""

    mapped: Callable[[Floats], Floats]  # `identity` or a `FourierMap`
    directions: Floats  # (numbers or components, features)

    def __call__(self, x: Floats) -> Floats:
        """The features of rows. Shape (rows, features)."""
        parts = (self.mapped(x[i : i + CHUNK]) @ self.directions for i in range(0, max(len(x), 1), CHUNK))
        return np.concatenate(list(parts))

    def first(self, count: int) -> "Projection":
        """The features with the strongest dependence, up to a number."""
        return replace(self, directions=self.directions[:, :count])


def find_projection(
    x: Floats, codes: Ints, weights: Floats, settings: FeatureSettings, rng: np.random.Generator
) -> Projection:
    """All features that depend on the class, or an arbitrary one if none does.

    Raises:
        ValueError: if there is no such kernel.
    """
    if settings.kernel not in get_args(Kernel):
        raise ValueError(f"kernel must be 'linear' or 'rbf', not {settings.kernel!r}")
    mapped = (
        identity if settings.kernel == "linear" else fourier_map(x, settings.components, settings.width, rng)
    )
    sums = class_sums(x, codes, weights, mapped, settings.whiten)
    if not sums.counts.sum():
        return Projection(mapped, np.eye(sums.means.shape[1], 1))
    directions = whitened_directions(sums, settings.shrinkage) if settings.whiten else hsic_directions(sums)
    return Projection(mapped, directions if directions.shape[1] else np.eye(len(directions), 1))


def fourier_map(x: Floats, components: int, width: float, rng: np.random.Generator) -> FourierMap:
    """A random map for a kernel as wide as `width` times the median distance of two rows."""
    pairs = rng.integers(0, len(x), (2, PAIRS if len(x) else 0))
    distance = np.sqrt(((x[pairs[0]] - x[pairs[1]]) ** 2).sum(axis=1))
    typical = float(np.median(distance[distance > 0])) if distance.any() else 1.0
    frequencies = rng.normal(size=(x.shape[1], components)) / (width * typical)
    return FourierMap(frequencies, rng.uniform(0.0, 2 * np.pi, components))


@dataclass(frozen=True, slots=True, eq=False)
class ClassSums:
    """The sufficient statistics of the directions."""

    counts: Floats  # (classes,) the weight of each class
    means: Floats  # (classes, features)
    within: Floats | None  # (features, features) the covariance within classes, if it is wanted

    @property
    def contrasts(self) -> Floats:
        """The distance of each class's mean from the mean of all, times the class's weight."""
        mean = self.counts @ self.means / self.counts.sum()
        return self.counts[:, None] * (self.means - mean)


def class_sums(
    x: Floats, codes: Ints, weights: Floats, mapped: Callable[[Floats], Floats], with_covariance: bool
) -> ClassSums:
    """The sums over rows that the directions depend on; features are made chunk by chunk."""
    size = mapped(x[:1]).shape[1]
    counts = np.bincount(codes, weights).astype(np.float64)
    totals, square = np.zeros((counts.size, size)), np.zeros((size, size)) if with_covariance else None
    for first in range(0, len(x), CHUNK):
        rows = slice(first, first + CHUNK)
        some, weight = mapped(x[rows]), weights[rows]
        member = np.zeros((counts.size, weight.size))
        member[codes[rows], np.arange(weight.size)] = weight
        totals += member @ some
        if square is not None:
            scaled = some * np.sqrt(weight).astype(some.dtype)[:, None]
            square += scaled.T @ scaled
    means = totals / np.where(counts > 0, counts, 1.0)[:, None]
    if square is not None and counts.sum():
        square = (square - (means * counts[:, None]).T @ means) / counts.sum()
    return ClassSums(counts, means, square)


def hsic_directions(sums: ClassSums) -> Floats:
    """The eigenvectors of X'HLHX with positive eigenvalues, largest first. Shape (features, directions)."""
    _, size, right = np.linalg.svd(sums.contrasts, full_matrices=False)
    kept = size > NEGLIGIBLE * size.max(initial=0.0)
    return _with_signs(right[kept].T)


def whitened_directions(sums: ClassSums, shrinkage: float) -> Floats:
    """Directions with maximum HSIC and unit variance within classes.

    The covariance within classes is shrunk by that share of its mean variance. Shape (features, directions).
    """
    assert sums.within is not None
    factor = _cholesky_of_shrunk(sums.within, max(shrinkage, NEGLIGIBLE))
    contrasts = linalg.solve_triangular(factor, sums.contrasts.T, lower=True)
    left, size, _ = np.linalg.svd(contrasts, full_matrices=False)
    kept = size > NEGLIGIBLE * size.max(initial=0.0)
    return _with_signs(linalg.solve_triangular(factor.T, left[:, kept], lower=False))


def _cholesky_of_shrunk(covariance: Floats, share: float) -> Floats:
    """The lower Cholesky factor of a covariance with a share of its mean variance added to all variances.

    Where hardly anything varies the covariance is rounding error and may have negative eigenvalues: more is
    added until it has none.
    """
    level = abs(float(np.trace(covariance))) / len(covariance) or 1.0
    for more in 10.0 ** np.arange(MOST_TRIES):
        try:
            shrunk = covariance + more * share * level * np.eye(len(covariance))
            return np.asarray(linalg.cholesky(shrunk, lower=True))
        except np.linalg.LinAlgError:
            continue
    return np.asarray(np.sqrt(level) * np.eye(len(covariance)))


def _with_signs(directions: Floats) -> Floats:
    """The directions with signs that make their largest entries positive."""
    largest = np.abs(directions).argmax(axis=0) if directions.size else np.zeros(0, dtype=np.int64)
    sign = np.sign(directions[largest, np.arange(directions.shape[1])])
    return directions * np.where(sign == 0, 1.0, sign)
