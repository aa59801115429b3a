"""Mean and standard deviation of a mixture, accumulated component by component.

With each component the mean makes a step from where the heavier part lies: a far component of hardly any
weight takes no digits from a mean near zero, whichever comes first. What rounding takes from the mean is kept
beside it, so that the spread of close components is right however far from zero they lie.

Spreads are variances in columns of moderate numbers. In the others, of which squares may be no doubles, they
are standard deviations, which cost a root for each component.
"""

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.engine.rows import merged

LARGEST, SMALLEST = 1e140, 1e-140  # the squares of numbers between these are doubles with all digits
VAST = 1e300  # the difference of larger numbers may be no double


@merged
def mix_plain(flow: Floats, leaf: Floats, mean: Floats, variance: Floats, before: Floats) -> None:
    """Add a leaf (mean, what it lacks, variance) to a mixture; all else is (rows,), `before` (2, rows)."""
    m, lacks, v = leaf[0], leaf[1], leaf[2]
    for r in range(flow.size):
        f = flow[r]
        if f > 0.0:
            total = before[0, r] + f
            old, new = before[0, r] / total, f / total
            apart = (m - mean[r]) + (lacks - before[1, r])
            if new > old:
                origin, step = m, lacks - old * apart
            else:
                origin, step = mean[r], before[1, r] + new * apart
            moved = origin + step
            back = moved - origin
            before[1, r] = (origin - (moved - back)) + (step - back)
            mean[r] = moved
            variance[r] = old * variance[r] + new * (v + old * apart * apart)
            before[0, r] = total


@merged
def mix_wide(flow: Floats, leaf: Floats, mean: Floats, sd: Floats, before: Floats) -> None:
    """Moments of a mixture by standard deviations, without overflow or underflow of squares."""
    for r in range(flow.size):
        f = flow[r]
        if f > 0.0:
            total = before[0, r] + f
            old, new = before[0, r] / total, f / total
            unit = 0.25 if max(abs(leaf[0]), abs(mean[r])) > VAST else 1.0
            m, lacks, was, lacked = unit * leaf[0], unit * leaf[1], unit * mean[r], unit * before[1, r]
            apart = (m - was) + (lacks - lacked)
            if new > old:
                origin, step = m, lacks - old * apart
            else:
                origin, step = was, lacked + new * apart
            moved = origin + step
            back = moved - origin
            before[1, r] = ((origin - (moved - back)) + (step - back)) / unit
            mean[r] = moved / unit
            own, other = np.sqrt(old) * (unit * sd[r]), np.sqrt(new) * (unit * leaf[2])
            between = np.sqrt(old) * np.sqrt(new) * abs(apart)
            top = max(own, other, between)
            if top > 0.0:
                own, other, between = own / top, other / top, between / top
                sd[r] = (np.sqrt(own * own + other * other + between * between) * top) / unit
            before[0, r] = total


def wide_columns(mean: Floats, sd: Floats) -> Bools:
    """Whether a leaf with such moments needs the second way. Shape (leaves,)."""
    with np.errstate(invalid="ignore"):
        far = (np.abs(mean) > LARGEST) | (sd > LARGEST)
        near = ((np.abs(mean) < SMALLEST) & (mean != 0)) | ((sd < SMALLEST) & (sd > 0))
    return np.asarray(far | near, dtype=np.bool_)
