"""The edges of a program by child: for every operation, the operations that read it.

On the way down an operation collects its flow from the operations above it, one read for an edge as on the
way up. It also needs its own value, and the values of a whole large circuit do not stay in the cache. So the
operations are cut into stretches: on the way up only those values are kept that a later stretch reads, and on
the way down each stretch but the last is evaluated once more just before its flows.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints, UInt32s
from tractable.circuit.facts import remembered
from tractable.circuit.graph import SUM, Graph
from tractable.engine import schedule
from tractable.engine.compile import compile_graph
from tractable.engine.program import PLAIN, Program, ValuePlaces, own_places
from tractable.engine.up import Inputs, Span, Tile, sweep_up

STRETCH = 3072  # operations evaluated together; with their tile they stay in the cache
STRETCH_TILE = 256  # rows evaluated together where a program is cut: fewer visits of operations
WHOLE = 8192  # so many are not cut
MATRICES = 65536  # nor so many where sums are matrices, which run through memory in order


class Backward(NamedTuple):
    """The edges by the operation below them; edges from sums and from products are kept apart."""

    cuts: Ints  # (stretches + 1,) where the stretches begin
    up: ValuePlaces  # on the way up
    again: ValuePlaces  # when a stretch is evaluated again
    places: int  # how many either needs
    slot: UInt32s  # (ops,) where the flow lies
    slots: int
    start: Ints  # (ops + 1,) the edges from sums
    edge: Ints  # (edges from sums,) the program's edge
    reader: UInt32s  # (edges from sums,) the sum above
    reader_slot: UInt32s  # (edges from sums,) its slot
    weight: Floats  # (edges from sums,)
    weight_exponent: Floats  # (edges from sums,)
    product_start: Ints  # (ops + 1,) the edges from products
    product_slot: UInt32s  # (edges from products,) the slot of the product above
    careful: Bools  # (ops,) whether a sum above may have exponents
    matrix: Ints  # (ops,) one more than a matrix's first sum, at its last operand; zero elsewhere
    pair: Bools  # (ops,) the sums whose value is not kept; see lean.py


@remembered
def backward(graph: Graph) -> Backward:
    """The edges of the program of a circuit by their lower ends."""
    return reverse_edges(compile_graph(graph).program)


def reverse_edges(program: Program) -> Backward:
    """The edges of a program by their lower ends."""
    size = program.kind.size
    above = np.repeat(np.arange(size), np.diff(program.start))
    matrix = _matrices(program)
    whole = MATRICES if matrix.any() else WHOLE
    cuts = np.append(np.arange(0, size, STRETCH if size > whole else size), size)
    up, again, places = _layouts(program, above, cuts)
    if 4 * places > 3 * size:  # cutting saves too little
        cuts = np.array([0, size])
        up, again, places = _layouts(program, above, cuts)
    own = cuts.size == 2 and bool(matrix.any())
    slot, slots = (up.slot, size) if own else _slots(program.operand.astype(np.int64), above, size)
    from_sum = program.kind[above] == SUM
    start, edge = _by_operand(program, from_sum)
    product_start, product_edge = _by_operand(program, ~from_sum)
    reader = above[edge].astype(np.uint32)
    return Backward(
        cuts, up, again, places, slot, slots, start, edge, reader, slot[reader], program.weight[edge],
        program.weight_exponent[edge], product_start, slot[above[product_edge]],
        _careful(program, edge, reader), matrix if own else np.zeros_like(matrix),
        np.zeros(size, dtype=np.bool_),
    )  # fmt: skip


def _matrices(program: Program) -> Ints:
    """Where the operands of a matrix of sums end that no other sum reads; one more than its first sum."""
    ends = np.zeros(program.kind.size, dtype=np.int64)
    readers = np.bincount(
        program.operand, weights=np.repeat(program.kind == SUM, np.diff(program.start)), minlength=ends.size
    )
    for head in np.flatnonzero(program.matrix).tolist():
        first, last = program.start[head], program.start[head + 1]
        below = program.operand[first:last].astype(np.int64)
        if (readers[below] == program.matrix[head]).all():
            ends[below[-1]] = head + 1
    return ends


def reweight_backward(back: Backward, program: Program) -> Backward:
    """The backward program with the weights of another program of equal structure."""
    return back._replace(
        weight=program.weight[back.edge],
        weight_exponent=program.weight_exponent[back.edge],
        careful=_careful(program, back.edge, back.reader),
    )


def _careful(program: Program, edge: Ints, reader: UInt32s) -> Bools:
    """Which operations are read by a sum that may have exponents. Shape (ops,)."""
    careful = np.zeros(program.kind.size, dtype=np.bool_)
    careful[program.operand[edge[program.care[reader] != PLAIN]]] = True
    return careful


def _layouts(program: Program, above: Ints, cuts: Ints) -> tuple[ValuePlaces, ValuePlaces, int]:
    """Places on the way up, and when a stretch is evaluated again: first what is kept, then the rest."""
    size = program.kind.size
    if cuts.size == 2:
        return own_places(program), own_places(program), size
    stretch = np.searchsorted(cuts, np.arange(size), side="right") - 1
    kept = np.zeros(size, dtype=np.bool_)
    kept[program.operand[stretch[program.operand] != stretch[above]]] = True
    passing = np.cumsum(~kept) - 1
    passing -= (passing + kept)[cuts[:-1]][stretch]  # counted from the stretch's beginning
    number = np.cumsum(kept) - 1
    first = int(kept.sum())
    # The last stretch is the first on the way down: its values are still there and not computed again.
    on_the_way = np.where(stretch == cuts.size - 2, passing, program.slot.astype(np.int64))
    up, again = (np.where(kept, number, first + x).astype(np.uint32) for x in (on_the_way, passing))
    places = 1 + int(max(up.max(), again.max()))
    return (
        ValuePlaces(up, up[program.operand], False),
        ValuePlaces(again, again[program.operand], False),
        places,
    )


def _by_operand(program: Program, chosen: Bools) -> tuple[Ints, Ints]:
    """The chosen edges by the operation below: where those of each operation begin, and which they are."""
    edge = np.flatnonzero(chosen)
    operand = program.operand[edge]
    count = np.bincount(operand, minlength=program.kind.size)
    return np.concatenate([[0], np.cumsum(count)]), edge[np.argsort(operand, kind="stable")]


def _slots(below: Ints, above: Ints, size: int) -> tuple[UInt32s, int]:
    """Places for the flows: backwards, a flow is needed until its operation's first operand has read it."""
    last = size - 1
    order = np.argsort(last - below, kind="stable")
    count = np.bincount(last - below, minlength=size)
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    slot, slots = schedule.slots(start, (last - above[order]).astype(np.uint32))
    return np.ascontiguousarray(slot[::-1]), slots


def sweep_tiles(
    program: Program, back: Backward, inputs: Inputs, tile: Tile, maximise: bool = False
) -> Iterator[tuple[int, Floats]]:
    """Sweep upwards, tile after tile: its first row, and the root's values and exponents, (2, rows)."""
    width = tile.value.shape[1]
    for first in range(0, inputs.rows, width):
        span = Span(first, first + width, 0, program.kind.size)
        yield first, sweep_up(program, back.up, inputs, tile, span, maximise)


def sweep_stretches(
    program: Program, back: Backward, inputs: Inputs, tile: Tile, first: int, maximise: bool = False
) -> Iterator[tuple[int, int]]:
    """The stretches of a program, the last one first, each with the tile holding the values of all of it."""
    stretches = [(int(begin), int(end)) for begin, end in pairwise(back.cuts)]
    for begin, end in reversed(stretches):
        if end < program.kind.size:
            span = Span(first, first + tile.value.shape[1], begin, end)
            sweep_up(program, back.again, inputs, tile, span, maximise)
        yield begin, end
