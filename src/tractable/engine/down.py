"""The downward sweep over a tile: the flow of each row through every operation.

The flow of an operation is the probability, given the row, that an induced tree drawn from the circuit uses
it: one at the root, passed on whole by a product, divided by a sum as its terms are. It is the derivative of
the root times the operation's value over the root's, and lies between zero and one, so it needs no exponent;
where a product has a zero child it is zero, exactly. What a sum hands to those below is its `share`: its flow
over its value.

What arrives at the leaves is collected as statistics of their columns: the probability of each state of a
categorical column, the mean and standard deviation of a numeric one. These two are updated leaf by leaf as
those of a mixture (`mixing.py`): unlike sums of values and of squares, they keep all digits far from zero.
"""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Bytes, Floats, Ints, UInt16s, UInt32s
from tractable.base.compiled import fused_kernel, kernel
from tractable.circuit.graph import SUM
from tractable.engine.backward import Backward
from tractable.engine.flows import (
    Flows,
    add_products,
    hand_down_line,
    is_uneven,
    pull_scaled,
    take_flow,
)
from tractable.engine.inputs import Question
from tractable.engine.mixing import mix_plain, mix_wide
from tractable.engine.program import DENSE, LOOKUP
from tractable.engine.rows import merged
from tractable.engine.scaling import NO_LINE, Lines
from tractable.engine.up import Tile


class Shares(NamedTuple):
    """The statistics of a column for a unit of flow at each of its leaves."""

    first: Ints  # (columns + 1,) a column's first statistic
    number: Bools  # (columns,) whether the column is numeric: its statistics are mean and sd
    leaf: Floats  # (leaf edges, 2) of each state; for a sum's edge to be multiplied by flow / value
    lookup: Floats  # (entries,) of each state of a leaf, where its table stands in `Inputs.lookup`
    dense: Floats  # (dense leaves, 4) mean, what it lacks, standard deviation or variance, which of the two


class Downward(NamedTuple):
    """The parts of a program and its inputs that the downward sweep reads."""

    kind: Bytes  # (ops,)
    slot: UInt32s  # (ops,) where the flow lies
    place: UInt32s  # (ops,) where the value lies
    start: Ints  # (ops + 1,) the edges from sums
    reader: UInt32s  # (edges from sums,) the slot of the sum above
    weight: Floats  # (edges from sums,)
    weight_exponent: Floats  # (edges from sums,)
    careful: Bools  # (ops,) whether a sum above may have exponents
    product_start: Ints  # (ops + 1,) the edges from products
    product: UInt32s  # (edges from products,) the slot of the product above
    leaf_start: Ints  # (ops + 1,) the edges to binary leaves
    column: UInt32s  # (leaf edges,) the column of the leaf
    source: Ints  # (ops,) the column of the leaf that an operation reads
    offset: Ints  # (ops,) the first entry, or the line, of that leaf


def downward(question: Question, back: Backward) -> Downward:
    """What the downward sweep needs."""
    program = question.code.program
    return Downward(
        program.kind, back.slot, back.again.slot, back.start, back.reader_slot, back.weight,
        back.weight_exponent, back.careful, back.product_start, back.product_slot, program.leaf_start,
        question.leaf_column, question.source_column, question.source_offset,
    )  # fmt: skip


class Collected(NamedTuple):
    """The statistics of a tile, collected so far."""

    wanted: Bools  # (columns,) whether the column is missing in any row
    part: Floats  # (statistics + 1, rows) a column of one state writes zeros past itself
    flow: Floats  # (columns, 2, rows) the flow into the leaves of numeric columns, and what the means lack


