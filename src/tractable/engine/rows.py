"""Loops over the rows of one tile: the smallest pieces of a sweep, each a line of arithmetic.

`value` is (slots, rows): the rows of a slot lie side by side and fill vector lanes. `code` is (columns,
rows). `table` is (leaf edges, 3): a leaf's value at state 0, at state 1 and where the cell is
missing, its edge's weight included.
"""

from tractable.arrays import Floats, Ints, UInt16s, UInt32s
from tractable.compiled import njit
from tractable.engine.scaling import HIGHEST, LARGE, LOWEST, SMALL, STEP_DOWN, STEP_UP

CONTRACT = {"contract"}  # fused multiply-add is allowed, nothing that would upset zeros or infinities


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def leaf_entry(code: int, zero: float, one: float, missing: float) -> float:
    """The entry of a binary leaf's table."""
    return zero if code == 0 else (one if code == 1 else missing)


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def out_of_range(value: Floats, o: int) -> bool:
    """Whether a value is not zero and too small or large to go without exponent."""
    bad = 0
    for r in range(value.shape[1]):
        x = value[o, r]
        bad |= int((x < LOWEST) & (x > 0.0)) | int(x > HIGHEST)
    return bad != 0


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def renormalise(value: Floats, exponent: Floats, o: int) -> None:
    """Bring values that lie within 2**+-900 to within 2**+-128 by steps of the exponent."""
    for _ in range(3):
        for r in range(value.shape[1]):
            x = value[o, r]
            small = (x < SMALL) & (x > 0.0)
            large = x > LARGE
            value[o, r] = x * (STEP_UP if small else (STEP_DOWN if large else 1.0))
            exponent[o, r] += -1.0 if small else (1.0 if large else 0.0)


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def has_exponent(value: Floats, exponent: Floats, o: int) -> bool:
    """Whether any row needs its exponent; zeros are given none."""
    some = 0
    for r in range(value.shape[1]):
        if value[o, r] == 0.0:
            exponent[o, r] = 0.0
        some |= int(exponent[o, r] != 0.0)
    return some != 0


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def power(steps: float) -> float:
    """2**(256 * steps) for the few steps that matter; what is more than four steps smaller counts as nothing.

    A term may lie 2**448 above its exponent and what it is added to 2**640 below its own, so four steps do
    matter.
    """
    if steps == 0.0:
        return 1.0
    if steps > 0.0:
        return STEP_UP if steps == 1.0 else 2.0**512
    if steps >= -2.0:
        return STEP_DOWN if steps == -1.0 else 2.0**-512
    return 2.0**-768 if steps == -3.0 else (2.0**-1024 if steps == -4.0 else 0.0)


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def multiply_slots(value: Floats, o: int, operand: UInt32s, first: int, last: int) -> None:
    """Set slot `o` to the product of the slots of edges first to last; one where there are none."""
    width = value.shape[1]
    if first == last:
        for r in range(width):
            value[o, r] = 1.0
        return
    a = operand[first]
    if last - first == 1:
        for r in range(width):
            value[o, r] = value[a, r]
        return
    b = operand[first + 1]
    for r in range(width):
        value[o, r] = value[a, r] * value[b, r]
    e = first + 2
    while e + 1 < last:
        a, b = operand[e], operand[e + 1]
        for r in range(width):
            value[o, r] *= value[a, r] * value[b, r]
        e += 2
    if e < last:
        a = operand[e]
        for r in range(width):
            value[o, r] *= value[a, r]


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def multiply_seen_leaves(
    value: Floats, o: int, code: UInt16s, column: Ints, table: Floats, first: int, last: int
) -> None:
    """The same as `multiply_leaves` where no cell is missing: half the work."""
    width = value.shape[1]
    e = first
    while e + 1 < last:
        c, d = column[e], column[e + 1]
        c0, c1, d0, d1 = table[e, 0], table[e, 1], table[e + 1, 0], table[e + 1, 1]
        for r in range(width):
            value[o, r] *= (c1 if code[c, r] == 1 else c0) * (d1 if code[d, r] == 1 else d0)
        e += 2
    if e < last:
        c = column[e]
        c0, c1 = table[e, 0], table[e, 1]
        for r in range(width):
            value[o, r] *= c1 if code[c, r] == 1 else c0


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def multiply_leaves(
    value: Floats, o: int, code: UInt16s, column: Ints, table: Floats, first: int, last: int
) -> None:
    """Multiply slot `o` by the binary leaves of leaf edges first to last."""
    width = value.shape[1]
    e = first
    while e + 1 < last:
        c, d = column[e], column[e + 1]
        c0, c1, c2 = table[e, 0], table[e, 1], table[e, 2]
        d0, d1, d2 = table[e + 1, 0], table[e + 1, 1], table[e + 1, 2]
        for r in range(width):
            value[o, r] *= leaf_entry(code[c, r], c0, c1, c2) * leaf_entry(code[d, r], d0, d1, d2)
        e += 2
    if e < last:
        c = column[e]
        c0, c1, c2 = table[e, 0], table[e, 1], table[e, 2]
        for r in range(width):
            value[o, r] *= leaf_entry(code[c, r], c0, c1, c2)


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def add_slots(value: Floats, o: int, operand: UInt32s, weight: Floats, first: int, last: int) -> None:
    """Set slot `o` to the weighted sum of the slots of edges first to last; zero where there are none."""
    width = value.shape[1]
    e = first
    if last - first >= 4:
        a, b, c, d = operand[e], operand[e + 1], operand[e + 2], operand[e + 3]
        u, v, w, x = weight[e], weight[e + 1], weight[e + 2], weight[e + 3]
        for r in range(width):
            value[o, r] = u * value[a, r] + v * value[b, r] + w * value[c, r] + x * value[d, r]
        e += 4
    elif last - first >= 2:
        a, b = operand[e], operand[e + 1]
        u, v = weight[e], weight[e + 1]
        for r in range(width):
            value[o, r] = u * value[a, r] + v * value[b, r]
        e += 2
    else:
        for r in range(width):
            value[o, r] = 0.0
    while e + 3 < last:
        a, b, c, d = operand[e], operand[e + 1], operand[e + 2], operand[e + 3]
        u, v, w, x = weight[e], weight[e + 1], weight[e + 2], weight[e + 3]
        for r in range(width):
            value[o, r] += u * value[a, r] + v * value[b, r] + w * value[c, r] + x * value[d, r]
        e += 4
    while e < last:
        a, u = operand[e], weight[e]
        for r in range(width):
            value[o, r] += u * value[a, r]
        e += 1


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def sum_leaves(
    value: Floats, o: int, code: UInt16s, column: Ints, table: Floats, first: int, last: int, maximise: bool
) -> None:
    """Add the binary leaves of leaf edges first to last to slot `o`, or raise it to the largest of them."""
    width = value.shape[1]
    for e in range(first, last):
        c = column[e]
        c0, c1, c2 = table[e, 0], table[e, 1], table[e, 2]
        if maximise:
            for r in range(width):
                x = leaf_entry(code[c, r], c0, c1, c2)
                value[o, r] = x if x > value[o, r] else value[o, r]
        else:
            for r in range(width):
                value[o, r] += leaf_entry(code[c, r], c0, c1, c2)


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def add_terms(
    flow: Floats, o: int, reader: UInt32s, weight: Floats, first: int, last: int, value: Floats, v: int
) -> None:
    """Set slot `o` to the weighted sum of the slots of edges first to last, times line `v` of `value`."""
    width = flow.shape[1]
    if last - first == 1:
        a, u = reader[first], weight[first]
        for r in range(width):
            flow[o, r] = u * flow[a, r] * value[v, r]
    elif last - first == 2:
        a, b, u, w = reader[first], reader[first + 1], weight[first], weight[first + 1]
        for r in range(width):
            flow[o, r] = (u * flow[a, r] + w * flow[b, r]) * value[v, r]
    else:
        add_slots(flow, o, reader, weight, first, last)
        for r in range(width):
            flow[o, r] *= value[v, r]


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def total_slots(value: Floats, o: int, operand: UInt32s, first: int, last: int) -> None:
    """Set slot `o` to the sum of the slots of edges first to last, of which there is at least one."""
    width = value.shape[1]
    e = first
    if last - first >= 2:
        a, b = operand[e], operand[e + 1]
        for r in range(width):
            value[o, r] = value[a, r] + value[b, r]
        e += 2
    else:
        a = operand[e]
        for r in range(width):
            value[o, r] = value[a, r]
        e += 1
    while e + 1 < last:
        a, b = operand[e], operand[e + 1]
        for r in range(width):
            value[o, r] += value[a, r] + value[b, r]
        e += 2
    if e < last:
        a = operand[e]
        for r in range(width):
            value[o, r] += value[a, r]


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def raise_slots(value: Floats, o: int, operand: UInt32s, weight: Floats, first: int, last: int) -> None:
    """Set slot `o` to the largest weighted slot of edges first to last; zero where there are none."""
    width = value.shape[1]
    for r in range(width):
        value[o, r] = 0.0
    e = first
    while e + 1 < last:
        a, b = operand[e], operand[e + 1]
        u, v = weight[e], weight[e + 1]
        for r in range(width):
            x, y = u * value[a, r], v * value[b, r]
            z = x if x > y else y
            value[o, r] = z if z > value[o, r] else value[o, r]
        e += 2
    if e < last:
        a, u = operand[e], weight[e]
        for r in range(width):
            x = u * value[a, r]
            value[o, r] = x if x > value[o, r] else value[o, r]


@njit(cache=True, nogil=True, fastmath=CONTRACT, forceinline=True)
def look_up(value: Floats, o: int, code: UInt16s, column: int, table: Floats, offset: int) -> None:
    """Set slot `o` to the entries of a table that begins at `offset`."""
    for r in range(value.shape[1]):
        value[o, r] = table[offset + code[column, r]]
