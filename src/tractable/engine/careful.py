"""Operations of the upward sweep whose values may need exponents; see scaling.py. `up.sweep` inlines them."""

import numpy as np

from tractable.arrays import Bools, Floats, UInt16s, UInt32s
from tractable.engine.rows import POWERS, inlined, settle


@inlined
def any_scaled(scaled: Bools, operand: UInt32s, first: int, last: int) -> bool:
    """Whether an operand has exponents."""
    found = False
    for e in range(first, last):
        found |= scaled[operand[e]]
    return found


@inlined
def read_source(  # noqa: PLR0913, PLR0917
    value: Floats,
    exponent: Floats,
    scaled: Bools,
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
    some = 0
    if is_dense:
        for r in range(value.shape[1]):
            value[o, r], exponent[o, r] = dense[offset, base + r], dense_exponent[offset, base + r]
            some |= int(dense_exponent[offset, base + r] != 0.0)
    else:
        for r in range(value.shape[1]):
            i = offset + code[t, column, r]
            value[o, r], exponent[o, r] = lookup[i], lookup_exponent[i]
            some |= int(lookup_exponent[i] != 0.0)
    scaled[o] = some != 0


@inlined
def scaled_product(  # noqa: PLR0913, PLR0917
    value: Floats,
    exponent: Floats,
    scaled: Bools,
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
    for r in range(value.shape[1]):
        value[o, r] = 1.0
    for e in range(first, last):
        a = operand[e]
        for r in range(value.shape[1]):
            value[o, r] *= value[a, r]
        if scaled[a]:
            wide = scaled[o]
            for r in range(value.shape[1]):
                exponent[o, r] = exponent[a, r] + (exponent[o, r] if wide else 0.0)
            scaled[o] = True
        settle(value, exponent, scaled, o)
    for e in range(leaf, leaf_last):
        c, c0, c1, c2 = column[e], table[e, 0], table[e, 1], table[e, 2]
        for r in range(value.shape[1]):
            value[o, r] *= c0 if code[t, c, r] == 0 else (c1 if code[t, c, r] == 1 else c2)
        if (e + 1 - leaf) % stride == 0 or e + 1 == leaf_last:
            settle(value, exponent, scaled, o)


@inlined
def aligned_sum(  # noqa: PLR0913, PLR0917
    value: Floats,
    exponent: Floats,
    scaled: Bools,
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
    """Add terms, or take the largest, each row's brought to the largest exponent among them."""
    for r in range(value.shape[1]):
        value[o, r], exponent[o, r] = 0.0, -np.inf
    for e in range(first, last + leaf_last - leaf):
        is_leaf = e >= last
        f = leaf + e - last if is_leaf else e  # leaf edges come after the others
        a, c = (np.uint32(0), column[f]) if is_leaf else (operand[f], np.uint32(0))
        w, k = (0.0, 0.0) if is_leaf else (weight[f], weight_exponent[f])
        own = not is_leaf and scaled[a]
        for r in range(value.shape[1]):
            x = table[f, min(code[t, c, r], 2)] if is_leaf else w * value[a, r]
            steps = k + exponent[a, r] if own else k
            if x > 0.0:
                top = max(steps, exponent[o, r])
                x *= POWERS[5 + int(max(steps - top, -5.0))]
                old = value[o, r] * POWERS[5 + int(max(exponent[o, r] - top, -5.0))]
                value[o, r] = max(old, x) if maximise else old + x
                exponent[o, r] = top
    scaled[o] = True
    settle(value, exponent, scaled, o)