@fused_kernel
def collect_statistics(  # noqa: C901
    down: Downward,
    shares: Shares,
    tile: Tile,
    flows: Flows,
    collected: Collected,
    lines: Lines | None,
    stretch: tuple[int, int],
) -> None:
    """Fill the flows of the operations of one stretch, the last one first. The root has its flow already.

    `lines` are those of the tile, or None where no operation may need exponents.
    """
    kind, slot, place, start, reader, weight, weight_exponent, careful, product_start, product = down[:10]
    leaf_start, column, source, offset = down[10:]
    first_statistic, _, leaf_share, lookup, dense = shares
    (value, line, _), (flow, flow_line), (wanted, part, before) = tile, flows, collected
    if lines is not None:
        exponent, holders, unused = lines
    for op in range(stretch[1] - 1, stretch[0] - 1, -1):
        o, v, first, last, above, above_last = (
            slot[op], place[op], start[op], start[op + 1], product_start[op], product_start[op + 1],
        )  # fmt: skip
        is_sum, is_careful = kind[op] == SUM, False
        is_share = is_sum and first < last and above == above_last  # where the flow comes over its value
        if lines is not None:
            own = line[v]
            is_careful = careful[op] and is_uneven(
                exponent, own, flow_line, reader, weight_exponent, first, last
            )
            if is_careful:
                is_share = False
                pull_scaled(
                    flow, flow_line, o, value, exponent, own, v, reader, weight, weight_exponent, first, last,
                    weight[:0],
                )  # fmt: skip
        if first < last and not is_careful:
            take_flow(flow, o, value, v, is_share, reader, weight, first, last)
        add_products(flow, o, value, v, is_sum, is_share, product, above, above_last, first == last)
        s = o
        if lines is not None:
            s = hand_down_line(
                flow, flow_line, exponent, holders, unused, o, own if is_sum else NO_LINE,
                leaf_start[op] < leaf_start[op + 1],
            )  # fmt: skip
        for e in range(leaf_start[op], leaf_start[op + 1]):
            if wanted[column[e]]:
                f, zero, one = first_statistic[column[e]], leaf_share[e, 0], leaf_share[e, 1]
                for r in range(value.shape[1]):
                    part[f, r] += flow[s, r] * zero
                    part[f + 1, r] += flow[s, r] * one
        if (kind[op] == LOOKUP or kind[op] == DENSE) and wanted[source[op]]:
            collect_source(
                flow, o, source[op], offset[op], first_statistic, lookup, dense, kind[op] == DENSE, part,
                before,
            )  # fmt: skip


@merged
def collect_source(  # noqa: PLR0913, PLR0917
    flow: Floats,
    o: int,
    column: int,
    offset: int,
    first_statistic: Ints,
    lookup: Floats,
    dense: Floats,
    is_dense: bool,
    part: Floats,
    before: Floats,
) -> None:
    """Add the flow of an operation that reads a leaf to the statistics of its column.

    A dense leaf is added to the mean and the spread of a mixture of total flow `before`.
    """
    first = first_statistic[column]
    if is_dense:
        if dense[offset, 3] > 0.0:
            mix_wide(flow[o], dense[offset], part[first], part[first + 1], before[column])
        else:
            mix_plain(flow[o], dense[offset], part[first], part[first + 1], before[column])
    else:
        for s in range(first_statistic[column + 1] - first):
            x = lookup[offset + s]
            for r in range(flow.shape[1]):
                part[first + s, r] += flow[o, r] * x


@kernel
def fill_known(part: Floats, code: UInt16s, t: int, shares: Shares, rows: Floats) -> None:
    """Put in the statistics of cells that are not missing, for tile `t` of `code` and the rows of that tile.

    Column after column, so that the rows lie side by side in all that is read and written.
    """
    for c in range(shares.number.size):
        first, states = shares.first[c], shares.first[c + 1] - shares.first[c]
        if shares.number[c]:
            for r in range(len(rows)):
                if not np.isnan(rows[r, c]):
                    part[first, r], part[first + 1, r] = rows[r, c], 0.0
            continue
        missing = states if states > 1 else -1  # the only state has probability one, seen or not
        for s in range(states):
            for r in range(part.shape[1]):
                x = code[t, c, r]
                seen = 1.0 if x == s or states == 1 else 0.0
                part[first + s, r] = part[first + s, r] if x == missing else seen
