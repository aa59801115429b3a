"""Flows on their way down: what the two downward sweeps share. See down.py for what a flow is."""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, UInt32s
from tractable.compiled import njit
from tractable.engine.backward import Backward
from tractable.engine.rows import CONTRACT, power, total_slots
from tractable.engine.tallies import share_slot
from tractable.engine.up import Tile


class Flows(NamedTuple):
    """What a tile's operations hand down: a product its flow, a sum its share (its flow over its value)."""

    value: Floats  # (slots, rows)
    exponent: Floats  # (slots, rows) of the sum's value, valid where `scaled`
    scaled: Bools  # (slots,)


@njit(cache=True, nogil=True)
def new_flows(back: Backward, width: int) -> Flows:
    """Room for the flows of a tile."""
    shape = (back.slots, width)
    return Flows(np.zeros(shape), np.zeros(shape), np.zeros(back.slots, dtype=np.bool_))


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def take_from_products(
    flow: Floats, o: int, value: Floats, v: int, is_sum: bool, product: UInt32s, first: int, last: int
) -> bool:
    """Set the flow of an operation that only products read; answers whether it is a sum's share already."""
    if is_sum and last - first == 1:
        share_slot(flow, o, product[first], value, v)
        return True
    if first < last:  # else it is the root, whose flow is there
        total_slots(flow, o, product, first, last)
    return False


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def any_exponent(back: Backward, op: int, tile: Tile, flows: Flows) -> bool:
    """Whether an operation or a sum above it has exponents."""
    if tile.scaled[back.again.slot[op]]:
        return True
    for e in range(back.start[op], back.start[op + 1]):
        if flows.scaled[back.reader_slot[e]] or back.weight_exponent[e] != 0.0:
            return True
    return False


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def pull_scaled(back: Backward, op: int, tile: Tile, flows: Flows, tally: Floats) -> None:
    """The flow of an operation, where exponents count. A tally, unless empty, gets each edge's."""
    o, v, flow = back.slot[op], back.again.slot[op], flows.value
    for r in range(flow.shape[1]):
        total = 0.0
        own = tile.exponent[v, r] if tile.scaled[v] else 0.0
        if tile.value[v, r] > 0.0:
            for e in range(back.start[op], back.start[op + 1]):
                s = back.reader_slot[e]
                steps = back.weight_exponent[e] + own - (flows.exponent[s, r] if flows.scaled[s] else 0.0)
                x = flow[s, r] * back.weight[e] * tile.value[v, r] * power(steps)
                total += x
                if tally.size:
                    tally[e] += x
        for e in range(back.product_start[op], back.product_start[op + 1]):
            total += flow[back.product_slot[e], r]
        flow[o, r] = total
