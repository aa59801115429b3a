"""Compiled sweeps over many multivariate normal distributions and rows, grouped by their missing cells.

Rows with the same cells seen lie side by side. Mapped values are (leaves or 1, columns, rows), so that leaves
with the same maps share theirs.
"""

from math import erfc, expm1, inf, log, log1p, sqrt, tau
from typing import NamedTuple

from tractable.base.arrays import Floats, Ints
from tractable.base.compiled import inner, kernel

JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)  # added to a correlation matrix that rounding has made singular
TILE = 256  # rows that are swept at a time, so that their scores stay in cache
BRIEF, LONG = 0.5, 3.0  # cells over which the density falls by less than this are integrated by a series
FARTHEST = 1e300  # stands for the square of a distance, in sd, that is no double
FAR_TAIL = -20.0  # from here on, the logarithm of a tail is an asymptotic series
HALF_LOG_TAU = 0.5 * log(tau)


class Normals(NamedTuple):
    """Normal distributions over the same columns. Shapes (leaves, columns) and (leaves, columns, columns)."""

    mean: Floats
    spread: Floats
    correlation: Floats
    factor: Floats  # the lower Cholesky factors of the covariances


class Patterns(NamedTuple):
    """The patterns of missing cells; the rows of pattern p are `first[p]` to `first[p + 1]`."""

    first: Ints  # (patterns + 1,)
    order: Ints  # (patterns, columns) seen columns of real numbers, seen ones of whole numbers, missing ones
    points: Ints  # (patterns,) how many columns of real numbers are seen
    known: Ints  # (patterns,) how many columns are seen


class Room(NamedTuple):
    """Scratch arrays."""

    factor: Floats  # (columns, columns)
    score: Floats  # (columns, TILE)
    square: Floats  # (TILE,)
    product: Floats  # (TILE,)
    gain: Floats  # (columns,)


@inner
def factorise(normals: Normals, leaf: int, order: Ints, size: int, factor: Floats) -> bool:
    """Fill in the lower Cholesky factor of the covariance of some columns; False if it is not definite."""
    for jitter in JITTERS:
        if factorise_once(normals.correlation[leaf], jitter, order, size, factor):
            for i in range(size):
                for j in range(i + 1):
                    factor[i, j] *= normals.spread[leaf, order[i]]
            return True
    return False


@inner
def factorise_once(correlation: Floats, jitter: float, order: Ints, size: int, factor: Floats) -> bool:
    """Fill in the factor of correlations with some jitter on the diagonal."""
    for i in range(size):
        for j in range(i + 1):
            left = correlation[order[i], order[j]] + (jitter if i == j else 0.0)
            for k in range(j):
                left -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = left / factor[j, j]
            elif left > 0.0:
                factor[i, i] = sqrt(left)
            else:
                return False
    return True


@inner
def whiten(z: Floats, mean: Floats, order: Ints, size: int, begin: int, rows: int, room: Room) -> None:
    """Fill in the independent standard scores of the first columns in `order` for a tile of rows."""
    factor, score = room.factor, room.score
    for i in range(size):
        line, cells, m = score[i], z[order[i]], mean[order[i]]
        for r in range(rows):
            line[r] = cells[begin + r] - m
        for j in range(i):
            f, other = factor[i, j], score[j]
            for r in range(rows):
                line[r] -= f * other[r]
        f = 1.0 / factor[i, i]
        for r in range(rows):
            line[r] *= f


@inner
def log_tail(x: float) -> float:
    """The logarithm of the probability that a standard normal number is below x."""
    if x > FAR_TAIL:
        return log(0.5 * erfc(-x * sqrt(0.5))) if x < 1.0 else log1p(-0.5 * erfc(x * sqrt(0.5)))
    square, term, total = x * x, 1.0, 1.0
    for k in range(1, 10):
        term *= -(2 * k - 1) / square
        total += term
    return -0.5 * square - log(-x) - HALF_LOG_TAU + log(total)


@inner
def fall_over(score: float, half: float) -> float:
    """How far the logarithm of the density may fall over a cell, and at least the cell's length in sd."""
    return 2.0 * half * max(1.0, abs(score) + half)


@inner
def mean_density(score: float, half: float, terms: int) -> float:
    """The mean density in the cell `half` to both sides of a score, relative to that of its middle.

    The terms are He_n(score) half^n / (n + 1)! for even n, with probabilists' Hermite polynomials.
    """
    step, less = score * half, half * half
    before, here = 1.0, step  # He_n(score) half^n
    total, share = 1.0, 1.0
    for n in range(1, 2 * terms, 2):
        before = step * here - n * less * before
        here = step * before - (n + 1) * less * here
        share /= (n + 1) * (n + 2)
        total += before * share
    return total


@inner
def log_mean_density(score: float, half: float) -> float:
    """The logarithm of the mean density of a standard normal number in a long cell, without its constant."""
    if fall_over(score, half) < LONG:
        return log(mean_density(score, half, 12)) - 0.5 * score * score
    first, last = -abs(score) - half, -abs(score) + half
    above, below = log_tail(last), log_tail(first) if first > -inf else -inf
    fall = below - above
    if last < 0.0:  # far out, the difference of logarithms has no digits
        fall = min(fall, last * 2.0 * half)
    if fall >= 0.0 or above == -inf:
        return -inf
    return above + log(-expm1(fall)) - log(2.0 * half) + HALF_LOG_TAU


