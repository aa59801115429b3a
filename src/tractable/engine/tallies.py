"""Loops over the rows of one tile that hand flows down and add them up: the smallest pieces of counting.

`flow` and `value` are (slots, rows), `state` is (columns, rows): the rows of a slot lie side by side and fill
vector lanes. As much as possible is done in one pass over the rows, since passes cost more than arithmetic.
"""

from tractable.arrays import Floats, Ints, UInt32s
from tractable.compiled import njit
from tractable.engine.rows import CONTRACT, add_slots

SUMMED = {"contract", "reassoc", "nsz"}  # sums over rows may be taken in the order that fills vector lanes


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def share_slot(flow: Floats, o: int, s: int, value: Floats, v: int) -> None:
    """Set slot `o` to the share of a sum whose flow is in slot `s`: the flow over the sum's value."""
    for r in range(flow.shape[1]):
        flow[o, r] = flow[s, r] / value[v, r] if value[v, r] > 0.0 else 0.0


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def share_pair(flow: Floats, o: int, s: int, value: Floats, operand: UInt32s, weight: Floats, e: int) -> None:
    """The same for a sum whose value was not kept: that of two operations, from edge `e` on."""
    a, b, u, w = operand[e], operand[e + 1], weight[e], weight[e + 1]
    for r in range(flow.shape[1]):
        x = u * value[a, r] + w * value[b, r]
        flow[o, r] = flow[s, r] / x if x > 0.0 else 0.0


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def divide_slot(flow: Floats, o: int, value: Floats, v: int) -> None:
    """Turn the flow of a sum in slot `o` into its share."""
    for r in range(flow.shape[1]):
        flow[o, r] = flow[o, r] / value[v, r] if value[v, r] > 0.0 else 0.0


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def multiply_slot(flow: Floats, o: int, value: Floats, v: int) -> None:
    """Multiply slot `o`, a flow over a value, by that value."""
    for r in range(flow.shape[1]):
        flow[o, r] *= value[v, r]


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def add_flows(flow: Floats, o: int, slot: UInt32s, first: int, last: int) -> None:
    """Add the flows of the products above to slot `o`."""
    for e in range(first, last):
        s = slot[e]
        for r in range(flow.shape[1]):
            flow[o, r] += flow[s, r]


@njit(cache=True, nogil=True, fastmath=SUMMED, forceinline=True)
def pull_one(
    flow: Floats, o: int, value: Floats, v: int, slot: UInt32s, weight: Floats, e: int, tally: Floats
) -> None:
    """Set the flow of `o` from the only sum above, over edge `e`; add that edge's rows to the tally."""
    a, u = slot[e], weight[e]
    one = 0.0
    for r in range(flow.shape[1]):
        x = flow[a, r] * value[v, r]
        one += x
        flow[o, r] = u * x
    tally[e] += u * one


@njit(cache=True, nogil=True, fastmath=SUMMED, forceinline=True)
def pull_two(
    flow: Floats, o: int, value: Floats, v: int, slot: UInt32s, weight: Floats, e: int, tally: Floats
) -> None:
    """The same from the two sums above, over edge `e` and the next."""
    a, b, u, w = slot[e], slot[e + 1], weight[e], weight[e + 1]
    one, two = 0.0, 0.0
    for r in range(flow.shape[1]):
        x = flow[a, r] * value[v, r]
        y = flow[b, r] * value[v, r]
        one += x
        two += y
        flow[o, r] = u * x + w * y
    tally[e] += u * one
    tally[e + 1] += w * two


