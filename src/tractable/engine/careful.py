"""Operations of the upward sweep whose values may need exponents; see scaling.py."""

import numpy as np

from tractable.base.arrays import Floats, Ints, UInt16s, UInt32s
from tractable.base.compiled import fused_kernel
from tractable.circuit.graph import SUM
from tractable.engine.program import DENSE, LOOKUP, PLAIN, STEPWISE, WIDE
from tractable.engine.rows import inlined
from tractable.engine.scaling import (
    HIGHEST,
    LARGE,
    LOWEST,
    NO_LINE,
    SMALL,
    STEP_DOWN,
    STEP_UP,
    give_back,
    hold_line,
    take_line,
)


@inlined
def read_source(  # noqa: PLR0913, PLR0917
    value: Floats,
    exponent: Floats,
    line: Ints,
    holders: Ints,
    unused: Ints,
    o: int,
    code: UInt16s,
    t: int,
    column: int,
    offset: int,
    lookup: Floats,
    lookup_exponent: Floats,
    dense: Floats,
    dense_exponent: Floats,
    is_dense: bool,
    base: int,
) -> None:
    """Set slot `o` to the entries of a leaf's table, or to a line of dense values."""
    some, new = 0, take_line(holders, unused)
    if is_dense:
        for r in range(value.shape[1]):
            value[o, r], exponent[new, r] = dense[offset, base + r], dense_exponent[offset, base + r]
            some |= int(dense_exponent[offset, base + r] != 0.0)
    else:
        for r in range(value.shape[1]):
            i = offset + code[t, column, r]
            value[o, r], exponent[new, r] = lookup[i], lookup_exponent[i]
            some |= int(lookup_exponent[i] != 0.0)
    if some == 0:
        give_back(holders, unused, new)
        new = NO_LINE
    hold_line(line, holders, unused, o, new)


@inlined
def multiply_exponents(
    exponent: Floats, line: Ints, holders: Ints, unused: Ints, operand: UInt32s, first: int, last: int
) -> int:
    """The line of a product: that of its only operand with one, or a new line of sums; or NO_LINE."""
    found, own = NO_LINE, NO_LINE
    for e in range(first, last):
        other = line[operand[e]]
        if other >= 0 and found >= 0:
            if own < 0:
                own = take_line(holders, unused)
            for r in range(exponent.shape[1]):
                exponent[own, r] = exponent[found, r] + exponent[other, r]
            found = own
        elif other >= 0:
            found = other
    return found


@inlined
def multiply_in_steps(  # noqa: PLR0913, PLR0917
    value: Floats,
    exponent: Floats,
    line: Ints,
    holders: Ints,
    unused: Ints,
    o: int,
    operand: UInt32s,
    first: int,
    last: int,
    code: UInt16s,
    t: int,
    column: UInt32s,
    table: Floats,
    leaf: int,
    leaf_last: int,
    stride: int,
) -> None:
    """Multiply the operands and leaves of a product, with exponents from where they are needed on."""
    hold_line(line, holders, unused, o, NO_LINE)
    for r in range(value.shape[1]):
        value[o, r] = 1.0
    for e in range(first, last + leaf_last - leaf):
        is_leaf = e >= last
        if is_leaf:
            f = leaf + e - last
            c, c0, c1, c2 = column[f], table[f, 0], table[f, 1], table[f, 2]
            for r in range(value.shape[1]):
                value[o, r] *= c0 if code[t, c, r] == 0 else (c1 if code[t, c, r] == 1 else c2)
        else:
            a = operand[e]
            for r in range(value.shape[1]):
                value[o, r] *= value[a, r]
            own, other = line[o], line[a]
            if own >= 0 and other >= 0:
                other = take_line(holders, unused)
                for r in range(value.shape[1]):
                    exponent[other, r] = exponent[own, r] + exponent[line[a], r]
            if other >= 0:
                hold_line(line, holders, unused, o, other)
        if not is_leaf or (f + 1 - leaf) % stride == 0 or f + 1 == leaf_last:
            settle(value, exponent, line, holders, unused, o)


