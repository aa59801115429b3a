"""Flows on their way down: what the two downward sweeps share. See down.py for what a flow is."""

from typing import Any, NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints, UInt32s
from tractable.base.compiled import fused_kernel
from tractable.engine.backward import Backward
from tractable.engine.rows import inlined, merged, power
from tractable.engine.scaling import LARGE, NO_LINE, SMALL, STEP_DOWN, STEP_UP, hold_line, same_exponents


class Flows(NamedTuple):
    """What a tile's operations hand down: a product its flow, a sum its share (its flow over its value)."""

    value: Floats  # (slots + 1, rows) the last line is for what is needed at once and not again
    line: Ints  # (slots,) the line of exponents of the sum's value; NO_LINE where they are zero


def new_flows(back: Backward, width: int) -> Flows:
    """Room for the flows of a tile."""
    return Flows(np.zeros((back.slots + 1, width)), np.full(back.slots, NO_LINE))


@merged
def take_flow(  # noqa: PLR0913, PLR0917
    flow: Floats,
    o: int,
    value: Floats,
    v: int,
    is_share: bool,
    reader: UInt32s,
    weight: Floats,
    first: int,
    last: int,
) -> None:
    """Set slot `o` to the flow from the sums above, at least one; over its value if a share.

    Four sums are read at a time; where there are fewer, the first counts again with a weight of zero.
    """
    if last - first <= 2 and not is_share:
        a, u = reader[first], weight[first]
        b, w = reader[last - 1], weight[last - 1] if last - first == 2 else 0.0
        for r in range(flow.shape[1]):
            flow[o, r] = (u * flow[a, r] + w * flow[b, r]) * value[v, r]
        return
    for e in range(first, last, 4):
        a, u = reader[e], weight[e]
        b, w = (reader[e + 1], weight[e + 1]) if e + 1 < last else (a, 0.0)
        c, x = (reader[e + 2], weight[e + 2]) if e + 2 < last else (a, 0.0)
        d, y = (reader[e + 3], weight[e + 3]) if e + 3 < last else (a, 0.0)
        if e == first:
            for r in range(flow.shape[1]):
                flow[o, r] = u * flow[a, r] + w * flow[b, r] + x * flow[c, r] + y * flow[d, r]
        else:
            for r in range(flow.shape[1]):
                flow[o, r] += u * flow[a, r] + w * flow[b, r] + x * flow[c, r] + y * flow[d, r]
    if not is_share:
        for r in range(flow.shape[1]):
            flow[o, r] *= value[v, r]


@merged
def add_products(  # noqa: PLR0913, PLR0917
    flow: Floats,
    o: int,
    value: Floats,
    v: int,
    is_sum: bool,
    is_share: bool,
    product: UInt32s,
    first: int,
    last: int,
    is_empty: bool,
) -> None:
    """Add the flows of the products above, then convert the flow of a sum to its share.

    If slot `o` `is_empty`, the flow of the first product initialises it; the root has its own flow.
    """
    if is_empty and is_sum and 1 <= last - first <= 2:
        a, b, w = product[first], product[last - 1], float(last - first - 1)
        for r in range(flow.shape[1]):
            flow[o, r] = (flow[a, r] + w * flow[b, r]) / value[v, r] if value[v, r] > 0.0 else 0.0
        return
    for e in range(first, last):
        a = product[e]  # read once: for all a compiler knows, it may be in the array that is written to
        if is_empty and e == first:
            for r in range(flow.shape[1]):
                flow[o, r] = flow[a, r]
        else:
            for r in range(flow.shape[1]):
                flow[o, r] += flow[a, r]
    if is_sum and not is_share:
        for r in range(flow.shape[1]):
            flow[o, r] = flow[o, r] / value[v, r] if value[v, r] > 0.0 else 0.0


@inlined
def is_uneven(
    exponent: Floats, own: int, line: Ints, reader: UInt32s, weight_exponent: Floats, first: int, last: int
) -> bool:
    """Whether the exponents of an operation differ from those of a sum above it."""
    found = False
    for e in range(first, last):
        other = line[reader[e]]
        found |= weight_exponent[e] != 0.0
        if other != own and not found:
            found = other < 0 or own < 0 or not same_exponents(exponent, own, other)
    return found


@inlined
def hand_down_line(
    flow: Floats,
    flow_line: Ints,
    exponent: Floats,
    holders: Ints,
    unused: Ints,
    o: int,
    own: int,
    has_leaves: bool,
) -> Any:
    """Give a sum's share the exponents of its value; the slot that holds the share for leaf edges.

    That is the last slot where the share has exponents. Leaves have none.
    """
    hold_line(flow_line, holders, unused, o, own)
    s: Any = o
    if own >= 0 and has_leaves:
        s = np.uint32(flow.shape[0] - 1)
        for r in range(flow.shape[1]):
            k = exponent[own, r]  # a term of a leaf cannot be larger than the sum
            flow[s, r] = flow[o, r] / power(k) if k > -5.0 else 0.0
    return s


@fused_kernel
def pull_scaled(  # noqa: PLR0913, PLR0917
    flow: Floats,
    flow_line: Ints,
    o: int,
    value: Floats,
    exponent: Floats,
    own: int,
    v: int,
    reader: UInt32s,
    weight: Floats,
    weight_exponent: Floats,
    first: int,
    last: int,
    tally: Floats,
) -> None:
    """Set the flow of an operation from the sums above, where exponents count.

    A term is brought within 2**+-128 before it is multiplied by the share of its sum. `own` is the line of
    the operation. A tally, unless empty, gets the flow of each edge.
    """
    for r in range(flow.shape[1]):
        flow[o, r] = 0.0
    for e in range(first, last):
        s, w, above, spare = reader[e], weight[e], flow_line[reader[e]], flow.shape[0] - 1
        for r in range(flow.shape[1]):
            x, k = w * value[v, r], weight_exponent[e]
            k += (exponent[own, r] if own >= 0 else 0.0) - (exponent[above, r] if above >= 0 else 0.0)
            for _ in range(3):
                small = (x < SMALL) & (x > 0.0)
                large = x > LARGE
                x *= STEP_UP if small else (STEP_DOWN if large else 1.0)
                k += -1.0 if small else (1.0 if large else 0.0)
            flow[spare, r] = x * flow[s, r] * power(k)
            flow[o, r] += flow[spare, r]
        if tally.size:
            for r in range(flow.shape[1]):
                tally[e] += flow[spare, r]
