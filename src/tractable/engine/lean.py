"""Counting with fewer values kept between the way up and the way down.

The values of a large circuit do not stay in the nearest cache, and to write and read them is a good part of
the cost of counting. The value of a sum of two operations need not be kept: on the way down both operands are
read anyway, and the sum is computed again from them. Where most sums have two operands that saves nearly half
of all values.
"""

import numpy as np

from tractable.base.arrays import Bools
from tractable.circuit.graph import SUM
from tractable.engine.backward import Backward
from tractable.engine.program import PLAIN, Program, ValuePlaces


def recompute_pairs(back: Backward, program: Program) -> Backward:
    """Recompute the values of pairs without stored values of sums that can be computed from two operands."""
    if back.cuts.size > 2 or back.matrix.any():
        return back
    again = _pairs(back, program)
    kept = int((~again).sum())
    # The values kept lie without gaps between them: with gaps nothing was gained.
    place = np.where(again, kept + program.slot.astype(np.int64), np.cumsum(~again) - 1).astype(np.uint32)
    layout = ValuePlaces(place, place[program.operand], False)
    return back._replace(up=layout, again=layout, places=int(place.max()) + 1, pair=again)


def _pairs(back: Backward, program: Program) -> Bools:
    """Which operations are sums of two, never with exponents, that nothing but one product reads."""
    degree, leaves = np.diff(program.start), np.diff(program.leaf_start)
    sums_above, products_above = np.diff(back.start), np.diff(back.product_start)
    plain = (program.kind == SUM) & (program.care == PLAIN)
    return plain & (degree == 2) & (leaves == 0) & (sums_above == 0) & (products_above == 1)
