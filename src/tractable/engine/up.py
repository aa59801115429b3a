"""The upward sweep over tiles of rows: every operation's value, children before parents.

Most operations are PLAIN: their bounds, known when the circuit is compiled, show that no exponent is ever
needed. The others compute with the same loops, and hand on the line of exponents that their operands share;
of a CHECKED one the result is brought into range afterwards. Only sums over operands with different
exponents, and products that might leave the range of doubles on their way, are computed with care.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints, UInt16s, UInt32s
from tractable.base.compiled import fused_kernel
from tractable.circuit.graph import SUM
from tractable.engine.blocks import multiply_matrix
from tractable.engine.careful import compute_carefully, multiply_exponents, needs_care, settle
from tractable.engine.program import CHECKED, LOOKUP, PLAIN, Program, ValuePlaces
from tractable.engine.rows import add_terms, multiply_leaves, multiply_slots, raise_terms
from tractable.engine.scaling import MIXED, NO_LINE, Lines, common_line, hold_line


class Inputs(NamedTuple):
    """The values of the leaves for a batch of rows, which is a whole number of tiles long."""

    complete: bool  # whether no state is missing
    code: UInt16s  # (tiles, columns, rows of a tile) the state; one past the last where the cell is missing
    leaf_column: UInt32s  # (leaf edges,)
    leaf_table: Floats  # (leaf edges, 3)
    source_column: Ints  # (ops,) the column of a LOOKUP
    source_offset: Ints  # (ops,) where a LOOKUP's table begins, or which line a DENSE operation reads
    lookup: Floats  # (entries,)
    lookup_exponent: Floats  # (entries,)
    dense: Floats  # (dense leaves, rows)
    dense_exponent: Floats  # (dense leaves, rows)

    @property
    def rows(self) -> int:
        """How many rows there are, those that fill the last tile included."""
        return self.code.shape[0] * self.code.shape[2]


class Tile(NamedTuple):
    """The values of one tile."""

    value: Floats  # (slots + 1, rows) the last line is ones
    line: Ints  # (slots,) the line of exponents of each slot; NO_LINE where they are zero
    lines: Lines


class Span(NamedTuple):
    """Which rows of a batch are swept, and through which operations."""

    first_row: int
    last_row: int
    begin: int
    end: int


def sweep_up(
    program: Program, places: ValuePlaces, inputs: Inputs, tile: Tile, span: Span, maximise: bool
) -> Floats:
    """Fill the tile, for tile after tile of rows; the root's value and exponent for each. Shape (2, rows)."""
    root = np.zeros((2, span.last_row - span.first_row))
    if span.end - span.begin == program.kind.size:  # nothing of what the tile holds is needed
        tile.line.fill(NO_LINE)
        tile.lines.unused[:2] = 0
    lines = None if program.is_plain else tile.lines
    matrix = program.matrix if program.has_matrices and places.own and not maximise else None
    _sweep(program, places, inputs, tile.value, tile.line, lines, matrix, (*span, maximise), root)
    return root


@fused_kernel
def _sweep(  # noqa: C901, PLR0912, PLR0913, PLR0917
    program: Program,
    places: ValuePlaces,
    inputs: Inputs,
    value: Floats,
    line: Ints,
    lines: Lines | None,
    matrix: Ints | None,
    span: tuple[int, int, int, int, bool],
    root: Floats,
) -> None:
    """Fill the tile. What a kernel without exponents or matrices does not need is not even compiled."""
    first_row, last_row, begin, end, maximise = span
    kind, care, start, weight, weight_exponent, leaf_start, stride = (
        program.kind, program.care, program.start, program.weight, program.weight_exponent,
        program.leaf_start, program.stride,
    )  # fmt: skip
    complete, code, column, table, source, offset, lookup, lookup_exponent, dense, dense_exponent = inputs
    slot, operand = places.slot, places.operand
    if lines is not None:
        exponent, holders, unused = lines
    for base in range(first_row, last_row, value.shape[1]):
        t, done = base // value.shape[1], begin  # before `done` operations are there, as part of a matrix
        for op in range(begin, end):
            o, first, last, leaf, leaf_last = (
                slot[op], start[op], start[op + 1], leaf_start[op], leaf_start[op + 1],
            )  # fmt: skip
            own = NO_LINE
            if lines is not None and care[op] != PLAIN and kind[op] == SUM:
                own = common_line(exponent, line, holders, unused, operand, first, last, leaf < leaf_last)
            if matrix is not None and matrix[op] > 0 and op + matrix[op] <= end and own != MIXED:
                sums, below, operands = matrix[op], operand[first], last - first
                if multiply_matrix(value, care, weight, first, op, sums, below, operands):
                    done = op + sums
            if lines is not None:
                if own == MIXED or needs_care(care[op], kind[op]):
                    compute_carefully(
                        value, exponent, line, holders, unused, o, kind[op], operand, weight, weight_exponent,
                        first, last, code, t, column, table, leaf, leaf_last, stride[op], source[op],
                        offset[op], lookup, lookup_exponent, dense, dense_exponent, base, maximise,
                    )  # fmt: skip
                    continue
                if care[op] != PLAIN and kind[op] != SUM:
                    own = multiply_exponents(exponent, line, holders, unused, operand, first, last)
                hold_line(line, holders, unused, o, own)
            if op < done:
                pass
            elif kind[op] == SUM and maximise:
                raise_terms(value, o, operand, weight, first, last, code, t, column, table, leaf, leaf_last)
            elif kind[op] == SUM:
                add_terms(value, o, operand, weight, first, last, code, t, column, table, leaf, leaf_last)
            elif kind[op] == LOOKUP:
                c, entry = source[op], offset[op]
                for r in range(value.shape[1]):
                    value[o, r] = lookup[entry + code[t, c, r]]
            else:  # ONE is a product of nothing
                multiply_slots(value, o, operand, first, last)
                multiply_leaves(value, o, code, t, column, table, leaf, leaf_last, complete)
            if lines is not None and care[op] == CHECKED:
                settle(value, exponent, line, holders, unused, o)
        if end == kind.size:
            o, i = slot[end - 1], base - first_row
            for r in range(value.shape[1]):
                root[0, i + r] = value[o, r]
                if lines is not None:
                    root[1, i + r] = exponent[line[o], r] if line[o] >= 0 else 0.0