@inner
def add_cells(half: Floats, i: int, begin: int, rows: int, room: Room, value: Floats) -> None:
    """Add the mean densities of the cells of column i in the order of a pattern, for a tile of rows.

    For brief cells it is exp(-score^2 / 2), which goes to `square`, times a few terms of a series, which
    multiply `product`. Those of long cells go to `value`.
    """
    score, sd, long = room.score[i], room.factor[i, i], 0
    for r in range(rows):
        s, h = score[r], half[begin + r] / sd
        brief = fall_over(s, h) < BRIEF
        long += 0 if brief else 1
        s, h = (s, h) if brief else (0.0, 0.0)
        room.product[r] *= mean_density(s, h, 6)
        room.square[r] += s * s
    if long > 0:
        for r in range(rows):
            s, h = score[r], half[begin + r] / sd
            if not fall_over(s, h) < BRIEF:
                value[begin + r] += log_mean_density(s, h)


@inner
def add_points(points: int, rows: int, room: Room) -> None:
    """Fill in the squares of the distances of the columns of real numbers, for a tile of rows."""
    for r in range(rows):
        room.square[r], room.product[r] = 0.0, 1.0
    for i in range(points):
        away = room.score[i]
        for r in range(rows):
            room.square[r] += away[r] * away[r]


@inner
def log_densities_of(
    leaf: int,
    z: Floats,
    half: Floats,
    normals: Normals,
    patterns: Patterns,
    p: int,
    room: Room,
    value: Floats,
) -> None:
    """Fill in the log-densities of one leaf for the rows of one pattern, whose factor is in the room."""
    n, order = patterns.known[p], patterns.order[p]
    scale = n * HALF_LOG_TAU
    for i in range(n):
        scale += log(room.factor[i, i])
    last = patterns.first[p + 1]
    for begin in range(patterns.first[p], last, TILE):
        rows = min(TILE, last - begin)
        whiten(z, normals.mean[leaf], order, n, begin, rows, room)
        add_points(patterns.points[p], rows, room)
        value[begin : begin + rows] = -scale
        for i in range(patterns.points[p], n):
            add_cells(half[order[i]], i, begin, rows, room, value)
        for r in range(rows):
            value[begin + r] += log(room.product[r]) - 0.5 * min(room.square[r], FARTHEST)


@kernel
def log_densities(
    z: Floats, half: Floats, normals: Normals, patterns: Patterns, room: Room, value: Floats
) -> bool:
    """Fill in the log-densities of the cells seen, (leaves, rows); False if a covariance is not definite.

    Cells of whole numbers count by their masses divided by their lengths, which are twice `half`: a line for
    each column, if there are such columns.
    """
    leaves, size = normals.mean.shape
    for leaf in range(leaves):
        cells, lengths = z[leaf if len(z) > 1 else 0], half[leaf if len(half) > 1 else 0]
        for p in range(len(patterns.known)):
            if patterns.points[p] == size:
                for i in range(size):
                    for j in range(i + 1):
                        room.factor[i, j] = normals.factor[leaf, i, j]
            elif not factorise(normals, leaf, patterns.order[p], patterns.known[p], room.factor):
                return False
            log_densities_of(leaf, cells, lengths, normals, patterns, p, room, value[leaf])
    return True


@inner
def fill_gain(normals: Normals, leaf: int, order: Ints, size: int, column: int, room: Room) -> float:
    """Fill in the correlations of a missing column with the scores seen; what they leave of its variance."""
    left = 1.0
    for i in range(size):
        total = normals.correlation[leaf, order[i], column] * normals.spread[leaf, order[i]]
        for k in range(i):
            total -= room.factor[i, k] * room.gain[k]
        room.gain[i] = total / room.factor[i, i]
        left -= room.gain[i] * room.gain[i]
    return left


class Completed(NamedTuple):
    """The conditional moments of missing cells, to be filled in."""

    mean: Floats  # (leaves, columns, rows)
    sd: Floats  # (leaves, columns, patterns)
    least: float  # part of a variance that is left whatever is seen


@inner
def given_pattern(
    leaf: int, z: Floats, normals: Normals, patterns: Patterns, p: int, room: Room, answer: Completed
) -> None:
    """Fill in what one leaf says of the missing cells of one pattern, whose factor is in the room."""
    n, order, last = patterns.known[p], patterns.order[p], patterns.first[p + 1]
    for begin in range(patterns.first[p], last, TILE):
        rows = min(TILE, last - begin)
        whiten(z, normals.mean[leaf], order, n, begin, rows, room)
        for column in order[n:]:
            left = fill_gain(normals, leaf, order, n, column, room)
            line, wide = answer.mean[leaf, column], normals.spread[leaf, column]
            answer.sd[leaf, column, p] = wide * sqrt(max(left, answer.least))
            line[begin : begin + rows] = normals.mean[leaf, column]
            for i in range(n):
                away, f = room.score[i], room.gain[i] * wide
                for r in range(rows):
                    line[begin + r] += f * away[r]


@kernel
def given_seen(z: Floats, normals: Normals, patterns: Patterns, room: Room, answer: Completed) -> bool:
    """Fill in what is known of missing cells; False if a covariance is not definite."""
    for leaf in range(len(normals.mean)):
        cells = z[leaf if len(z) > 1 else 0]
        for p in range(len(patterns.known)):
            if not factorise(normals, leaf, patterns.order[p], patterns.known[p], room.factor):
                return False
            given_pattern(leaf, cells, normals, patterns, p, room, answer)
    return True
