"""The upward sweep over one tile of rows: every operation's value, children before parents.

Most operations are PLAIN: their bounds, known when the circuit is compiled, show that no exponent is ever
needed. A CHECKED one works without exponents as long as its operands have none and its result stays in range.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, Ints, UInt16s, UInt32s
from tractable.circuit.graph import PRODUCT, SUM
from tractable.compiled import njit
from tractable.engine.blocks import multiply
from tractable.engine.program import DENSE, LOOKUP, PLAIN, WIDE, Program, ValuePlaces
from tractable.engine.rows import (
    CONTRACT,
    add_slots,
    has_exponent,
    leaf_entry,
    look_up,
    multiply_leaves,
    multiply_seen_leaves,
    multiply_slots,
    out_of_range,
    power,
    raise_slots,
    renormalise,
    sum_leaves,
)


class Inputs(NamedTuple):
    """The values of the leaves for a batch of rows."""

    complete: bool  # whether no state is missing
    code: UInt16s  # (columns, rows) the state; one past the last where the cell is missing
    leaf_column: Ints  # (leaf edges,)
    leaf_table: Floats  # (leaf edges, 3)
    source_column: Ints  # (ops,) the column of a LOOKUP
    source_offset: Ints  # (ops,) where a LOOKUP's table begins, or which line a DENSE operation reads
    lookup: Floats  # (entries,)
    lookup_exponent: Floats  # (entries,)
    dense: Floats  # (dense leaves, rows)
    dense_exponent: Floats  # (dense leaves, rows)


class Tile(NamedTuple):
    """The states and values of one tile."""

    code: UInt16s  # (columns, rows)
    value: Floats  # (slots, rows)
    exponent: Floats  # (slots, rows) valid where `scaled`
    scaled: Bools  # (slots,) whether a slot's exponents count


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def sweep_up(  # noqa: C901, PLR0912
    program: Program,
    layout: ValuePlaces,
    inputs: Inputs,
    base: int,
    tile: Tile,
    maximise: bool,
    begin: int,
    end: int,
) -> None:
    """Fill the tile with the operations from `begin` to `end`, for the rows from `base` on."""
    # Arrays are taken out of their tuples once: to do so costs more than a small operation.
    kind, care, start, weight = program.kind, program.care, program.start, program.weight
    leaf_start, code, column, table = program.leaf_start, tile.code, inputs.leaf_column, inputs.leaf_table
    matrix = program.matrix
    value, scaled, complete, slot, operand = (
        tile.value,
        tile.scaled,
        inputs.complete,
        layout.slot,
        layout.operand,
    )
    if begin == 0:
        code[:] = inputs.code[:, base : base + code.shape[1]]
    done = begin  # operations before it are done, as part of a matrix
    for op in range(begin, end):
        if (
            layout.own
            and matrix[op] > 0
            and not maximise
            and op + matrix[op] <= end
            and _matrix(program, op, tile)
        ):
            done = op + matrix[op]
        if op < done:
            continue
        o, first, last = slot[op], start[op], start[op + 1]
        leaf_first, leaf_last = leaf_start[op], leaf_start[op + 1]
        scaled[o] = False
        if care[op] != PLAIN:
            _careful(program, op, o, operand, inputs, base, tile, maximise)
        elif kind[op] == PRODUCT:
            multiply_slots(value, o, operand, first, last)
            if complete:
                multiply_seen_leaves(value, o, code, column, table, leaf_first, leaf_last)
            else:
                multiply_leaves(value, o, code, column, table, leaf_first, leaf_last)
        elif kind[op] == SUM:
            if maximise:
                raise_slots(value, o, operand, weight, first, last)
            else:
                add_slots(value, o, operand, weight, first, last)
            sum_leaves(value, o, code, column, table, leaf_first, leaf_last, maximise)
        elif kind[op] == LOOKUP:
            look_up(value, o, code, inputs.source_column[op], inputs.lookup, inputs.source_offset[op])
        else:
            for r in range(value.shape[1]):
                value[o, r] = 1.0


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _matrix(program: Program, head: int, tile: Tile) -> bool:
    """Evaluate the sums from `head` on as a matrix, unless an exponent is in the way."""
    sums, first = program.matrix[head], program.start[head]
    operands, below = program.start[head + 1] - first, program.operand[first]
    for op in range(below, below + operands):
        if tile.scaled[op]:
            return False
    for op in range(head, head + sums):
        if program.care[op] == WIDE:
            return False
    multiply(tile.value, program.weight, first, sums, head, operands, below)
    for op in range(head, head + sums):
        tile.scaled[op] = False
        if program.care[op] != PLAIN and out_of_range(tile.value, op):
            _give_exponent(tile, op)
    return True


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _careful(
    program: Program, op: int, o: int, operand: UInt32s, inputs: Inputs, base: int, tile: Tile, maximise: bool
) -> None:
    """Evaluate an operation whose value may need an exponent."""
    kind = program.kind[op]
    if kind == SUM:
        _sum(program, op, o, operand, inputs, base, tile, maximise)
    elif kind == PRODUCT:
        _product(program, op, o, operand, inputs, base, tile)
    elif kind == LOOKUP:
        _lookup(op, o, inputs, base, tile)
    elif kind == DENSE:
        _dense(op, o, inputs, base, tile)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _any_scaled(tile: Tile, operand: UInt32s, first: int, last: int) -> bool:
    for e in range(first, last):  # noqa: SIM110 (a kernel knows no generators)
        if tile.scaled[operand[e]]:
            return True
    return False


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _sum(
    program: Program, op: int, o: int, operand: UInt32s, inputs: Inputs, base: int, tile: Tile, maximise: bool
) -> None:
    first, last = program.start[op], program.start[op + 1]
    leaf_first, leaf_last = program.leaf_start[op], program.leaf_start[op + 1]
    if program.care[op] == WIDE or _any_scaled(tile, operand, first, last):
        _aligned_sum(program, op, o, operand, inputs, base, tile, maximise)
        return
    if maximise:
        raise_slots(tile.value, o, operand, program.weight, first, last)
    else:
        add_slots(tile.value, o, operand, program.weight, first, last)
    column, table = inputs.leaf_column, inputs.leaf_table
    sum_leaves(tile.value, o, tile.code, column, table, leaf_first, leaf_last, maximise)
    if out_of_range(tile.value, o):
        _give_exponent(tile, o)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _give_exponent(tile: Tile, o: int) -> None:
    for r in range(tile.value.shape[1]):
        tile.exponent[o, r] = 0.0
    renormalise(tile.value, tile.exponent, o)
    tile.scaled[o] = has_exponent(tile.value, tile.exponent, o)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _aligned_sum(
    program: Program, op: int, o: int, operand: UInt32s, inputs: Inputs, base: int, tile: Tile, maximise: bool
) -> None:
    """Evaluate a sum with the terms of each row brought to the largest exponent among them."""
    value, exponent = tile.value, tile.exponent
    width = value.shape[1]
    first, last = program.start[op], program.start[op + 1]
    leaf_first, leaf_last = program.leaf_start[op], program.leaf_start[op + 1]
    for r in range(width):
        value[o, r] = 0.0
    _largest_exponents(program, op, o, operand, inputs, tile)
    for e in range(first, last):
        a, w, k = operand[e], program.weight[e], program.weight_exponent[e]
        own = tile.scaled[a]
        for r in range(width):
            if value[a, r] > 0.0:
                x = w * value[a, r] * power((exponent[a, r] if own else 0.0) + k - exponent[o, r])
                value[o, r] = max(value[o, r], x) if maximise else value[o, r] + x
    for e in range(leaf_first, leaf_last):
        c = inputs.leaf_column[e]
        for r in range(width):
            x = leaf_entry(
                tile.code[c, r], inputs.leaf_table[e, 0], inputs.leaf_table[e, 1], inputs.leaf_table[e, 2]
            )
            if x > 0.0:
                x *= power(-exponent[o, r])
                value[o, r] = max(value[o, r], x) if maximise else value[o, r] + x
    for r in range(width):
        exponent[o, r] = exponent[o, r] if value[o, r] > 0.0 else 0.0
    renormalise(value, exponent, o)
    tile.scaled[o] = has_exponent(value, exponent, o)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _largest_exponents(
    program: Program, op: int, o: int, operand: UInt32s, inputs: Inputs, tile: Tile
) -> None:
    """Set a sum's exponents to the largest among its terms that are not zero; -inf where all are."""
    value, exponent = tile.value, tile.exponent
    width = value.shape[1]
    first, last = program.start[op], program.start[op + 1]
    leaf_first, leaf_last = program.leaf_start[op], program.leaf_start[op + 1]
    for r in range(width):
        exponent[o, r] = -np.inf
    for e in range(first, last):
        a, k = operand[e], program.weight_exponent[e]
        own = tile.scaled[a]
        for r in range(width):
            top = (exponent[a, r] if own else 0.0) + k
            exponent[o, r] = top if (value[a, r] > 0.0) & (top > exponent[o, r]) else exponent[o, r]
    for e in range(leaf_first, leaf_last):
        c = inputs.leaf_column[e]
        for r in range(width):
            x = leaf_entry(
                tile.code[c, r], inputs.leaf_table[e, 0], inputs.leaf_table[e, 1], inputs.leaf_table[e, 2]
            )
            exponent[o, r] = 0.0 if (x > 0.0) & (exponent[o, r] < 0.0) else exponent[o, r]


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _product(
    program: Program, op: int, o: int, operand: UInt32s, inputs: Inputs, base: int, tile: Tile
) -> None:
    first, last = program.start[op], program.start[op + 1]
    if _any_scaled(tile, operand, first, last) or not _checked_product(
        program, op, o, operand, inputs, base, tile
    ):
        _scaled_product(program, op, o, operand, inputs, base, tile)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _checked_product(
    program: Program, op: int, o: int, operand: UInt32s, inputs: Inputs, base: int, tile: Tile
) -> bool:
    """Multiply without exponents as long as values stay in range; returns False when they do not."""
    first, last = program.start[op], program.start[op + 1]
    value = tile.value
    split = min(first + 2, last)
    multiply_slots(value, o, operand, first, split)
    if out_of_range(value, o):
        return False
    for e in range(split, last):
        a = operand[e]
        for r in range(value.shape[1]):
            value[o, r] *= value[a, r]
        if out_of_range(value, o):
            return False
    e, leaf_last = program.leaf_start[op], program.leaf_start[op + 1]
    while e < leaf_last:
        stop = min(e + program.stride[op], leaf_last)
        multiply_leaves(value, o, tile.code, inputs.leaf_column, inputs.leaf_table, e, stop)
        if out_of_range(value, o):
            return False
        e = stop
    return True


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _scaled_product(
    program: Program, op: int, o: int, operand: UInt32s, inputs: Inputs, base: int, tile: Tile
) -> None:
    value, exponent = tile.value, tile.exponent
    width = value.shape[1]
    for r in range(width):
        value[o, r] = 1.0
        exponent[o, r] = 0.0
    for e in range(program.start[op], program.start[op + 1]):
        a = operand[e]
        own = tile.scaled[a]
        for r in range(width):
            value[o, r] *= value[a, r]
            exponent[o, r] += exponent[a, r] if own else 0.0
        renormalise(value, exponent, o)
    e, leaf_last = program.leaf_start[op], program.leaf_start[op + 1]
    while e < leaf_last:
        stop = min(e + program.stride[op], leaf_last)
        multiply_leaves(value, o, tile.code, inputs.leaf_column, inputs.leaf_table, e, stop)
        renormalise(value, exponent, o)
        e = stop
    tile.scaled[o] = has_exponent(value, exponent, o)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _lookup(op: int, o: int, inputs: Inputs, base: int, tile: Tile) -> None:
    column, offset = inputs.source_column[op], inputs.source_offset[op]
    look_up(tile.value, o, tile.code, column, inputs.lookup, offset)
    look_up(tile.exponent, o, tile.code, column, inputs.lookup_exponent, offset)
    tile.scaled[o] = has_exponent(tile.value, tile.exponent, o)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def _dense(op: int, o: int, inputs: Inputs, base: int, tile: Tile) -> None:
    line = inputs.source_offset[op]
    for r in range(tile.value.shape[1]):
        tile.value[o, r] = inputs.dense[line, base + r]
        tile.exponent[o, r] = inputs.dense_exponent[line, base + r]
    tile.scaled[o] = has_exponent(tile.value, tile.exponent, o)


@njit(cache=True, nogil=True, fastmath=CONTRACT)
def sweep_roots(
    program: Program, inputs: Inputs, tile: Tile, maximise: bool, root: Floats, root_exponent: Floats
) -> None:
    """The root's value for every row of the batch, which is a whole number of tiles long."""
    width = tile.value.shape[1]
    size = program.kind.size
    top = program.slot[size - 1]
    layout = ValuePlaces(program.slot, program.operand_slot, False)
    for base in range(0, root.size, width):
        sweep_up(program, layout, inputs, base, tile, maximise, 0, size)
        own = tile.scaled[top]
        for r in range(width):
            root[base + r] = tile.value[top, r]
            root_exponent[base + r] = tile.exponent[top, r] if own else 0.0
