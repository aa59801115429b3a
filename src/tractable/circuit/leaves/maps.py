"""Monotone maps z = T(x) of a column that make its values more normal.

A map has no state: its parameters are an array of shape (..., width), whose leading axes broadcast against
those of the values. Every map is a smooth or broken line that ascends from minus to plus infinity, so that a
density of z is a density of x once it is multiplied by the slope, and so that an interval of x is one of z.
"""

from abc import ABC, abstractmethod
from math import prod
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.late import special
from tractable.circuit.leaves.moments import piece_moments, quadrature_moments

VAST = 2.0**40  # beyond, the ends of the cell of a whole number have few digits of its length
LARGEST = 1e300  # stands for a number that is too large for a double
STRAIGHT = 30.0  # this many scales from the shift, a Yeo-Johnson map goes on as a straight line
LEAST_LAMBDA, MOST_LAMBDA = (
    -8.0,
    10.0,
)  # of a Yeo-Johnson map: beyond these, slopes at the ends are no doubles


class MonotoneMap(ABC):
    """An ascending map of numbers to numbers."""

    name: ClassVar[str]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @abstractmethod
    def check(self, params: Floats) -> str | None:
        """What is wrong with parameters (..., width), in words; None when nothing is."""

    @abstractmethod
    def forward(self, params: Floats, x: Floats) -> Floats:
        """The images z = T(x)."""

    @abstractmethod
    def inverse(self, params: Floats, z: Floats) -> Floats:
        """The values x whose images are z."""

    @abstractmethod
    def log_slope(self, params: Floats, x: Floats) -> Floats:
        """The logarithm of the derivative of T at x."""

    def cell(self, params: Floats, x: Floats) -> tuple[Floats, Floats]:
        """The middle and half of the length of the image of the cell of width one around whole numbers."""
        first, last = (self.forward(params, x + half) for half in (-0.5, 0.5))
        half = (last - first) / 2
        vast = np.abs(x) > VAST
        if not vast.any():
            return (first + last) / 2, half
        with np.errstate(under="ignore"):
            slope = np.exp(self.log_slope(params, x))
        return np.where(vast, self.forward(params, x), (first + last) / 2), np.where(vast, slope / 2, half)

    @abstractmethod
    def moments(
        self, params: Floats, mean: Floats, sd: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """Mean and standard deviation of x if z is normal with the given mean and sd, limited to [low, high].

        Limits may be infinite. Where both are equal, x is the point there.
        """


@final
class IdentityMap(MonotoneMap):
    """The identity map, without parameters."""

    name: ClassVar[str] = "identity"

    def check(self, params: Floats) -> str | None:
        """A complaint if there are parameters."""
        return f"{params.shape[-1]} parameters for a map that has none" if params.shape[-1] else None

    def forward(self, params: Floats, x: Floats) -> Floats:
        """The values themselves."""
        return np.broadcast_arrays(x, params.sum(axis=-1))[0].astype(np.float64)

    def inverse(self, params: Floats, z: Floats) -> Floats:
        """The images themselves."""
        return self.forward(params, z)

    def log_slope(self, params: Floats, x: Floats) -> Floats:
        """Zeros."""
        return np.zeros(np.broadcast_shapes(np.shape(x), params.shape[:-1]))

    def moments(
        self, params: Floats, mean: Floats, sd: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """Those of the limited normal distribution."""
        line = np.zeros((*params.shape[:-1], 1))
        return piece_moments(line, line, np.ones_like(line), mean, sd, low, high)


@final
class YeoJohnsonMap(MonotoneMap):
    """The power map of Yeo and Johnson (2000); the parameters are (shift, scale, lambda).

    It is linear beyond 30 scales from the shift. The published map is bounded on one side if lambda is below
    0 or above 2, so its density would not integrate to one.
    """

    name: ClassVar[str] = "yeo-johnson"

    def check(self, params: Floats) -> str | None:
        """A complaint unless the parameters are finite, the scale positive and lambda moderate."""
        if params.shape[-1] != 3:
            return f"{params.shape[-1]} parameters, not shift, scale and lambda"
        if not np.isfinite(params).all() or (params[..., 1] <= 0).any():
            return "a shift, scale or lambda is not finite, or a scale not positive"
        if (np.abs(params[..., :2]) > LARGEST).any():
            return f"a shift or a scale is beyond {LARGEST:g} either way"
        lam = params[..., 2]
        fine = ((lam >= LEAST_LAMBDA) & (lam <= MOST_LAMBDA)).all()
        return None if fine else f"a lambda is not between {LEAST_LAMBDA:g} and {MOST_LAMBDA:g}"

    def forward(self, params: Floats, x: Floats) -> Floats:
        """The images; finite for every finite x."""
        u = _scaled(params, x)
        near = np.minimum(np.abs(u), STRAIGHT)
        exponent = _exponent(params, u)
        with np.errstate(over="ignore"):
            beyond = (np.abs(u) - near) * np.exp((exponent - 1) * np.log1p(near))
        size = _power(near, exponent) + beyond
        return np.copysign(np.minimum(size, LARGEST), u)

    def inverse(self, params: Floats, z: Floats) -> Floats:
        """The values; at most 1e300 scales from the shift."""
        exponent = _exponent(params, z)
        size, end = np.abs(z), _power(STRAIGHT, exponent)
        near = np.minimum(_root(np.minimum(size, end), exponent), STRAIGHT)
        with np.errstate(over="ignore", invalid="ignore"):
            beyond = np.maximum(size - end, 0.0) * np.exp((1 - exponent) * np.log1p(STRAIGHT))
            u = np.copysign(np.minimum(near + beyond, LARGEST), z)
            return np.clip(params[..., 0] + params[..., 1] * u, -LARGEST, LARGEST)

    def log_slope(self, params: Floats, x: Floats) -> Floats:
        """The logarithm of the power's derivative, less that of the scale."""
        u = _scaled(params, x)
        near = np.minimum(np.abs(u), STRAIGHT)
        return (_exponent(params, u) - 1) * np.log1p(near) - np.log(params[..., 1])

    def moments(
        self, params: Floats, mean: Floats, sd: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """By Gauss-Legendre quadrature on either side of the shift and in either tail."""
        ends = params[..., 0, None] + params[..., 1, None] * np.array([-STRAIGHT, 0.0, STRAIGHT])
        breaks = self.forward(params[..., None, :], ends)

        def inverse(z: Floats) -> Floats:
            return self.inverse(params[..., None, None, :], z)

        return quadrature_moments(inverse, breaks, mean, sd, low, high)


def _scaled(params: Floats, x: Floats) -> Floats:
    """The distance from the shift in scales; finite."""
    with np.errstate(over="ignore"):
        return np.clip((x - params[..., 0]) / params[..., 1], -LARGEST, LARGEST)


def _exponent(params: Floats, side: Floats) -> Floats:
    """The exponent on the side of zero that a number is on."""
    return np.where(np.signbit(side), 2 - params[..., 2], params[..., 2])


def _power(size: Floats | float, exponent: Floats) -> Floats:
    """((1 + size)^exponent - 1) / exponent, and the logarithm of 1 + size where the exponent is zero."""
    log = np.log1p(size)
    return np.asarray(log * special.exprel(exponent * log))


def _root(size: Floats, exponent: Floats) -> Floats:
    """The inverse of `_power`."""
    flat = np.abs(exponent) < 1e-12
    safe = np.where(flat, 1.0, exponent)
    with np.errstate(over="ignore", divide="ignore"):
        log = np.where(flat, size, np.log1p(np.maximum(size * safe, -1.0)) / safe)
        return np.asarray(np.expm1(np.minimum(log, 700.0)))


@final
class PiecewiseLinearMap(MonotoneMap):
    """Linear between knots, and linear extrapolation beyond the ends.

    The parameters are the knots' values in x, ascending, and then their images in z, ascending: two numbers
    a knot, and two knots at least.
    """

    name: ClassVar[str] = "piecewise-linear"

    def check(self, params: Floats) -> str | None:
        """A complaint unless there are finite ascending knots with finite positive slopes."""
        width = params.shape[-1]
        if width < 4 or width % 2:
            return f"{width} parameters are not the values and the images of two or more knots"
        x, z = _knots(params)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if not np.isfinite(params).all() or (np.diff(x) <= 0).any() or (np.diff(z) <= 0).any():
                return "the values or the images of the knots are not finite and ascending"
            if (np.abs(params) > LARGEST).any():
                return f"the value or the image of a knot is beyond {LARGEST:g} either way"
            log_slope = np.log(np.diff(z)) - np.log(np.diff(x))
        return None if np.isfinite(log_slope).all() else "a slope between knots is not finite and positive"

    def forward(self, params: Floats, x: Floats) -> Floats:
        """The images; at most 1e300 in size."""
        return _interpolate(*_knots(params), x)

    def inverse(self, params: Floats, z: Floats) -> Floats:
        """The values; at most 1e300 in size."""
        return _interpolate(*_knots(params)[::-1], z)

    def log_slope(self, params: Floats, x: Floats) -> Floats:
        """The logarithm of the slope of the piece; at a knot that of the piece above it."""
        at, to = _knots(params)
        return _pick(np.log(np.diff(to)) - np.log(np.diff(at)), _pieces(at, x))

    def moments(
        self, params: Floats, mean: Floats, sd: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, Floats]:
        """In closed form for each piece."""
        x, z = _knots(params)
        return piece_moments(z[..., :-1], x[..., :-1], np.diff(x) / np.diff(z), mean, sd, low, high)


def _knots(params: Floats) -> tuple[Floats, Floats]:
    """The values and the images of the knots. Shapes (..., knots)."""
    knots = params.shape[-1] // 2
    return params[..., :knots], params[..., knots:]


def _interpolate(at: Floats, to: Floats, x: Floats) -> Floats:
    """The broken line through the knots `at` -> `to` and straight on."""
    piece = _pieces(at, x)
    with np.errstate(over="ignore"):
        slope = _pick(np.diff(to) / np.diff(at), piece)
        image = _pick(to, piece) + (x - _pick(at, piece)) * slope
    return np.clip(image, -LARGEST, LARGEST)


def _pieces(at: Floats, x: Floats) -> Ints:
    """The piece that each value lies in, counted from zero; the first and the last are open."""
    inner = at[..., 1:-1]
    flat = inner.reshape(prod(inner.shape[:-1]), inner.shape[-1])
    if len(flat) and (flat == flat[:1]).all():  # one map for all values, as in the leaves of one mixture
        shape = np.broadcast_shapes(np.shape(x), at.shape[:-1])
        return np.broadcast_to(np.searchsorted(flat[0], x, side="right"), shape)
    return (np.asarray(x)[..., None] >= inner).sum(axis=-1)


def _pick(table: Floats, piece: Ints) -> Floats:
    """The entry of each piece in a table (..., pieces) whose leading axes broadcast against the pieces'."""
    if table.ndim == 1:
        return table[piece]
    spread = np.broadcast_to(table, (*piece.shape, table.shape[-1]))
    return np.take_along_axis(spread, piece[..., None], axis=-1)[..., 0]


MAPS: dict[str, MonotoneMap] = {m.name: m for m in (IdentityMap(), YeoJohnsonMap(), PiecewiseLinearMap())}
