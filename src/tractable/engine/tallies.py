"""Loops over the rows of one tile that hand flows down and add them up: the smallest pieces of counting.

`flow` and `value` are (slots, rows): the rows of a slot lie side by side and fill vector lanes. `state` is
(columns, rows), in doubles, which fill the same lanes. As much as possible is done in one pass over the rows,
since passes cost more than arithmetic.
"""

from tractable.base.arrays import Floats, UInt16s, UInt32s
from tractable.base.compiled import merged_with
from tractable.engine.rows import merged

SUMMED = {"contract", "reassoc", "nsz"}  # sums over rows may be taken in the order that fills vector lanes

summed = merged_with(SUMMED)


@summed
def share_pair(flow: Floats, o: int, s: int, value: Floats, operand: UInt32s, weight: Floats, e: int) -> None:
    """Set slot `o` to the share of a sum whose value was not kept: that of two operations."""
    a, b, u, w = operand[e], operand[e + 1], weight[e], weight[e + 1]
    for r in range(flow.shape[1]):
        x = u * value[a, r] + w * value[b, r]
        flow[o, r] = flow[s, r] / x if x > 0.0 else 0.0


@summed
def count_flow(  # noqa: PLR0913, PLR0917
    flow: Floats,
    o: int,
    value: Floats,
    v: int,
    is_share: bool,
    reader: UInt32s,
    weight: Floats,
    first: int,
    last: int,
    tally: Floats,
) -> None:
    """Set slot `o` to the flow from the sums above, over its value if a share; add each edge's to the tally.

    Four sums are read at a time; where there are fewer, the first counts again with a weight of zero.
    """
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    if last - first <= 2 and not is_share:
        a, b, u = reader[first], reader[last - 1], weight[first]
        w = weight[last - 1] if last - first == 2 else 0.0
        for r in range(flow.shape[1]):
            x = flow[a, r] * value[v, r]
            y = flow[b, r] * value[v, r]
            one += x
            two += y
            flow[o, r] = u * x + w * y
        tally[first] += u * one
        tally[last - 1] += w * two
        return
    for r in range(flow.shape[1]):
        flow[o, r] = 0.0
    for e in range(first, last, 4):
        a, u = reader[e], weight[e]
        b, w = (reader[e + 1], weight[e + 1]) if e + 1 < last else (a, 0.0)
        c, x = (reader[e + 2], weight[e + 2]) if e + 2 < last else (a, 0.0)
        d, y = (reader[e + 3], weight[e + 3]) if e + 3 < last else (a, 0.0)
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for r in range(flow.shape[1]):
            flow[o, r] += u * flow[a, r] + w * flow[b, r] + x * flow[c, r] + y * flow[d, r]
            one += flow[a, r] * value[v, r]
            two += flow[b, r] * value[v, r]
            three += flow[c, r] * value[v, r]
            four += flow[d, r] * value[v, r]
        tally[e] += u * one
        tally[min(e + 1, last - 1)] += w * two
        tally[min(e + 2, last - 1)] += x * three
        tally[min(e + 3, last - 1)] += y * four
    if not is_share:
        for r in range(flow.shape[1]):
            flow[o, r] *= value[v, r]


@summed
def count_states(
    flow: Floats, o: int, state: Floats, column: UInt32s, first: int, last: int, tally: Floats
) -> None:
    """Add the flow of a product to the states of the rows, two leaves at a time, missing cells left out."""
    for e in range(first, last, 2):
        f = min(e + 1, last - 1)
        c, d = column[e], column[f]
        c_zero, c_one, d_zero, d_one = 0.0, 0.0, 0.0, 0.0
        for r in range(flow.shape[1]):
            x = flow[o, r]
            c_zero += x if state[c, r] == 0.0 else 0.0
            c_one += x if state[c, r] == 1.0 else 0.0
            d_zero += x if state[d, r] == 0.0 else 0.0
            d_one += x if state[d, r] == 1.0 else 0.0
        tally[e, 0] += c_zero
        tally[e, 1] += c_one
        if f > e:
            tally[f, 0] += d_zero
            tally[f, 1] += d_one


@merged
def count_seen_states(
    flow: Floats, o: int, state: Floats, column: UInt32s, first: int, last: int, tally: Floats
) -> None:
    """Count states without missing cells: rows that are not at state 1 are at state 0.

    The sums of a pass are taken in the same order and subtracted as they are written here, so that a state
    that no row has gets exactly zero, and no state gets less than zero.
    """
    for e in range(first, last, 2):
        f = min(e + 1, last - 1)
        every, e_one, f_one = _add_seen(flow, o, state, column[e], column[f])
        tally[e, 0] += every - e_one
        tally[e, 1] += e_one
        if f > e:
            tally[f, 0] += every - f_one
            tally[f, 1] += f_one


@summed
def _add_seen(flow: Floats, o: int, state: Floats, c: int, d: int) -> tuple[float, float, float]:
    """The flow of all rows, of those with state 1 in column `c`, and of those with state 1 in `d`."""
    every, c_one, d_one = 0.0, 0.0, 0.0
    for r in range(flow.shape[1]):
        x = flow[o, r]
        every += x
        c_one += x * state[c, r]
        d_one += x * state[d, r]
    return every, c_one, d_one


@summed
def count_terms(
    flow: Floats, s: int, state: Floats, column: UInt32s, table: Floats, first: int, last: int, tally: Floats
) -> None:
    """Add the share of a sum times the terms of its binary leaves."""
    for e in range(first, last):
        c = column[e]
        every, zero, one = 0.0, 0.0, 0.0
        for r in range(flow.shape[1]):
            x = flow[s, r]
            every += x
            zero += x if state[c, r] == 0.0 else 0.0
            one += x if state[c, r] == 1.0 else 0.0
        tally[e, 0] += zero * table[e, 0]
        tally[e, 1] += one * table[e, 1]
        tally[e, 2] += max(0.0, every - zero - one) * table[e, 2]


@summed
def count_source(  # noqa: PLR0913, PLR0917
    flow: Floats,
    o: int,
    code: UInt16s,
    column: int,
    offset: int,
    is_dense: bool,
    base: int,
    entry: Floats,
    dense: Floats,
) -> None:
    """Add the flow of an operation that reads a leaf to the states of its rows, or keep it for each row."""
    t = base // flow.shape[1]
    if is_dense:
        for r in range(flow.shape[1]):
            dense[offset, base + r] = flow[o, r]
    else:
        for r in range(flow.shape[1]):
            entry[offset + code[t, column, r]] += flow[o, r]