@inlined
def align_terms(  # noqa: PLR0913, PLR0917
    value: Floats,
    exponent: Floats,
    line: Ints,
    holders: Ints,
    unused: Ints,
    o: int,
    operand: UInt32s,
    weight: Floats,
    weight_exponent: Floats,
    first: int,
    last: int,
    code: UInt16s,
    t: int,
    column: UInt32s,
    table: Floats,
    leaf: int,
    leaf_last: int,
    maximise: bool,
) -> None:
    """Add terms, or take the largest, each row's brought to the largest exponent among them.

    A term is brought within 2**+-128 first. Then it counts for nothing beside one whose exponent is larger by
    two.
    """
    top, term = take_line(holders, unused), take_line(holders, unused)
    for r in range(value.shape[1]):
        value[o, r], exponent[top, r] = 0.0, -np.inf
    for e in range(first, last + leaf_last - leaf):
        own, steps = NO_LINE, 0.0
        if e < last:
            a, w, own, steps = operand[e], weight[e], line[operand[e]], weight_exponent[e]
            for r in range(value.shape[1]):
                exponent[term, r] = w * value[a, r]
        else:  # leaf edges come after the others
            f = leaf + e - last
            c, c0, c1, c2 = column[f], table[f, 0], table[f, 1], table[f, 2]
            for r in range(value.shape[1]):
                exponent[term, r] = c0 if code[t, c, r] == 0 else (c1 if code[t, c, r] == 1 else c2)
        has, own = (1.0, own) if own >= 0 else (0.0, term)
        for r in range(value.shape[1]):
            x, k = exponent[term, r], steps + (exponent[own, r] if has > 0.0 else 0.0)
            for _ in range(3):
                small = (x < SMALL) & (x > 0.0)
                large = x > LARGE
                x *= STEP_UP if small else (STEP_DOWN if large else 1.0)
                k += -1.0 if small else (1.0 if large else 0.0)
            k = k if x > 0.0 else -np.inf
            old = exponent[top, r]
            x *= 1.0 if k >= old else (STEP_DOWN if k == old - 1.0 else 0.0)
            y = value[o, r] * (1.0 if old >= k else (STEP_DOWN if old == k - 1.0 else 0.0))
            exponent[top, r] = max(k, old)
            value[o, r] = max(x, y) if maximise else x + y
    some = 0
    for r in range(value.shape[1]):
        exponent[top, r] = exponent[top, r] if value[o, r] > 0.0 else 0.0
        some |= int(exponent[top, r] != 0.0)
    give_back(holders, unused, term)
    if some == 0:
        give_back(holders, unused, top)
        top = NO_LINE
    hold_line(line, holders, unused, o, top)


@fused_kernel
def settle(value: Floats, exponent: Floats, line: Ints, holders: Ints, unused: Ints, o: int) -> None:
    """Bring values that lie within 2**+-896 into range by steps of the exponent.

    If all values are in range nothing is done. Else they come to lie within 2**+-128.
    """
    bad = 0
    for r in range(value.shape[1]):
        x = value[o, r]
        bad |= int((x < LOWEST) & (x > 0.0)) | int(x > HIGHEST)
    if bad == 0:
        return
    old, some, new = line[o], 0, take_line(holders, unused)
    for r in range(value.shape[1]):
        x, k = value[o, r], exponent[old, r] if old >= 0 else 0.0
        for _ in range(3):
            small = (x < SMALL) & (x > 0.0)
            large = x > LARGE
            x *= STEP_UP if small else (STEP_DOWN if large else 1.0)
            k += -1.0 if small else (1.0 if large else 0.0)
        k = k if x > 0.0 else 0.0
        value[o, r], exponent[new, r] = x, k
        some |= int(k != 0.0)
    if some == 0:
        give_back(holders, unused, new)
        new = NO_LINE
    hold_line(line, holders, unused, o, new)


@inlined
def needs_care(care: int, kind: int) -> bool:
    """Whether the usual loops cannot compute an operation, whatever its operands are."""
    reads_source = kind == LOOKUP or kind == DENSE  # noqa: PLR1714 (membership takes longer)
    return care == WIDE or care == STEPWISE or (care != PLAIN and reads_source)  # noqa: PLR1714


@fused_kernel
def compute_carefully(  # noqa: PLR0913, PLR0917
    value: Floats,
    exponent: Floats,
    line: Ints,
    holders: Ints,
    unused: Ints,
    o: int,
    kind: int,
    operand: UInt32s,
    weight: Floats,
    weight_exponent: Floats,
    first: int,
    last: int,
    code: UInt16s,
    t: int,
    column: UInt32s,
    table: Floats,
    leaf: int,
    leaf_last: int,
    stride: int,
    source: int,
    offset: int,
    lookup: Floats,
    lookup_exponent: Floats,
    dense: Floats,
    dense_exponent: Floats,
    base: int,
    maximise: bool,
) -> None:
    """Set slot `o` to the value of an operation that the usual loops cannot compute, and give it its line."""
    if kind == SUM:
        align_terms(
            value, exponent, line, holders, unused, o, operand, weight, weight_exponent, first, last, code, t,
            column, table, leaf, leaf_last, maximise,
        )  # fmt: skip
    elif kind == LOOKUP or kind == DENSE:  # noqa: PLR1714, SIM109
        read_source(
            value, exponent, line, holders, unused, o, code, t, source, offset, lookup, lookup_exponent,
            dense, dense_exponent, kind == DENSE, base,
        )  # fmt: skip
    else:
        multiply_in_steps(
            value, exponent, line, holders, unused, o, operand, first, last, code, t, column, table, leaf,
            leaf_last, stride,
        )  # fmt: skip
