"""Flows on their way down: what the two downward sweeps share. See down.py for what a flow is."""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, UInt32s
from tractable.compiled import fused_kernel
from tractable.engine.backward import Backward
from tractable.engine.rows import merged, power


class Flows(NamedTuple):
    """What a tile's operations hand down: a product its flow, a sum its share (its flow over its value)."""

    value: Floats  # (slots + 1, rows) the last line is for what is needed at once and not again
    exponent: Floats  # (slots, rows) of the sum's value, valid where `scaled`
    scaled: Bools  # (slots,)


def new_flows(back: Backward, width: int) -> Flows:
    """Room for the flows of a tile."""
    shape = (back.slots + 1, width)
    return Flows(np.zeros(shape), np.zeros(shape), np.zeros(back.slots, dtype=np.bool_))


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
    """Add the flows of the products above, then turn the flow of a sum into its share, if it is none already.

    If slot `o` `is_empty` the flow of the first product is its first; the root has none above, and its own.
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


@merged
def any_exponent(
    scaled: bool, handed: Bools, reader: UInt32s, weight_exponent: Floats, first: int, last: int
) -> bool:
    """Whether an operation or a sum above it has exponents; `handed` says which sums hand some down."""
    found = scaled
    for e in range(first, last):
        found |= handed[reader[e]] or weight_exponent[e] != 0.0
    return found


@fused_kernel
def pull_scaled(  # noqa: PLR0913, PLR0917
    flow: Floats,
    flow_exponent: Floats,
    flow_scaled: Bools,
    o: int,
    value: Floats,
    exponent: Floats,
    scaled: Bools,
    v: int,
    reader: UInt32s,
    weight: Floats,
    weight_exponent: Floats,
    first: int,
    last: int,
    tally: Floats,
) -> None:
    """Set the flow of an operation from the sums above, where exponents count.

    A tally, unless empty, gets the flow of each edge.
    """
    for r in range(flow.shape[1]):
        total = 0.0
        own = exponent[v, r] if scaled[v] else 0.0
        if value[v, r] > 0.0:
            for e in range(first, last):
                s = reader[e]
                steps = weight_exponent[e] + own - (flow_exponent[s, r] if flow_scaled[s] else 0.0)
                x = flow[s, r] * weight[e] * value[v, r] * power(steps)
                total += x
                if tally.size:
                    tally[e] += x
        flow[o, r] = total
