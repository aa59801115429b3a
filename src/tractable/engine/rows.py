"""Loops over the rows of one tile: the smallest pieces of the upward sweep, each a line of arithmetic.

`value` is (slots, rows): the rows of a slot lie side by side and fill vector lanes. Its last line is ones.
`code` is (tiles, columns, rows), of which tile `t` is read. `table` is (leaf edges, 3): a leaf's value at
state 0, at state 1 and where the cell is missing, its edge's weight included.

A loop costs about a tenth of a second to compile in each kernel that it stands in. So there are few of them,
and an odd number of operands is made even: by the line of ones below a product, by a weight of zero below a
sum. A function that is `inlined` becomes part of its caller before anything is compiled; it should call no
other. One that is `merged` is compiled by itself, too, and becomes part of its caller afterwards.
"""

import numpy as np

from tractable.base.arrays import Floats, UInt16s, UInt32s
from tractable.base.compiled import merged_with, njit

CONTRACT = {"contract"}  # fused multiply-add is allowed, nothing that would upset zeros or infinities
POWERS = 2.0 ** (256.0 * np.array([-np.inf, -4, -3, -2, -1, 0, 1, 2]))

inlined = njit(inline="always")
merged = merged_with(CONTRACT)


@inlined
def power(steps: float) -> float:
    """2**(256 * steps) for the few steps that matter; what is five steps smaller counts as nothing."""
    return POWERS[5 + int(min(max(steps, -5.0), 2.0))]


@inlined
def multiply_slots(value: Floats, o: int, operand: UInt32s, first: int, last: int) -> None:
    """Set slot `o` to the product of the slots of edges first to last; one without edges."""
    one = np.uint32(value.shape[0] - 1)
    a = operand[first] if first < last else one
    b = operand[first + 1] if first + 1 < last else one
    for r in range(value.shape[1]):
        value[o, r] = value[a, r] * value[b, r]
    for e in range(first + 2, last, 2):
        a = operand[e]
        b = operand[e + 1] if e + 1 < last else one
        for r in range(value.shape[1]):
            value[o, r] *= value[a, r] * value[b, r]


@inlined
def multiply_leaves(  # noqa: PLR0913, PLR0917
    value: Floats,
    o: int,
    code: UInt16s,
    t: int,
    column: UInt32s,
    table: Floats,
    first: int,
    last: int,
    complete: bool,
) -> None:
    """Multiply slot `o` by the binary leaves of leaf edges first to last; if `complete`, half the work."""
    for e in range(first, last, 2):
        f = min(e + 1, last - 1)
        c, d = column[e], column[f]
        c0, c1, c2 = table[e, 0], table[e, 1], table[e, 2]
        d0, d1, d2 = (table[f, 0], table[f, 1], table[f, 2]) if f > e else (1.0, 1.0, 1.0)
        if complete:
            for r in range(value.shape[1]):
                value[o, r] *= (c1 if code[t, c, r] == 1 else c0) * (d1 if code[t, d, r] == 1 else d0)
        else:
            for r in range(value.shape[1]):
                x = c0 if code[t, c, r] == 0 else (c1 if code[t, c, r] == 1 else c2)
                y = d0 if code[t, d, r] == 0 else (d1 if code[t, d, r] == 1 else d2)
                value[o, r] *= x * y


@inlined
def add_terms(  # noqa: PLR0913, PLR0917
    value: Floats,
    o: int,
    operand: UInt32s,
    weight: Floats,
    first: int,
    last: int,
    code: UInt16s,
    t: int,
    column: UInt32s,
    table: Floats,
    leaf: int,
    leaf_last: int,
) -> None:
    """Set slot `o` to the sum of the terms of slots and leaves; zero without terms."""
    e = first
    if last - first >= 4:
        a, b, c, d = operand[e], operand[e + 1], operand[e + 2], operand[e + 3]
        u, v, w, x = weight[e], weight[e + 1], weight[e + 2], weight[e + 3]
        for r in range(value.shape[1]):
            value[o, r] = u * value[a, r] + v * value[b, r] + w * value[c, r] + x * value[d, r]
        e += 4
    else:
        one = np.uint32(value.shape[0] - 1)
        a, u = (operand[e], weight[e]) if e < last else (one, 0.0)
        b, v = (operand[e + 1], weight[e + 1]) if e + 1 < last else (one, 0.0)
        for r in range(value.shape[1]):
            value[o, r] = u * value[a, r] + v * value[b, r]
        e += 2
    while e + 3 < last:
        a, b, c, d = operand[e], operand[e + 1], operand[e + 2], operand[e + 3]
        u, v, w, x = weight[e], weight[e + 1], weight[e + 2], weight[e + 3]
        for r in range(value.shape[1]):
            value[o, r] += u * value[a, r] + v * value[b, r] + w * value[c, r] + x * value[d, r]
        e += 4
    while e < last:
        a, u = operand[e], weight[e]
        for r in range(value.shape[1]):
            value[o, r] += u * value[a, r]
        e += 1
    for e in range(leaf, leaf_last):
        f, c0, c1, c2 = column[e], table[e, 0], table[e, 1], table[e, 2]
        for r in range(value.shape[1]):
            value[o, r] += c0 if code[t, f, r] == 0 else (c1 if code[t, f, r] == 1 else c2)


@inlined
def raise_terms(  # noqa: PLR0913, PLR0917
    value: Floats,
    o: int,
    operand: UInt32s,
    weight: Floats,
    first: int,
    last: int,
    code: UInt16s,
    t: int,
    column: UInt32s,
    table: Floats,
    leaf: int,
    leaf_last: int,
) -> None:
    """Set slot `o` to the maximum of the terms of slots and leaves; zero without terms."""
    for r in range(value.shape[1]):
        value[o, r] = 0.0
    for e in range(first, last, 2):
        a, u = operand[e], weight[e]
        b, v = (operand[e + 1], weight[e + 1]) if e + 1 < last else (a, u)
        for r in range(value.shape[1]):
            x, y = u * value[a, r], v * value[b, r]
            x = x if x > y else y
            value[o, r] = x if x > value[o, r] else value[o, r]
    for e in range(leaf, leaf_last):
        f, c0, c1, c2 = column[e], table[e, 0], table[e, 1], table[e, 2]
        for r in range(value.shape[1]):
            x = c0 if code[t, f, r] == 0 else (c1 if code[t, f, r] == 1 else c2)
            value[o, r] = x if x > value[o, r] else value[o, r]