@njit(cache=True, nogil=True, fastmath=SUMMED, forceinline=True)
def pull_share(  # noqa: PLR0913, PLR0917
    flow: Floats,
    o: int,
    value: Floats,
    v: int,
    slot: UInt32s,
    weight: Floats,
    first: int,
    last: int,
    tally: Floats,
) -> None:
    """Set the flow of `o`, over its value, from the sums above; add each edge's rows to the tally."""
    add_slots(flow, o, slot, weight, first, last)
    width = value.shape[1]
    e = first
    while e + 3 < last:
        a, b, c, d = slot[e], slot[e + 1], slot[e + 2], slot[e + 3]
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for r in range(width):
            x = value[v, r]
            one += flow[a, r] * x
            two += flow[b, r] * x
            three += flow[c, r] * x
            four += flow[d, r] * x
        tally[e] += weight[e] * one
        tally[e + 1] += weight[e + 1] * two
        tally[e + 2] += weight[e + 2] * three
        tally[e + 3] += weight[e + 3] * four
        e += 4
    while e < last:
        a = slot[e]
        one = 0.0
        for r in range(width):
            one += flow[a, r] * value[v, r]
        tally[e] += weight[e] * one
        e += 1


@njit(cache=True, nogil=True, fastmath=SUMMED, forceinline=True)
def tally_seen_states(
    flow: Floats, o: int, state: Floats, column: Ints, first: int, last: int, tally: Floats
) -> None:
    """The same as `tally_states` where no cell is missing: what is not at state 1 is at state 0.

    All sums of a pass are taken in the same order, so that a state that no row has gets exactly zero, and no
    state gets less than zero.
    """
    width = flow.shape[1]
    e = first
    while e + 1 < last:
        c, d = column[e], column[e + 1]
        every, c_one, d_one = 0.0, 0.0, 0.0
        for r in range(width):
            x = flow[o, r]
            every += x
            c_one += x * state[c, r]
            d_one += x * state[d, r]
        tally[e, 0] += every - c_one
        tally[e, 1] += c_one
        tally[e + 1, 0] += every - d_one
        tally[e + 1, 1] += d_one
        e += 2
    if e < last:
        c = column[e]
        every, one = 0.0, 0.0
        for r in range(width):
            every += flow[o, r]
            one += flow[o, r] * state[c, r]
        tally[e, 0] += every - one
        tally[e, 1] += one


@njit(cache=True, nogil=True, fastmath=SUMMED, forceinline=True)
def tally_states(
    flow: Floats, o: int, state: Floats, column: Ints, first: int, last: int, tally: Floats
) -> None:
    """Add the flow of a product to the states of the rows, two leaves at a time, missing cells left out."""
    e = first
    while e + 1 < last:
        c, d = column[e], column[e + 1]
        c_zero, c_one, d_zero, d_one = 0.0, 0.0, 0.0, 0.0
        for r in range(flow.shape[1]):
            x = flow[o, r]
            c_zero += x if state[c, r] == 0.0 else 0.0
            c_one += x if state[c, r] == 1.0 else 0.0
            d_zero += x if state[d, r] == 0.0 else 0.0
            d_one += x if state[d, r] == 1.0 else 0.0
        tally[e, 0] += c_zero
        tally[e, 1] += c_one
        tally[e + 1, 0] += d_zero
        tally[e + 1, 1] += d_one
        e += 2
    if e < last:
        zero, one, _ = _flow_by_state(flow, o, state, column[e])
        tally[e, 0] += zero
        tally[e, 1] += one


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def tally_shares(
    flow: Floats, o: int, state: Floats, column: Ints, table: Floats, first: int, last: int, tally: Floats
) -> None:
    """Add the share of a sum times the terms of its binary leaves."""
    for e in range(first, last):
        zero, one, missing = _flow_by_state(flow, o, state, column[e])
        tally[e, 0] += zero * table[e, 0]
        tally[e, 1] += one * table[e, 1]
        tally[e, 2] += missing * table[e, 2]


@njit(cache=True, nogil=True, fastmath=SUMMED, forceinline=True)
def _flow_by_state(flow: Floats, o: int, state: Floats, column: int) -> tuple[float, float, float]:
    """The flow of the rows with state 0, of those with state 1, and of the others."""
    all_rows, zero, one = 0.0, 0.0, 0.0
    for r in range(flow.shape[1]):
        x = flow[o, r]
        all_rows += x
        zero += x if state[column, r] == 0.0 else 0.0
        one += x if state[column, r] == 1.0 else 0.0
    return zero, one, max(0.0, all_rows - zero - one)
