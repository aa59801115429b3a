"""A program the other way round: for every operation, who reads it.

Going down, an operation pulls its flow from the operations above it: one read for an edge, as on the way up.
"""

from typing import NamedTuple

import numpy as np

from tractable.arrays import Bools, Floats, Ints
from tractable.circuit.facts import remember
from tractable.circuit.graph import Graph
from tractable.engine import schedule
from tractable.engine.program import PLAIN, SUM, Places, Program


class Backward(NamedTuple):
    """The edges by the operation below them, those from sums apart from those from products."""

    place: Places  # (ops,) 0, 1, ...: the values of all operations are kept
    slot: Places  # (ops,) where the flow lies
    slots: int
    start: Ints  # (ops + 1,) the edges from sums
    reader: Places  # (edges from sums,) the sum above
    reader_slot: Places  # (edges from sums,) its slot
    weight: Floats  # (edges from sums,)
    weight_exponent: Floats  # (edges from sums,)
    product_start: Ints  # (ops + 1,) the edges from products
    product_slot: Places  # (edges from products,) the slot of the product above
    careful: Bools  # (ops,) whether a sum above may have exponents


def backward(graph: Graph, program: Program) -> Backward:
    """The program's edges by their lower ends, made at their first use."""
    return remember(graph, "program, backward", lambda _: _turned(program))


def _turned(program: Program) -> Backward:
    size = program.kind.size
    above = np.repeat(np.arange(size), np.diff(program.start))
    slot, slots = _slots(program.operand.astype(np.int64), above, size)
    from_sum = program.kind[above] == SUM
    start, edge = _by_operand(program, from_sum)
    product_start, product_edge = _by_operand(program, ~from_sum)
    reader = above[edge]
    careful = np.zeros(size, dtype=np.bool_)
    np.logical_or.at(careful, program.operand[edge], program.care[reader] != PLAIN)
    return Backward(
        np.arange(size, dtype=np.uint32), slot, slots, start, reader.astype(np.uint32), slot[reader],
        program.weight[edge], program.weight_exponent[edge], product_start, slot[above[product_edge]], careful,
    )  # fmt: skip


def _by_operand(program: Program, chosen: Bools) -> tuple[Ints, Ints]:
    """The chosen edges in the order of what they lead to: where each operation's begin, and which they are."""
    edge = np.flatnonzero(chosen)
    operand = program.operand[edge]
    count = np.bincount(operand, minlength=program.kind.size)
    return np.concatenate([[0], np.cumsum(count)]), edge[np.argsort(operand, kind="stable")]


def _slots(below: Ints, above: Ints, size: int) -> tuple[Places, int]:
    """Places for the flows: going backwards, a flow is needed until the first operand of its operation has read it."""
    last = size - 1
    order = np.argsort(last - below, kind="stable")
    count = np.bincount(last - below, minlength=size)
    start = np.concatenate([[0], np.cumsum(count)])
    slot, slots, _ = schedule.slots(start, (last - above[order]).astype(np.uint32))
    return slot[::-1].astype(np.uint32), int(slots)
